//! Who somebody is, and what they posted.

use std::collections::HashMap;

use e2e::shape::{assert_page, assert_user};
use e2e::{Body, Service, Wire, unique};
use serde_json::json;

use crate::feed::{Walk, ids_of};

#[test]
fn everyone_is_found_by_name_whatever_its_case() {
    let service = Service::shared();
    let ada = service.newcomer("Ada");
    let me = ada.get("/me").expect(200).json();
    let name = ada.username();
    for spelling in [name.to_owned(), name.to_lowercase(), name.to_uppercase()] {
        for reader in [&service.anyone(), &ada, &service.newcomer("bob")] {
            let user = reader.get(&format!("/users/{spelling}")).expect(200).json();
            assert_user(&user);
            assert_eq!(user, me);
        }
        service.anyone().get(&format!("/users/{spelling}/posts")).expect(200);
    }
}

#[test]
fn what_is_no_name_is_no_user() {
    // Past any balancer: some have an opinion of their own on such addresses.
    let anyone = Service::shared().node();
    let (unknown, too_long) = (unique("nobody"), "a".repeat(65));
    for name in
        [&unknown, &too_long, "a%20b", "%C3%A9", "%00", "%FF", "a%2Fb", "0%0A", "%D0%B0%D0%B4%D0%B0", "a,b"]
    {
        for path in [format!("/users/{name}"), format!("/users/{name}/posts")] {
            let answer = anyone.get(&path).refused_for(404, None);
            assert_eq!(answer.json()["error"]["message"], "there is no such user", "{answer}");
        }
    }
}

#[test]
fn the_page_of_somebody_shows_their_posts_and_no_others() {
    let service = Service::shared();
    let (ada, bob) = (service.newcomer("ada"), service.newcomer("bob"));
    let path = format!("/users/{}/posts", ada.username());
    assert_eq!(bob.get(&path).expect(200).json(), json!({"data": [], "paging": {}}));

    let mut posts = Vec::new();
    for number in 0..5 {
        posts.insert(0, ada.share_tiny(&format!("number {number}")));
        bob.share_tiny("not hers");
    }
    bob.post(&format!("/posts/{}/likes", posts[2]), Body::none()).expect(201);
    for (reader, likes) in [(&bob, true), (&ada, false), (&service.anyone(), false)] {
        let page = reader.get(&path).expect(200).json();
        assert_page(&page);
        assert_eq!(ids_of(&page), posts);
        assert_eq!(page["paging"], json!({}));
        for post in page["data"].as_array().unwrap() {
            assert_eq!(*post, reader.get(&format!("/posts/{}", post["id"])).expect(200).json());
            assert_eq!(post["is_liked"], likes && post["id"] == posts[2]);
        }
    }
    ada.delete(&format!("/posts/{}", posts.remove(0))).expect(200);
    assert_eq!(ids_of(&bob.get(&path).expect(200).json()), posts);
}

#[test]
fn its_pages_are_asked_for_like_those_of_the_feed() {
    let service = Service::shared();
    let (ada, bob) = (service.newcomer("ada"), service.newcomer("bob"));
    let mut posts = Vec::new();
    for _ in 0..23 {
        posts.insert(0, ada.share_tiny("hers"));
        bob.share_tiny("his");
    }
    let path = format!("/users/{}/posts", ada.username());
    for (query, expected, limit, offset) in [
        ("", 0..20, "20", "20"),
        ("?limit=7", 0..7, "7", "7"),
        ("?limit=5&offset=17", 17..22, "5", "22"),
        ("?offset=3&limit=020", 3..23, "", ""),
        ("?limit=500", 0..23, "", ""),
        ("?offset=22", 22..23, "", ""),
        ("?offset=23", 23..23, "", ""),
        ("?offset=1001", 23..23, "", ""),
        ("?offset=9223372036854775808", 23..23, "", ""),
    ] {
        let page = service.anyone().get(&format!("{path}{query}")).expect(200).json();
        assert_page(&page);
        assert_eq!(ids_of(&page), posts[expected], "{query}");
        let Some(next) = page["paging"]["next"].as_str() else {
            assert_eq!((limit, offset), ("", ""), "{query}");
            continue;
        };
        assert!(next.starts_with(&format!("{}{path}?", service.base())), "{next}");
        let url = reqwest::Url::parse(next).unwrap();
        let mut parameters: HashMap<_, _> = url.query_pairs().into_owned().collect();
        assert_eq!(parameters.remove("limit").as_deref(), Some(limit), "{next}");
        assert_eq!(parameters.remove("offset").as_deref(), Some(offset), "{next}");
        assert!(parameters.remove("after").is_some_and(|anchor| !anchor.is_empty()), "{next}");
        assert!(parameters.is_empty(), "{next}");
    }
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=ten", "limit"),
        ("offset=-1", "offset"),
        ("offset=", "offset"),
        ("after=nonsense", "after"),
    ] {
        service.anyone().get(&format!("{path}?{query}")).refused_for(400, Some(field));
    }
}

#[test]
fn a_walk_through_somebodys_posts_sees_each_once_whatever_happens_meanwhile() {
    let service = Service::shared();
    let (ada, bob) = (service.newcomer("ada"), service.newcomer("bob"));
    let mut posts: Vec<i64> = (0..12).map(|_| ada.share_tiny("there from the start")).collect();
    posts.reverse();
    let mut walk = Walk::begin(&service.anyone(), &format!("/users/{}/posts", ada.username()), 3);
    while walk.step() {
        ada.share_tiny("newer");
        bob.share_tiny("somebody else's");
        // The one on which the next page hangs.
        ada.delete(&format!("/posts/{}", walk.seen.last().unwrap())).expect(200);
    }
    assert_eq!((walk.seen, walk.pages), (posts, 4));
}

#[test]
fn next_leads_on_whatever_signs_are_in_the_name() {
    let service = Service::shared();
    let anyone = service.anyone();
    let name = unique("A_b.c-d@e+F");
    let ada = anyone.join(&name);
    let posts = [ada.share_tiny("older"), ada.share_tiny("newer")];
    let written = name.replace('+', "%2B");
    // As it is, as it is best written, and all of it escaped.
    let escaped: String = name.bytes().map(|byte| format!("%{byte:02x}")).collect();
    for spelling in [&name, &written, &escaped, &name.to_uppercase()] {
        let mut walk = Walk::begin(&anyone, &format!("/users/{spelling}/posts"), 1);
        assert!(walk.step());
        let next = walk.next.clone().unwrap();
        assert!(next.starts_with(&format!("{}/users/{written}/posts?", service.base())), "{next}");
        assert!(!walk.step());
        assert_eq!(walk.seen, [posts[1], posts[0]]);
    }
}

#[test]
fn next_is_on_the_public_address() {
    let service = Service::start(&["--public-url", "https://photos.example"]);
    let ada = service.anyone().join("ada");
    ada.share_tiny("older");
    ada.share_tiny("newer");
    let reply = Wire::ask(&service, "GET /users/ADA/posts?limit=1 HTTP/1.1\r\nHost: evil.example", b"");
    let page = reply.json();
    let next = page["paging"]["next"].as_str().unwrap();
    assert!(next.starts_with("https://photos.example/users/ada/posts?limit=1&offset=1&after="), "{next}");
}
