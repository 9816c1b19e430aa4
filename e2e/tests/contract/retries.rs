//! An upload that is sent again because nobody saw the answer: `Idempotency-Key`.

use e2e::{Answer, Client, Form, Service, picture, unique};

const HEADER: &str = "Idempotency-Key";

#[test]
fn a_retried_upload_is_the_same_post() {
    let service = Service::shared();
    let (ada, bob) = (service.newcomer("ada"), service.newcomer("bob"));
    let key = unique("key");

    let first = upload(&ada, &key, "once").expect(201);
    assert_eq!(first.header("idempotency-replayed"), None);
    let first = first.json();
    for _ in 0..3 {
        let again = upload(&ada, &key, "once").expect(201);
        assert_eq!(again.header("idempotency-replayed"), Some("true"));
        assert_eq!(again.json(), first);
    }
    // Sessions come and go, the person stays the same; the answer is the post as it is by now.
    let path = format!("/posts/{}", first["id"]);
    ada.put(&path, Form::message("edited since")).expect(200);
    let again = upload(&service.anyone().login(ada.username()), &key, "once").expect(201).json();
    assert_eq!((&again["id"], &again["message"]), (&first["id"], &"edited since".into()));

    // Another key, another person or no key at all: another post.
    let others = [
        upload(&ada, &unique("key"), "twice"),
        upload(&bob, &key, "twice"),
        ada.post("/posts", Form::photo(&picture::tiny())),
        ada.post("/posts", Form::photo(&picture::tiny())),
    ];
    let mut ids: Vec<i64> = others.map(|other| other.expect(201).json()["id"].as_i64().unwrap()).to_vec();
    ids.push(first["id"].as_i64().unwrap());
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 5, "five different posts");
}

#[test]
fn a_refused_upload_leaves_its_key_free() {
    let service = Service::shared();
    let ada = service.newcomer("ada");
    let key = unique("key");
    let broken = ada.request("POST", "/posts").header(HEADER, &key).body(Form::photo(b"no picture"));
    broken.send().refused_for(400, Some("photo"));
    upload(&service.anyone(), &key, "").refused_for(401, None);
    upload(&ada, &key, "now it works").expect(201);
}

#[test]
fn a_retry_does_not_bring_a_deleted_post_back() {
    let ada = Service::shared().newcomer("ada");
    let key = unique("key");
    let post = upload(&ada, &key, "gone").expect(201).json();
    ada.delete(&format!("/posts/{}", post["id"])).expect(200);
    upload(&ada, &key, "gone").refused(409);
    assert_eq!(ada.find_in_feed(post["id"].as_i64().unwrap()), None);
}

#[test]
fn a_key_is_one_to_255_visible_characters() {
    let ada = Service::shared().newcomer("ada");
    let longest = format!("{:~<255}", unique("!"));
    let first = upload(&ada, &longest, "").expect(201).json();
    assert_eq!(upload(&ada, &longest, "").expect(201).json()["id"], first["id"]);

    let too_long = "k".repeat(256);
    for key in ["", &too_long, "two words", "tab\tbed", "schlüssel"] {
        upload(&ada, key, "").refused_for(400, Some(HEADER));
    }
}

fn upload(person: &Client, key: &str, message: &str) -> Answer {
    let form = Form::photo(&picture::tiny()).text("message", message);
    person.request("POST", "/posts").header(HEADER, key).body(form).send()
}
