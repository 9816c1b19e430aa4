//! Creating, reading, editing and deleting posts.

use e2e::shape::assert_post;
use e2e::{Body, Encoding, FormData, Service, picture};
use serde_json::{Value, json};

#[test]
fn a_new_post_can_be_read_by_everyone() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    let sunset = picture::png(&picture::stripes(96, 32));

    for message in [Some("Sunset at the lake"), None, Some("")] {
        let mut form = FormData::photo(&sunset);
        if let Some(text) = message {
            form = form.text("message", text);
        }
        let post = ada.post("/posts", form).expect(201).json();
        assert_post(&post);
        // An empty message is stored as none, and its member is absent.
        let expected = message.filter(|text| !text.is_empty());
        assert_eq!(post.get("message").and_then(Value::as_str), expected);
        assert_eq!(post["user"], ada.get("/me").expect(200).json());
        assert_eq!((&post["photo"]["width"], &post["photo"]["height"]), (&json!(96), &json!(32)));
        assert_eq!((&post["is_liked"], &post["like_count"]), (&json!(false), &json!(0)));

        for reader in [&ada, &service.anonymous()] {
            assert_eq!(reader.get(&format!("/posts/{}", post["id"])).expect(200).json(), post);
            assert_eq!(reader.find_in_feed(post["id"].as_i64().unwrap()).unwrap(), post);
        }
    }
}

#[test]
fn a_post_needs_a_photo() {
    let ada = Service::shared().new_user("ada");
    for body in [
        Body::none(),
        FormData::new().body(),
        FormData::message("no photo").body(),
        FormData::message("no photo").encoded(Encoding::Multipart).body(),
        FormData::new().text("photo", "not a picture").body(),
        FormData::photo(b"").body(),
        FormData::photo(b"not a picture").body(),
    ] {
        ada.post("/posts", body).expect_error_for(400, Some("photo"));
    }
}

/// Messages that must be returned byte for byte.
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
fn messages_are_stored_byte_for_byte() {
    let ada = Service::shared().new_user("ada");
    let tiny = picture::tiny();
    for text in TEXTS {
        let post = ada.share(&tiny, text);
        assert_eq!(post["message"], text);
        let path = format!("/posts/{}", post["id"]);
        for method in ["PUT", "PATCH"] {
            for encoding in Encoding::BOTH {
                ada.request(method, &path).body(FormData::message("between")).send().expect(200);
                let form = FormData::message(text).encoded(encoding);
                let edited = ada.request(method, &path).body(form).send().expect(200).json();
                assert_eq!(edited["message"], text, "{method} {encoding:?}");
                assert_eq!(ada.get(&path).expect(200).json(), edited);
            }
        }
    }
}

#[test]
fn messages_have_at_most_5000_characters() {
    let ada = Service::shared().new_user("ada");
    let tiny = picture::tiny();
    for letter in ["x", "é", "😀"] {
        let (longest, too_long) = (letter.repeat(5_000), letter.repeat(5_001));
        let post = ada.share(&tiny, &longest);
        assert_eq!(post["message"], *longest);

        let rejected = ada.post("/posts", FormData::photo(&tiny).text("message", &too_long));
        rejected.expect_error_for(400, Some("message"));
        let path = format!("/posts/{}", post["id"]);
        for encoding in Encoding::BOTH {
            let edit = ada.put(&path, FormData::message(&too_long).encoded(encoding));
            edit.expect_error_for(400, Some("message"));
            assert_eq!(ada.get(&path).expect(200).json()["message"], *longest);
            ada.put(&path, FormData::message(&longest).encoded(encoding)).expect(200);
        }
    }
}

#[test]
fn editing_changes_the_message_and_nothing_else() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    for method in ["PUT", "PATCH"] {
        let mut post = ada.share(&picture::tiny(), "first words");
        let path = format!("/posts/{}", post["id"]);
        ada.post(&format!("{path}/likes"), Body::none()).expect(201);
        post["is_liked"] = json!(true);
        post["like_count"] = json!(1);

        for (body, message) in [
            (FormData::message("second words").body(), Some("second words")),
            (Body::none(), Some("second words")),
            (FormData::new().text("caption", "unknown").body(), Some("second words")),
            (FormData::new().text("photo", "unheard of").body(), Some("second words")),
            (FormData::message("").body(), None),
            (Body::none(), None),
            (FormData::message("third words").encoded(Encoding::Multipart).body(), Some("third words")),
            (FormData::message("").encoded(Encoding::Multipart).body(), None),
            (FormData::message(" ").body(), Some(" ")),
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
fn deleting_a_post_removes_its_images_and_likes() {
    let service = Service::shared();
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    let post = ada.share(&picture::png(&picture::stripes(96, 32)), "to be deleted");
    let path = format!("/posts/{}", post["id"]);
    let image = |size: &str| format!("/photos/{}/{size}", post["photo"]["id"].as_str().unwrap());
    bob.post(&format!("{path}/likes"), Body::none()).expect(201);
    let sizes = ["1x1", "64x64", "2048x2048"];
    let etags = sizes.map(|size| bob.get(&image(size)).expect(200).header("etag").unwrap().to_owned());

    assert_eq!(ada.delete(&path).expect(200).json(), json!({}));
    for (size, etag) in sizes.into_iter().zip(&etags) {
        for (header, value) in [("Accept", "image/jpeg"), ("If-None-Match", etag), ("Accept", "image/webp")] {
            bob.request("GET", &image(size)).header(header, value).send().expect_error_for(404, None);
        }
    }
    for client in [&ada, &bob] {
        client.get(&path).expect_error_for(404, None);
        client.delete(&path).expect_error_for(404, None);
        client.put(&path, FormData::message("too late")).expect_error_for(404, None);
        client.post(&format!("{path}/likes"), Body::none()).expect_error_for(404, None);
        client.delete(&format!("{path}/likes")).expect_error_for(404, None);
        assert_eq!(client.find_in_feed(post["id"].as_i64().unwrap()), None);
    }
}

#[test]
fn invalid_post_ids_are_not_found() {
    let ada = Service::shared().new_user("ada");
    for id in ["0", "-1", "abc", "1.5", "1e3", "7x", "%20", "9223372036854775808", "99999999999999999999"] {
        let path = format!("/posts/{id}");
        ada.get(&path).expect_error_for(404, None);
        ada.delete(&path).expect_error_for(404, None);
        for method in ["PUT", "PATCH"] {
            ada.request(method, &path).body(FormData::message("x")).send().expect_error_for(404, None);
        }
    }
}

#[test]
fn an_administrator_may_delete_but_not_edit_posts_of_others() {
    let dir = tempfile::tempdir().unwrap();
    // An administrator joins before the setting names them.
    let before = Service::start_in(dir.path(), &[]);
    before.anonymous().join("Root");
    before.kill();
    let service = Service::start_in(dir.path(), &["--admins", "root,carol"]);
    let anonymous = service.anonymous();
    let (ada, root, bob) = (anonymous.join("ada"), anonymous.login("root"), anonymous.join("bob"));
    let path = format!("/posts/{}", ada.share_tiny("mine"));

    bob.delete(&path).expect_error_for(403, None);
    root.put(&path, FormData::message("not mine")).expect_error_for(403, None);
    assert_eq!(ada.get(&path).expect(200).json()["message"], "mine");
    assert_eq!(root.delete(&path).expect(200).json(), json!({}));
    ada.get(&path).expect_error_for(404, None);
}
