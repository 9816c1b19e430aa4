//! Sharing a picture, reading, editing and deleting the post.

use e2e::shape::assert_post;
use e2e::{Body, Encoding, Form, Service, afterglow, eventually, picture};
use serde_json::{Value, json};

#[test]
fn a_shared_picture_is_a_post_everyone_can_read() {
    let service = Service::shared();
    let ada = service.newcomer("ada");
    let sunset = picture::png(&picture::stripes(96, 32));

    for message in [Some("Sunset at the lake"), None, Some("")] {
        let mut form = Form::photo(&sunset);
        if let Some(text) = message {
            form = form.text("message", text);
        }
        let post = ada.post("/posts", form).expect(201).json();
        assert_post(&post);
        // An empty message is no message, and no message is no member.
        let told = message.filter(|text| !text.is_empty());
        assert_eq!(post.get("message").and_then(Value::as_str), told);
        assert_eq!(post["user"], ada.get("/me").expect(200).json());
        assert_eq!((&post["photo"]["width"], &post["photo"]["height"]), (&json!(96), &json!(32)));
        assert_eq!((&post["is_liked"], &post["like_count"]), (&json!(false), &json!(0)));

        for reader in [&ada, &service.anyone()] {
            assert_eq!(reader.get(&format!("/posts/{}", post["id"])).expect(200).json(), post);
            assert_eq!(reader.find_in_feed(post["id"].as_i64().unwrap()).unwrap(), post);
        }
    }
}

#[test]
fn a_post_needs_a_photo() {
    let ada = Service::shared().newcomer("ada");
    for body in [
        Body::none(),
        Form::new().body(),
        Form::message("words alone").body(),
        Form::message("words alone").encoded(Encoding::Multipart).body(),
        Form::new().text("photo", "not a picture").body(),
        Form::photo(b"").body(),
        Form::photo(b"not a picture").body(),
    ] {
        ada.post("/posts", body).refused_for(400, Some("photo"));
    }
}

/// What people write, and what must come back byte for byte.
const TEXTS: [&str; 9] = [
    "plain",
    " leading and trailing ",
    "two\nlines",
    "two\r\nlines\r\n",
    "tab\tand \u{1} control",
    "👩‍👩‍👧‍👦 🏳️‍🌈 ❤️",
    "שלום مرحبا \u{202e}abc",
    "e\u{301} is not \u{e9}",
    "a+b&c=d%20;\"'<script>\\u0000",
];

#[test]
fn messages_are_kept_byte_for_byte() {
    let ada = Service::shared().newcomer("ada");
    let tiny = picture::tiny();
    for text in TEXTS {
        let post = ada.share(&tiny, text);
        assert_eq!(post["message"], text);
        let path = format!("/posts/{}", post["id"]);
        for method in ["PUT", "PATCH"] {
            for encoding in Encoding::BOTH {
                ada.request(method, &path).body(Form::message("between")).send().expect(200);
                let form = Form::message(text).encoded(encoding);
                let edited = ada.request(method, &path).body(form).send().expect(200).json();
                assert_eq!(edited["message"], text, "{method} {encoding:?}");
                assert_eq!(ada.get(&path).expect(200).json(), edited);
            }
        }
    }
}

#[test]
fn messages_have_at_most_5000_characters() {
    let ada = Service::shared().newcomer("ada");
    let tiny = picture::tiny();
    for letter in ["x", "é", "😀"] {
        let (longest, too_long) = (letter.repeat(5_000), letter.repeat(5_001));
        let post = ada.share(&tiny, &longest);
        assert_eq!(post["message"], *longest);

        let refused = ada.post("/posts", Form::photo(&tiny).text("message", &too_long));
        refused.refused_for(400, Some("message"));
        let path = format!("/posts/{}", post["id"]);
        for encoding in Encoding::BOTH {
            let edit = ada.put(&path, Form::message(&too_long).encoded(encoding));
            edit.refused_for(400, Some("message"));
            assert_eq!(ada.get(&path).expect(200).json()["message"], *longest);
            ada.put(&path, Form::message(&longest).encoded(encoding)).expect(200);
        }
    }
}

