//! The alt text of photos.

use e2e::shape::assert_post;
use e2e::{Body, Client, Encoding, FormData, Response, Service, concurrently, picture};
use serde_json::{Value, json};

#[test]
fn every_response_with_a_photo_has_its_alt_text() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    for alt in [Some("Two swans on a grey lake"), None, Some("")] {
        let mut form = FormData::photo(&picture::tiny()).text("message", "Sunday");
        if let Some(text) = alt {
            form = form.text("alt", text);
        }
        let post = ada.post("/posts", form).expect(201).json();
        assert_post(&post);
        let expected = alt.filter(|text| !text.is_empty());
        assert_eq!(post["photo"].get("alt").and_then(Value::as_str), expected);
        assert_eq!(post["message"], "Sunday");

        let id = post["id"].as_i64().unwrap();
        let reader = service.anonymous();
        assert_eq!(reader.get(&format!("/posts/{id}")).expect(200).json(), post);
        assert_eq!(reader.find_in_feed(id).unwrap(), post);
        let by_author = reader.get(&format!("/users/{}/posts", ada.username())).expect(200).json();
        assert_eq!(by_author["data"][0], post);
    }
}

#[test]
fn alt_text_is_stored_byte_for_byte() {
    let ada = Service::shared().new_user("ada");
    for text in [" leading and trailing ", "two\r\nlines", "e\u{301} is not \u{e9}", "a+b&c=d%20;\"<b>👩‍👧"]
    {
        let post = ada.post("/posts", FormData::photo(&picture::tiny()).text("alt", text)).expect(201).json();
        assert_eq!(post["photo"]["alt"], text);
        let path = format!("/posts/{}", post["id"]);
        for encoding in Encoding::BOTH {
            ada.put(&path, alt("between")).expect(200);
            let edited = ada.put(&path, alt(text).encoded(encoding)).expect(200).json();
            assert_eq!(edited["photo"]["alt"], text, "{encoding:?}");
            assert_eq!(ada.get(&path).expect(200).json(), edited);
        }
    }
}

#[test]
fn alt_text_has_at_most_1000_characters_and_no_nul() {
    let ada = Service::shared().new_user("ada");
    let every_write = |text: &[u8]| -> Vec<Response> {
        let path = format!("/posts/{}", ada.share_tiny("without alt"));
        let upload = FormData::photo(&picture::tiny()).text("alt", text);
        let edit = FormData::new().text("alt", text);
        vec![
            ada.post("/posts", &upload),
            ada.put("/me/photo", &upload),
            ada.put(&path, &edit),
            ada.request("PATCH", &path).body(&edit).send(),
            ada.put(&path, edit.clone().encoded(Encoding::Multipart)),
        ]
    };
    for letter in ["x", "é", "😀"] {
        let longest = letter.repeat(1_000);
        for response in every_write(longest.as_bytes()) {
            assert!(response.status < 300, "{response}");
            assert_eq!(response.json()["photo"]["alt"], *longest);
        }
        for response in every_write(letter.repeat(1_001).as_bytes()) {
            response.expect_error_for(400, Some("alt"));
        }
    }
    for broken in [&b"a\0b"[..], b"\xff\xfe", &[b'x'; 70_000]] {
        for response in every_write(broken) {
            response.expect_error_for(400, Some("alt"));
        }
    }
}

#[test]
fn message_and_alt_can_be_edited_separately_or_together() {
    let ada = Service::shared().new_user("ada");
    for method in ["PUT", "PATCH"] {
        let form = FormData::photo(&picture::tiny()).text("message", "m1").text("alt", "a1");
        let mut post = ada.post("/posts", form).expect(201).json();
        let path = format!("/posts/{}", post["id"]);
        let both = |message: &str, text: &str| FormData::message(message).text("alt", text).body();
        for (body, message, text) in [
            (alt("a2").body(), Some("m1"), Some("a2")),
            (FormData::message("m2").body(), Some("m2"), Some("a2")),
            (both("m3", "a3"), Some("m3"), Some("a3")),
            (Body::none(), Some("m3"), Some("a3")),
            (alt("").body(), Some("m3"), None),
            (FormData::message("").body(), None, None),
            (both("", "a4"), None, Some("a4")),
            (both("m5", ""), Some("m5"), None),
            (both("", ""), None, None),
        ] {
            let edited = ada.request(method, &path).body(body).send().expect(200).json();
            assert_post(&edited);
            set(&mut post, "message", message);
            set(&mut post["photo"], "alt", text);
            assert_eq!(edited, post, "{method}");
            assert_eq!(ada.get(&path).expect(200).json(), post);
        }
    }
}

#[test]
fn an_edit_with_one_invalid_field_changes_nothing() {
    let ada = Service::shared().new_user("ada");
    let form = FormData::photo(&picture::tiny()).text("message", "m1").text("alt", "a1");
    let post = ada.post("/posts", form).expect(201).json();
    let path = format!("/posts/{}", post["id"]);
    let assert_rejected = |message: &str, text: &str, field| {
        ada.put(&path, FormData::message(message).text("alt", text)).expect_error_for(400, Some(field));
        assert_eq!(ada.get(&path).expect(200).json(), post);
    };
    assert_rejected("m2", &"x".repeat(1_001), "alt");
    assert_rejected(&"x".repeat(5_001), "a2", "message");
}

#[test]
fn concurrent_edits_of_message_and_alt_are_atomic() {
    let ada = Service::shared().new_user("ada");
    let path = format!("/posts/{}", ada.share_tiny("edited concurrently"));
    for _ in 0..5 {
        let seen = concurrently(8, |n| {
            let text = format!("pair {n}");
            let edited = pair(&ada.put(&path, FormData::message(&text).text("alt", &text)).expect(200));
            assert_eq!(edited, (json!(text), json!(text)), "each response has its own edit");
            read(&ada, &path)
        });
        for (message, alt) in seen.into_iter().chain([read(&ada, &path)]) {
            assert_eq!(message, alt);
        }
    }
}

fn alt(text: &str) -> FormData {
    FormData::new().text("alt", text)
}

fn read(client: &Client, path: &str) -> (Value, Value) {
    pair(&client.get(path).expect(200))
}

fn pair(response: &Response) -> (Value, Value) {
    let post = response.json();
    (post["message"].clone(), post["photo"]["alt"].clone())
}

/// Sets or removes an optional member, which is absent and never null when it is empty.
fn set(object: &mut Value, member: &str, text: Option<&str>) {
    object.as_object_mut().unwrap().remove(member);
    if let Some(text) = text {
        object[member] = json!(text);
    }
}
