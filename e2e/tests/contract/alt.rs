//! The words that stand for a photo, for those who do not see it.

use e2e::shape::assert_post;
use e2e::{Answer, Body, Client, Encoding, Form, Service, at_once, picture};
use serde_json::{Value, json};

#[test]
fn a_photo_carries_its_words_wherever_it_is_shown() {
    let service = Service::shared();
    let ada = service.newcomer("ada");
    for alt in [Some("Two swans on a grey lake"), None, Some("")] {
        let mut form = Form::photo(&picture::tiny()).text("message", "Sunday");
        if let Some(text) = alt {
            form = form.text("alt", text);
        }
        let post = ada.post("/posts", form).expect(201).json();
        assert_post(&post);
        let told = alt.filter(|text| !text.is_empty());
        assert_eq!(post["photo"].get("alt").and_then(Value::as_str), told);
        assert_eq!(post["message"], "Sunday");

        let id = post["id"].as_i64().unwrap();
        let reader = service.anyone();
        assert_eq!(reader.get(&format!("/posts/{id}")).expect(200).json(), post);
        assert_eq!(reader.find_in_feed(id).unwrap(), post);
        let theirs = reader.get(&format!("/users/{}/posts", ada.username())).expect(200).json();
        assert_eq!(theirs["data"][0], post);
    }
}

#[test]
fn the_words_are_kept_byte_for_byte() {
    let ada = Service::shared().newcomer("ada");
    for text in [" leading and trailing ", "two\r\nlines", "e\u{301} is not \u{e9}", "a+b&c=d%20;\"<b>👩‍👧"]
    {
        let post = ada.post("/posts", Form::photo(&picture::tiny()).text("alt", text)).expect(201).json();
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
fn a_thousand_characters_are_enough_and_none_is_nul() {
    let ada = Service::shared().newcomer("ada");
    let everywhere = |text: &[u8]| -> Vec<Answer> {
        let path = format!("/posts/{}", ada.share_tiny("described"));
        let upload = Form::photo(&picture::tiny()).text("alt", text);
        let edit = Form::new().text("alt", text);
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
        for answer in everywhere(longest.as_bytes()) {
            assert!(answer.status < 300, "{answer}");
            assert_eq!(answer.json()["photo"]["alt"], *longest);
        }
        for answer in everywhere(letter.repeat(1_001).as_bytes()) {
            answer.refused_for(400, Some("alt"));
        }
    }
    for broken in [&b"a\0b"[..], b"\xff\xfe", &[b'x'; 70_000]] {
        for answer in everywhere(broken) {
            answer.refused_for(400, Some("alt"));
        }
    }
}

#[test]
fn message_and_alt_are_edited_apart_or_together() {
    let ada = Service::shared().newcomer("ada");
    for method in ["PUT", "PATCH"] {
        let form = Form::photo(&picture::tiny()).text("message", "m1").text("alt", "a1");
        let mut post = ada.post("/posts", form).expect(201).json();
        let path = format!("/posts/{}", post["id"]);
        let both = |message: &str, text: &str| Form::message(message).text("alt", text).body();
        for (body, message, text) in [
            (alt("a2").body(), Some("m1"), Some("a2")),
            (Form::message("m2").body(), Some("m2"), Some("a2")),
            (both("m3", "a3"), Some("m3"), Some("a3")),
            (Body::none(), Some("m3"), Some("a3")),
            (alt("").body(), Some("m3"), None),
            (Form::message("").body(), None, None),
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
fn of_two_changes_with_one_mistake_neither_is_made() {
    let ada = Service::shared().newcomer("ada");
    let form = Form::photo(&picture::tiny()).text("message", "m1").text("alt", "a1");
    let post = ada.post("/posts", form).expect(201).json();
    let path = format!("/posts/{}", post["id"]);
    let refused = |message: &str, text: &str, field| {
        ada.put(&path, Form::message(message).text("alt", text)).refused_for(400, Some(field));
        assert_eq!(ada.get(&path).expect(200).json(), post);
    };
    refused("m2", &"x".repeat(1_001), "alt");
    refused(&"x".repeat(5_001), "a2", "message");
}

#[test]
fn edits_of_both_at_once_leave_a_pair_that_belongs_together() {
    let ada = Service::shared().newcomer("ada");
    let path = format!("/posts/{}", ada.share_tiny("described in a hurry"));
    for _ in 0..5 {
        let seen = at_once(8, |n| {
            let text = format!("pair {n}");
            let edited = pair(&ada.put(&path, Form::message(&text).text("alt", &text)).expect(200));
            assert_eq!(edited, (json!(text), json!(text)), "each is told their own words");
            read(&ada, &path)
        });
        for (message, alt) in seen.into_iter().chain([read(&ada, &path)]) {
            assert_eq!(message, alt);
        }
    }
}

fn alt(text: &str) -> Form {
    Form::new().text("alt", text)
}

fn read(person: &Client, path: &str) -> (Value, Value) {
    pair(&person.get(path).expect(200))
}

fn pair(answer: &Answer) -> (Value, Value) {
    let post = answer.json();
    (post["message"].clone(), post["photo"]["alt"].clone())
}

/// Absent is absent: an optional member is never null.
fn set(object: &mut Value, member: &str, text: Option<&str>) {
    object.as_object_mut().unwrap().remove(member);
    if let Some(text) = text {
        object[member] = json!(text);
    }
}