#[test]
fn editing_changes_the_message_and_nothing_else() {
    let service = Service::shared();
    let ada = service.newcomer("ada");
    for method in ["PUT", "PATCH"] {
        let mut post = ada.share(&picture::tiny(), "first words");
        let path = format!("/posts/{}", post["id"]);
        ada.post(&format!("{path}/likes"), Body::none()).expect(201);
        post["is_liked"] = json!(true);
        post["like_count"] = json!(1);

        for (body, message) in [
            (Form::message("second words").body(), Some("second words")),
            (Body::none(), Some("second words")),
            (Form::new().text("caption", "unknown").body(), Some("second words")),
            (Form::new().text("photo", "unheard of").body(), Some("second words")),
            (Form::message("").body(), None),
            (Body::none(), None),
            (Form::message("third words").encoded(Encoding::Multipart).body(), Some("third words")),
            (Form::message("").encoded(Encoding::Multipart).body(), None),
            (Form::message(" ").body(), Some(" ")),
        ] {
            let edited = ada.request(method, &path).body(body).send().expect(200).json();
            assert_post(&edited);
            post.as_object_mut().unwrap().remove("message");
            if let Some(text) = message {
                post["message"] = json!(text);
            }
            assert_eq!(edited, post, "{method}");
            assert_eq!(ada.get(&path).expect(200).json(), post);
        }
    }
}

#[test]
fn a_deleted_post_is_gone_with_all_that_belongs_to_it() {
    let service = Service::shared();
    let (ada, bob) = (service.newcomer("ada"), service.newcomer("bob"));
    let post = ada.share(&picture::png(&picture::stripes(96, 32)), "soon gone");
    let path = format!("/posts/{}", post["id"]);
    let image = |size: &str| format!("/photos/{}/{size}", post["photo"]["id"].as_str().unwrap());
    bob.post(&format!("{path}/likes"), Body::none()).expect(201);
    let sizes = ["1x1", "64x64", "2048x2048"];
    let etags = sizes.map(|size| bob.get(&image(size)).expect(200).header("etag").unwrap().to_owned());

    assert_eq!(ada.delete(&path).expect(200).json(), json!({}));
    for (size, etag) in sizes.into_iter().zip(&etags) {
        for (header, value) in [("Accept", "image/jpeg"), ("If-None-Match", etag), ("Accept", "image/webp")] {
            let ask = || bob.request("GET", &image(size)).header(header, value).send();
            let gone =
                eventually("it is gone", afterglow(), || Some(ask()).filter(|answer| answer.status == 404));
            gone.refused_for(404, None);
        }
    }
    for person in [&ada, &bob] {
        person.get(&path).refused_for(404, None);
        person.delete(&path).refused_for(404, None);
        person.put(&path, Form::message("too late")).refused_for(404, None);
        person.post(&format!("{path}/likes"), Body::none()).refused_for(404, None);
        person.delete(&format!("{path}/likes")).refused_for(404, None);
        assert_eq!(person.find_in_feed(post["id"].as_i64().unwrap()), None);
    }
}

#[test]
fn what_is_no_id_is_no_post() {
    let ada = Service::shared().newcomer("ada");
    for id in ["0", "-1", "abc", "1.5", "1e3", "7x", "%20", "9223372036854775808", "99999999999999999999"] {
        let path = format!("/posts/{id}");
        ada.get(&path).refused_for(404, None);
        ada.delete(&path).refused_for(404, None);
        for method in ["PUT", "PATCH"] {
            ada.request(method, &path).body(Form::message("x")).send().refused_for(404, None);
        }
    }
}

#[test]
fn an_administrator_may_delete_but_not_speak_for_others() {
    let service = Service::start(&["--admins", "root,carol"]);
    let anyone = service.anyone();
    let (ada, root, bob) = (anyone.join("ada"), anyone.join("root"), anyone.join("bob"));
    let path = format!("/posts/{}", ada.share_tiny("mine"));

    bob.delete(&path).refused_for(403, None);
    root.put(&path, Form::message("not mine")).refused_for(403, None);
    assert_eq!(ada.get(&path).expect(200).json()["message"], "mine");
    assert_eq!(root.delete(&path).expect(200).json(), json!({}));
    ada.get(&path).refused_for(404, None);
}
