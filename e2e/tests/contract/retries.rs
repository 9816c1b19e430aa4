//! `Idempotency-Key`: a retried upload creates no second post.

use e2e::{Client, FormData, Response, Service, picture, unique};

const HEADER: &str = "Idempotency-Key";

#[test]
fn a_retried_upload_returns_the_same_post() {
    let service = Service::shared();
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    let key = unique("key");

    let first = upload(&ada, &key, "once").expect(201);
    assert_eq!(first.header("idempotency-replayed"), None);
    let first = first.json();
    for _ in 0..3 {
        let again = upload(&ada, &key, "once").expect(201);
        assert_eq!(again.header("idempotency-replayed"), Some("true"));
        assert_eq!(again.json(), first);
    }
    // The key belongs to the user, not to the session, and the response is the post in its current state.
    let path = format!("/posts/{}", first["id"]);
    ada.put(&path, FormData::message("edited since")).expect(200);
    let again = upload(&service.anonymous().login(ada.username()), &key, "once").expect(201).json();
    assert_eq!((&again["id"], &again["message"]), (&first["id"], &"edited since".into()));

    // Another key, another user or no key: another post.
    let others = [
        upload(&ada, &unique("key"), "twice"),
        upload(&bob, &key, "twice"),
        ada.post("/posts", FormData::photo(&picture::tiny())),
        ada.post("/posts", FormData::photo(&picture::tiny())),
    ];
    let mut ids: Vec<i64> = others.map(|other| other.expect(201).json()["id"].as_i64().unwrap()).to_vec();
    ids.push(first["id"].as_i64().unwrap());
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 5, "five different posts");
}

#[test]
fn a_rejected_upload_does_not_use_up_its_key() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    let key = unique("key");
    let broken = ada.request("POST", "/posts").header(HEADER, &key).body(FormData::photo(b"no picture"));
    broken.send().expect_error_for(400, Some("photo"));
    upload(&service.anonymous(), &key, "").expect_error_for(401, None);
    upload(&ada, &key, "now it works").expect(201);
}

#[test]
fn a_retry_does_not_restore_a_deleted_post() {
    let ada = Service::shared().new_user("ada");
    let key = unique("key");
    let post = upload(&ada, &key, "deleted").expect(201).json();
    ada.delete(&format!("/posts/{}", post["id"])).expect(200);
    upload(&ada, &key, "deleted").expect_error(409);
    assert_eq!(ada.find_in_feed(post["id"].as_i64().unwrap()), None);
}

#[test]
fn a_key_is_one_to_255_visible_characters() {
    let ada = Service::shared().new_user("ada");
    let longest = format!("{:~<255}", unique("!"));
    let first = upload(&ada, &longest, "").expect(201).json();
    assert_eq!(upload(&ada, &longest, "").expect(201).json()["id"], first["id"]);

    let too_long = "k".repeat(256);
    for key in ["", &too_long, "two words", "tab\tbed", "schlüssel"] {
        upload(&ada, key, "").expect_error_for(400, Some(HEADER));
    }
}

fn upload(client: &Client, key: &str, message: &str) -> Response {
    let form = FormData::photo(&picture::tiny()).text("message", message);
    client.request("POST", "/posts").header(HEADER, key).body(form).send()
}
