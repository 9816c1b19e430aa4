//! Users and their posts.

use std::collections::HashMap;

use e2e::shape::{assert_page, assert_user};
use e2e::{Body, RawConnection, Service, unique};
use serde_json::json;

use crate::feed::{Pager, ids_of};

#[test]
fn users_are_found_by_name_in_any_case() {
    let service = Service::shared();
    let ada = service.new_user("Ada");
    let me = ada.get("/me").expect(200).json();
    let name = ada.username();
    for spelling in [name.to_owned(), name.to_lowercase(), name.to_uppercase()] {
        for reader in [&service.anonymous(), &ada, &service.new_user("bob")] {
            let user = reader.get(&format!("/users/{spelling}")).expect(200).json();
            assert_user(&user);
            assert_eq!(user, me);
        }
        service.anonymous().get(&format!("/users/{spelling}/posts")).expect(200);
    }
}

#[test]
fn invalid_and_unknown_usernames_are_not_found() {
    // Directly on a node, because a balancer may rewrite or reject such paths.
    let anonymous = Service::shared().anonymous_on_node();
    let (unknown, too_long) = (unique("unknown"), "a".repeat(65));
    for name in
        [&unknown, &too_long, "a%20b", "%C3%A9", "%00", "%FF", "a%2Fb", "0%0A", "%D0%B0%D0%B4%D0%B0", "a,b"]
    {
        for path in [format!("/users/{name}"), format!("/users/{name}/posts")] {
            let response = anonymous.get(&path).expect_error_for(404, None);
            assert_eq!(response.json()["error"]["message"], "there is no such user", "{response}");
        }
    }
}

#[test]
fn a_users_posts_contain_their_posts_and_no_others() {
    let service = Service::shared();
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    let path = format!("/users/{}/posts", ada.username());
    assert_eq!(bob.get(&path).expect(200).json(), json!({"data": [], "paging": {}}));

    let mut posts = Vec::new();
    for number in 0..5 {
        posts.insert(0, ada.share_tiny(&format!("number {number}")));
        bob.share_tiny("not hers");
    }
    bob.post(&format!("/posts/{}/likes", posts[2]), Body::none()).expect(201);
    for (reader, likes) in [(&bob, true), (&ada, false), (&service.anonymous(), false)] {
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
fn a_users_posts_take_limit_and_offset_like_the_feed() {
    let service = Service::shared();
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
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
        let page = service.anonymous().get(&format!("{path}{query}")).expect(200).json();
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
        assert!(parameters.remove("after").is_some_and(|cursor| !cursor.is_empty()), "{next}");
        assert!(parameters.is_empty(), "{next}");
    }
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=ten", "limit"),
        ("offset=-1", "offset"),
        ("offset=", "offset"),
        ("after=nonsense", "after"),
    ] {
        service.anonymous().get(&format!("{path}?{query}")).expect_error_for(400, Some(field));
    }
}

#[test]
fn following_next_returns_each_post_of_a_user_once_while_others_post_and_delete() {
    let service = Service::shared();
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    let mut posts: Vec<i64> = (0..12).map(|_| ada.share_tiny("there from the start")).collect();
    posts.reverse();
    let mut pager = Pager::new(&service.anonymous(), &format!("/users/{}/posts", ada.username()), 3);
    while pager.read_page() {
        ada.share_tiny("newer");
        bob.share_tiny("of another user");
        // The post that is the cursor of the next page.
        ada.delete(&format!("/posts/{}", pager.seen.last().unwrap())).expect(200);
    }
    assert_eq!((pager.seen, pager.pages), (posts, 4));
}

#[test]
fn next_works_for_every_sign_in_a_username() {
    let service = Service::shared();
    let anonymous = service.anonymous();
    let name = unique("A_b.c-d@e+F");
    let ada = anonymous.join(&name);
    let posts = [ada.share_tiny("older"), ada.share_tiny("newer")];
    let canonical = name.replace('+', "%2B");
    // Unescaped, in canonical form, and fully percent-encoded.
    let escaped: String = name.bytes().map(|byte| format!("%{byte:02x}")).collect();
    for spelling in [&name, &canonical, &escaped, &name.to_uppercase()] {
        let mut pager = Pager::new(&anonymous, &format!("/users/{spelling}/posts"), 1);
        assert!(pager.read_page());
        let next = pager.next.clone().unwrap();
        assert!(next.starts_with(&format!("{}/users/{canonical}/posts?", service.base())), "{next}");
        assert!(!pager.read_page());
        assert_eq!(pager.seen, [posts[1], posts[0]]);
    }
}

#[test]
fn next_uses_the_public_url() {
    let service = Service::start(&["--public-url", "https://photos.example"]);
    let ada = service.anonymous().join("ada");
    ada.share_tiny("older");
    ada.share_tiny("newer");
    let response =
        RawConnection::exchange(&service, "GET /users/ADA/posts?limit=1 HTTP/1.1\r\nHost: evil.example", b"");
    let page = response.json();
    let next = page["paging"]["next"].as_str().unwrap();
    assert!(next.starts_with("https://photos.example/users/ada/posts?limit=1&offset=1&after="), "{next}");
}
