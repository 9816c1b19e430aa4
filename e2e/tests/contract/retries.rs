//! `Idempotency-Key`: a retried upload creates no second post, and another request is no retry.

use e2e::{Client, Encoding, FormData, Response, Service, concurrently, picture, unique};

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
fn another_request_with_the_key_is_refused() {
    let ada = Service::shared().new_user("ada");
    let [photo, other] =
        [picture::RED, picture::BLUE].map(|colour| picture::jpeg(&picture::plain(8, 8, colour)));
    let texts = |form: FormData| form.text("message", "once").text("alt", "a square").text("focus", "0.25,1");
    let first = texts(FormData::photo(&photo));
    let key = unique("key");
    let send = |form: FormData| ada.request("POST", "/posts").header(HEADER, &key).body(form).send();
    let post = send(first.clone()).expect(201).json();

    // Another boundary, order, encoding and spelling of the same request.
    for retry in [
        first.clone(),
        texts(FormData::new().text("share_original", "false")).file("photo", &photo),
        texts(FormData::new().file_with(
            "photo",
            "; filename=\"renamed.png\"\r\nContent-Type: image/png",
            &photo,
        )),
        texts(FormData::new().text("photo", &photo)).encoded(Encoding::UrlEncoded),
        FormData::photo(&photo).text("message", "once").text("alt", "a square").text("focus", " .25, 1.0"),
    ] {
        let replay = send(retry).expect(201);
        assert_eq!(replay.header("idempotency-replayed"), Some("true"));
        assert_eq!(replay.json(), post);
    }
    for another in [
        texts(FormData::photo(&other)),
        texts(first.clone().text("share_original", "true")),
        FormData::photo(&photo),
        FormData::photo(&photo).text("message", "twice").text("alt", "a square").text("focus", "0.25,1"),
        FormData::photo(&photo).text("message", "once").text("alt", "a circle").text("focus", "0.25,1"),
        FormData::photo(&photo).text("message", "once").text("alt", "a square").text("focus", "0.25,0"),
        FormData::photo(&photo).text("message", "oncea ").text("alt", "square").text("focus", "0.25,1"),
        texts(FormData::photo(b"no picture")),
    ] {
        let refused = send(another).expect_error_for(422, Some(HEADER));
        assert_eq!(refused.header("location"), Some(format!("/posts/{}", post["id"]).as_str()), "{refused}");
    }
    assert_eq!(posts_of(&ada), 1);
    send(FormData::message("without a photo")).expect_error_for(400, Some("photo"));
}

#[test]
fn of_two_requests_racing_for_a_key_one_creates_a_post() {
    let ada = Service::shared().new_user("ada");
    for round in 1..=5 {
        let key = unique("key");
        let forms = [picture::RED, picture::BLUE].map(|colour| {
            let photo = picture::jpeg(&picture::plain(600, 600, colour));
            FormData::photo(&photo).text("message", format!("{colour:?}"))
        });
        let responses = concurrently(6, |n| {
            ada.request("POST", "/posts").header(HEADER, &key).body(&forms[n % 2]).send()
        });
        let winner = responses.iter().position(|response| response.status == 201).expect("one succeeds");
        let post = responses[winner].json();
        for (n, response) in responses.into_iter().enumerate() {
            if n % 2 == winner % 2 {
                assert_eq!(response.expect(201).json(), post);
            } else {
                response.expect_error_for(422, Some(HEADER));
            }
        }
        assert_eq!(posts_of(&ada), round);
    }
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

/// The same photo each time.
fn upload(client: &Client, key: &str, message: &str) -> Response {
    let photo = picture::png(&picture::plain(8, 8, picture::RED));
    let form = FormData::photo(&photo).text("message", message);
    client.request("POST", "/posts").header(HEADER, key).body(form).send()
}

fn posts_of(client: &Client) -> usize {
    let page = client.get(&format!("/users/{}/posts", client.username())).expect(200).json();
    page["data"].as_array().unwrap().len()
}
