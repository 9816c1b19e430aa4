//! Who likes a post, and what a user likes.

use e2e::{Body, Client, Service};
use serde_json::Value;

/// Follows `paging.next` from this path; returns the items of each page.
fn pages(client: &Client, path: &str) -> Vec<Vec<Value>> {
    let mut pages = Vec::new();
    let mut next = Some(path.to_owned());
    while let Some(address) = next {
        let page = client.get(&address).expect(200).json();
        pages.push(page["data"].as_array().unwrap().clone());
        next = page["paging"]["next"].as_str().map(str::to_owned);
    }
    pages
}

fn names(users: &[Value]) -> Vec<&str> {
    users.iter().map(|user| user["username"].as_str().unwrap()).collect()
}

fn like(client: &Client, post: i64) {
    client.post(&format!("/posts/{post}/likes"), Body::none()).expect(201);
}

#[test]
fn the_users_who_like_a_post_are_listed_in_pages() {
    let service = Service::shared();
    let users: Vec<Client> = (0..5).map(|_| service.new_user("fan")).collect();
    let post = users[0].share_tiny("liked by five");
    let path = format!("/posts/{post}/likes");
    assert_eq!(pages(&service.anonymous(), &path), [Vec::<Value>::new()]);
    for user in &users {
        like(user, post);
    }
    let newest_first: Vec<&str> = users.iter().rev().map(Client::username).collect();
    let all = pages(&service.anonymous(), &path);
    assert_eq!(names(&all[0]), newest_first);
    assert_eq!(all[0][4], service.anonymous().get(&format!("/users/{}", users[0].username())).json());

    let paged = pages(&service.anonymous(), &format!("{path}?limit=2"));
    assert_eq!(paged.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 1]);
    assert_eq!(names(&paged.concat()), newest_first);
    let skipped = pages(&service.anonymous(), &format!("{path}?limit=10&offset=3"));
    assert_eq!(names(&skipped.concat()), newest_first[3..]);
    assert_eq!(pages(&service.anonymous(), &format!("{path}?offset=9")), [Vec::<Value>::new()]);

    users[4].delete(&path).expect(200);
    assert_eq!(names(&pages(&users[0], &path).concat()), newest_first[1..]);
    for (query, field) in [("limit=0", "limit"), ("offset=-1", "offset"), ("after=x", "after")] {
        service.anonymous().get(&format!("{path}?{query}")).expect_error_for(400, Some(field));
        service.anonymous().get(&format!("/posts/0/likes?{query}")).expect_error_for(404, None);
    }
    users[0].delete(&format!("/posts/{post}")).expect(200);
    service.anonymous().get(&path).expect_error(404);
}

#[test]
fn a_user_finds_the_posts_that_they_like() {
    let service = Service::shared();
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    assert_eq!(pages(&bob, "/me/likes"), [Vec::<Value>::new()]);
    let posts: Vec<i64> = (0..4).map(|number| ada.share_tiny(&format!("number {number}"))).collect();
    // The order of the likes does not matter.
    for post in [posts[2], posts[0], posts[3]] {
        like(&bob, post);
    }
    like(&ada, posts[1]);
    let listed = pages(&bob, "/me/likes").concat();
    let ids: Vec<i64> = listed.iter().map(|post| post["id"].as_i64().unwrap()).collect();
    assert_eq!(ids, [posts[3], posts[2], posts[0]]);
    for post in &listed {
        assert_eq!(*post, bob.get(&format!("/posts/{}", post["id"])).expect(200).json());
        assert_eq!(post["is_liked"], true);
    }
    let paged = pages(&bob, "/me/likes?limit=2");
    assert_eq!((paged.len(), paged.concat()), (2, listed.clone()));
    assert_eq!(pages(&bob, "/me/likes?limit=5&offset=1").concat(), listed[1..]);

    bob.delete(&format!("/posts/{}/likes", posts[3])).expect(200);
    ada.delete(&format!("/posts/{}", posts[2])).expect(200);
    let left = pages(&bob, "/me/likes").concat();
    assert_eq!(left.iter().map(|post| &post["id"]).collect::<Vec<_>>(), [&Value::from(posts[0])]);
}
