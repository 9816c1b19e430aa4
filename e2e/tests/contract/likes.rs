//! Likes, unlikes, and what each reader sees of them.

use e2e::{Body, Client, Service};
use serde_json::{Value, json};

#[test]
fn a_post_can_be_liked_once_and_unliked_once_per_user() {
    let service = Service::shared();
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    let id = ada.share_tiny("like me");
    let likes = format!("/posts/{id}/likes");
    let everyone = [&ada, &bob, &service.anonymous()];

    assert_likes(everyone, id, [false, false, false], 0);
    bob.delete(&likes).expect_error_for(409, None);

    assert_eq!(bob.post(&likes, Body::none()).expect(201).json(), json!({}));
    assert_likes(everyone, id, [false, true, false], 1);
    bob.post(&likes, Body::none()).expect_error_for(409, None);
    assert_likes(everyone, id, [false, true, false], 1);

    // The author may like it too.
    assert_eq!(ada.post(&likes, Body::none()).expect(201).json(), json!({}));
    assert_likes(everyone, id, [true, true, false], 2);

    assert_eq!(bob.delete(&likes).expect(200).json(), json!({}));
    assert_likes(everyone, id, [true, false, false], 1);
    bob.delete(&likes).expect_error_for(409, None);
    assert_likes(everyone, id, [true, false, false], 1);

    // An unliked post can be liked again.
    bob.post(&likes, Body::none()).expect(201);
    assert_likes(everyone, id, [true, true, false], 2);
}

#[test]
fn likes_need_a_session_and_an_existing_post() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    let deleted = ada.share_tiny("to be deleted");
    ada.post(&format!("/posts/{deleted}/likes"), Body::none()).expect(201);
    ada.delete(&format!("/posts/{deleted}")).expect(200);
    for id in [deleted.to_string(), "0".into(), "nonsense".into(), "99999999999999999999".into()] {
        let likes = format!("/posts/{id}/likes");
        ada.post(&likes, Body::none()).expect_error_for(404, None);
        ada.delete(&likes).expect_error_for(404, None);
        service.anonymous().post(&likes, Body::none()).expect_error_for(401, None);
        service.anonymous().delete(&likes).expect_error_for(401, None);
    }
}

/// Asserts the likes that each client sees: in the post, in the feed, and in the response to an edit.
#[track_caller]
fn assert_likes(users: [&Client; 3], id: i64, liked: [bool; 3], count: i64) {
    for (client, liked) in users.into_iter().zip(liked) {
        let single = client.get(&format!("/posts/{id}")).expect(200).json();
        let listed = client.find_in_feed(id).expect("the post is in the feed");
        for post in [&single, &listed] {
            assert_eq!((&post["is_liked"], &post["like_count"]), (&Value::from(liked), &Value::from(count)));
        }
    }
    let edited = users[0].put(&format!("/posts/{id}"), Body::none()).expect(200).json();
    assert_eq!((edited["is_liked"].as_bool(), edited["like_count"].as_i64()), (Some(liked[0]), Some(count)));
}
