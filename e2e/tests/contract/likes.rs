//! Liking, changing one's mind, and who sees what of it.

use e2e::{Body, Client, Service};
use serde_json::{Value, json};

#[test]
fn a_like_counts_once_and_can_be_taken_back_once() {
    let service = Service::shared();
    let (ada, bob) = (service.newcomer("ada"), service.newcomer("bob"));
    let id = ada.share_tiny("like me");
    let likes = format!("/posts/{id}/likes");
    let everyone = [&ada, &bob, &service.anyone()];

    assert_seen(everyone, id, [false, false, false], 0);
    bob.delete(&likes).refused_for(409, None);

    assert_eq!(bob.post(&likes, Body::none()).expect(201).json(), json!({}));
    assert_seen(everyone, id, [false, true, false], 1);
    bob.post(&likes, Body::none()).refused_for(409, None);
    assert_seen(everyone, id, [false, true, false], 1);

    // The author may like it too.
    assert_eq!(ada.post(&likes, Body::none()).expect(201).json(), json!({}));
    assert_seen(everyone, id, [true, true, false], 2);

    assert_eq!(bob.delete(&likes).expect(200).json(), json!({}));
    assert_seen(everyone, id, [true, false, false], 1);
    bob.delete(&likes).refused_for(409, None);
    assert_seen(everyone, id, [true, false, false], 1);

    // And one can come back to it.
    bob.post(&likes, Body::none()).expect(201);
    assert_seen(everyone, id, [true, true, false], 2);
}

#[test]
fn likes_need_a_caller_and_a_post() {
    let service = Service::shared();
    let ada = service.newcomer("ada");
    let gone = ada.share_tiny("soon gone");
    ada.post(&format!("/posts/{gone}/likes"), Body::none()).expect(201);
    ada.delete(&format!("/posts/{gone}")).expect(200);
    for id in [gone.to_string(), "0".into(), "nonsense".into(), "99999999999999999999".into()] {
        let likes = format!("/posts/{id}/likes");
        ada.post(&likes, Body::none()).refused_for(404, None);
        ada.delete(&likes).refused_for(404, None);
        service.anyone().post(&likes, Body::none()).refused_for(401, None);
        service.anyone().delete(&likes).refused_for(401, None);
    }
}

/// The post as each of them sees it, read singly, in the feed, and as the answer to an edit.
#[track_caller]
fn assert_seen(people: [&Client; 3], id: i64, liked: [bool; 3], count: i64) {
    for (person, liked) in people.into_iter().zip(liked) {
        let single = person.get(&format!("/posts/{id}")).expect(200).json();
        let listed = person.find_in_feed(id).expect("the post is in the feed");
        for post in [&single, &listed] {
            assert_eq!((&post["is_liked"], &post["like_count"]), (&Value::from(liked), &Value::from(count)));
        }
    }
    let edited = people[0].put(&format!("/posts/{id}"), Body::none()).expect(200).json();
    assert_eq!((edited["is_liked"].as_bool(), edited["like_count"].as_i64()), (Some(liked[0]), Some(count)));
}
