//! Blocked users, hidden posts and reports.

use e2e::{Body, Client, FormData, Service, shape};
use serde_json::Value;

fn ids(page: &Value) -> Vec<i64> {
    page["data"].as_array().unwrap().iter().map(|post| post["id"].as_i64().unwrap()).collect()
}

fn names(page: &Value) -> Vec<&str> {
    page["data"].as_array().unwrap().iter().map(|user| user["username"].as_str().unwrap()).collect()
}

fn block(client: &Client, other: &Client) {
    client.put(&format!("/me/blocks/{}", other.username()), Body::none()).expect(200);
}

#[test]
fn a_blocked_user_disappears_from_lists_and_cannot_like() {
    let service = Service::start(&[]);
    let (ada, bob, carol) = (service.new_user("ada"), service.new_user("bob"), service.new_user("carol"));
    let (by_ada, by_bob, by_carol) = (ada.share_tiny("a"), bob.share_tiny("b"), carol.share_tiny("c"));
    for (client, post) in [(&bob, by_carol), (&carol, by_carol), (&ada, by_bob), (&ada, by_carol)] {
        client.post(&format!("/posts/{post}/likes"), Body::none()).expect(201);
    }
    let likers = format!("/posts/{by_carol}/likes");
    assert_eq!(ids(&ada.get("/feed").expect(200).json()), [by_carol, by_bob, by_ada]);

    for _ in 0..2 {
        block(&ada, &bob);
    }
    assert_eq!(names(&ada.get("/me/blocks").expect(200).json()), [bob.username()]);
    for path in ["/feed", "/feed?limit=20&offset=0", "/feed?limit=2"] {
        let page = ada.get(path).expect(200).json();
        shape::assert_page(&page);
        assert_eq!(ids(&page), [by_carol, by_ada], "{path}");
        assert!(page["paging"].get("next").is_none(), "{path}: {page}");
        assert_eq!(page["data"][0]["is_liked"], true);
        assert_eq!(page["data"][0]["like_count"], 3, "the count is the same for all");
    }
    assert_eq!(
        ids(&ada.get("/feed?offset=1").expect(200).json()),
        [by_ada],
        "an offset counts what is shown"
    );
    assert_eq!(ids(&ada.get("/me/likes").expect(200).json()), [by_carol]);
    assert_eq!(ids(&ada.get(&format!("/users/{}/posts", bob.username())).expect(200).json()), [0_i64; 0]);
    assert_eq!(names(&ada.get(&likers).expect(200).json()), [carol.username(), ada.username()]);
    // Only lists leave the user out, and only for the one who blocked.
    ada.get(&format!("/posts/{by_bob}")).expect(200);
    ada.get(&format!("/users/{}", bob.username())).expect(200);
    for client in [&carol, &bob, &service.anonymous()] {
        assert_eq!(ids(&client.get("/feed").expect(200).json()), [by_carol, by_bob, by_ada]);
        assert_eq!(names(&client.get(&likers).expect(200).json()).len(), 3);
    }

    bob.post(&format!("/posts/{by_ada}/likes"), Body::none()).expect_error(403);
    carol.post(&format!("/posts/{by_ada}/likes"), Body::none()).expect(201);
    ada.post(&format!("/posts/{by_bob}/likes"), Body::none()).expect_error(409);

    ada.delete(&format!("/me/blocks/{}", bob.username())).expect(200);
    ada.delete(&format!("/me/blocks/{}", bob.username())).expect(200);
    assert_eq!(ids(&ada.get("/feed").expect(200).json()), [by_carol, by_bob, by_ada]);
    bob.post(&format!("/posts/{by_ada}/likes"), Body::none()).expect(201);
    ada.put(&format!("/me/blocks/{}", ada.username()), Body::none()).expect_error_for(400, Some("username"));
    ada.put("/me/blocks/no-such-user", Body::none()).expect_error(404);
}

#[test]
fn a_hidden_post_disappears_from_the_lists_of_its_viewer() {
    let service = Service::start(&[]);
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    let posts = [1, 2, 3].map(|_| bob.share_tiny("b"));
    let hide = format!("/me/hidden-posts/{}", posts[1]);
    for _ in 0..2 {
        ada.put(&hide, Body::none()).expect(200);
    }
    assert_eq!(ada.get("/me/hidden-posts").expect(200).json()["data"], serde_json::json!([posts[1]]));
    let of_bob = format!("/users/{}/posts", bob.username());
    for path in ["/feed", of_bob.as_str()] {
        assert_eq!(ids(&ada.get(path).expect(200).json()), [posts[2], posts[0]]);
        assert_eq!(ids(&bob.get(path).expect(200).json()), [posts[2], posts[1], posts[0]]);
    }
    ada.get(&format!("/posts/{}", posts[1])).expect(200);
    ada.delete(&hide).expect(200);
    assert_eq!(ids(&ada.get("/feed").expect(200).json()), [posts[2], posts[1], posts[0]]);
    ada.put("/me/hidden-posts/999999", Body::none()).expect_error(404);
}

#[test]
fn pages_are_whole_beside_many_posts_of_blocked_users() {
    let service = Service::start(&[]);
    let (ada, bob, carol) = (service.new_user("ada"), service.new_user("bob"), service.new_user("carol"));
    let first = carol.share_tiny("first");
    for _ in 0..30 {
        bob.share_tiny("spam");
    }
    let last = carol.share_tiny("last");
    block(&ada, &bob);
    let page = ada.get("/feed?limit=2").expect(200).json();
    assert_eq!(ids(&page), [last, first]);
    let page = ada.get("/feed?limit=1").expect(200).json();
    let next = ada.get(page["paging"]["next"].as_str().unwrap()).expect(200).json();
    assert_eq!((ids(&page), ids(&next)), (vec![last], vec![first]));
    assert!(next["paging"].get("next").is_none(), "{next}");
}

#[test]
fn reports_need_a_reason_and_are_filed_once() {
    let service = Service::shared();
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    let post = bob.share_tiny("rude");
    let paths = [format!("/posts/{post}/reports"), format!("/users/{}/reports", bob.username())];
    for path in &paths {
        for reason in ["", "  ", &"x".repeat(1_001)] {
            let form = FormData::new().text("reason", reason);
            ada.post(path, form).expect_error_for(400, Some("reason"));
        }
        ada.post(path, Body::none()).expect_error_for(400, Some("reason"));
        service.anonymous().post(path, FormData::new().text("reason", "rude")).expect_error(401);
        bob.post(path, FormData::new().text("reason", "me")).expect_error(403);
        ada.post(path, FormData::new().text("reason", "rude")).expect(201);
        ada.post(path, FormData::new().text("reason", "rude")).expect_error(409);
    }
    ada.post("/posts/999999/reports", FormData::new().text("reason", "rude")).expect_error(404);
    ada.post("/users/no-such-user/reports", FormData::new().text("reason", "rude")).expect_error(404);
}
