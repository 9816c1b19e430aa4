//! Parameters in both encodings, wherever a form is taken.

use e2e::{Body, Encoding, Form, PASSWORD, Service, browser, picture, unique};

const LARGEST: usize = 256 * 1024;

#[test]
fn every_form_may_come_in_either_encoding() {
    let anyone = Service::shared().anyone();
    for encoding in Encoding::BOTH {
        let account = Form::account(&unique("ada"), PASSWORD).encoded(encoding);
        anyone.post("/join/username", &account).expect(201);
        let token = anyone.post("/login/username", &account).expect(200).token();
        let ada = anyone.holding("", e2e::Carrier::Bearer, &token);

        // Without a photo the form is understood and found wanting.
        ada.post("/posts", Form::message("no photo").encoded(encoding)).refused_for(400, Some("photo"));
        ada.put("/me/photo", Form::message("no photo").encoded(encoding)).refused_for(400, Some("photo"));
        let path = format!("/posts/{}", ada.share_tiny("before"));
        for method in ["PUT", "PATCH"] {
            let text = format!("{method} as {encoding:?}");
            let form = Form::message(&text).text("alt", &text).encoded(encoding);
            let post = ada.request(method, &path).body(form).send().expect(200).json();
            assert_eq!((&post["message"], &post["photo"]["alt"]), (&text.clone().into(), &text.into()));
        }
        // A picture this small fits into either.
        let small = Form::photo(&picture::tiny()).text("alt", "small").encoded(encoding);
        assert_eq!(ada.post("/posts", &small).expect(201).json()["photo"]["alt"], "small");
        assert_eq!(ada.put("/me/photo", &small).expect(200).json()["photo"]["alt"], "small");
    }
}

#[test]
fn a_foreign_librarys_multipart_is_understood() {
    let service = Service::shared();
    let ada = service.newcomer("ada");
    let photo = reqwest::blocking::multipart::Part::bytes(picture::tiny()).file_name("tiny.png");
    let form = reqwest::blocking::multipart::Form::new().text("message", "größer\r\n").part("photo", photo);
    let request = browser().build().unwrap().post(format!("{}/posts", service.base()));
    let response = request.bearer_auth(ada.token()).multipart(form).send().unwrap();
    assert_eq!(response.status(), 201);
    let post: serde_json::Value = serde_json::from_slice(&response.bytes().unwrap()).unwrap();
    assert_eq!(post["message"], "größer\r\n");
}

#[test]
fn unknown_parameters_are_ignored_and_of_repeated_ones_the_first_counts() {
    let ada = Service::shared().newcomer("ada");
    let path = format!("/posts/{}", ada.share_tiny("before"));
    for encoding in Encoding::BOTH {
        let form = Form::new().text("colour", "red").text("message", "first").text("message", "second");
        let form = form.text("", "nameless").encoded(encoding);
        assert_eq!(ada.put(&path, form).expect(200).json()["message"], "first", "{encoding:?}");
    }
    let form = Form::new().file("portrait", b"no picture").file("photo", &picture::tiny());
    ada.post("/posts", form.text("colour", "red").file("photo", b"no picture")).expect(201);
}

#[test]
fn no_body_is_no_parameters() {
    let ada = Service::shared().newcomer("ada");
    let path = format!("/posts/{}", ada.share_tiny("unchanged"));
    for body in
        [Body::none(), Body::new("application/x-www-form-urlencoded", ""), Body::new("application/json", "")]
    {
        for method in ["PUT", "PATCH"] {
            let answer = ada.request(method, &path).body(body.clone()).send().expect(200);
            assert_eq!(answer.json()["message"], "unchanged", "{body:?}");
        }
        ada.post("/posts", body.clone()).refused_for(400, Some("photo"));
        ada.put("/me/photo", body.clone()).refused_for(400, Some("photo"));
        ada.post("/join/username", body.clone()).refused(400);
        ada.post("/login/username", body).refused(400);
    }
}

#[test]
fn the_content_type_is_read_as_http_writes_it() {
    let ada = Service::shared().newcomer("ada");
    let path = format!("/posts/{}", ada.share_tiny("before"));
    let part = |boundary: &str| {
        format!(
            "preamble\r\n--{boundary}\r\ncontent-disposition: form-data; name=message\r\n\r\na b+c\r\n--{boundary}--\r\nepilogue"
        )
    };
    for (kind, bytes) in [
        ("application/x-www-form-urlencoded; charset=UTF-8", "message=a+b%2Bc".to_owned()),
        ("APPLICATION/X-WWW-FORM-URLENCODED", "x&message=a%20b%2bc&&y=".to_owned()),
        ("multipart/form-data; boundary=simple", part("simple")),
        ("multipart/form-data; charset=utf-8; boundary=\"with space:?=\"", part("with space:?=")),
        (
            "Multipart/Form-Data;boundary=----WebKitFormBoundary7MA4YWxk",
            part("----WebKitFormBoundary7MA4YWxk"),
        ),
    ] {
        ada.put(&path, Form::message("between")).expect(200);
        let answer = ada.put(&path, Body::new(kind, bytes)).expect(200);
        assert_eq!(answer.json()["message"], "a b+c", "{kind}");
    }
}

#[test]
fn a_body_of_any_other_type_is_refused() {
    let ada = Service::shared().newcomer("ada");
    let path = format!("/posts/{}", ada.share_tiny("unchanged"));
    for kind in ["application/json", "text/plain", "image/png", "multipart/mixed; boundary=b", "nonsense"] {
        for (method, path) in [
            ("POST", "/join/username"),
            ("POST", "/login/username"),
            ("POST", "/posts"),
            ("PUT", "/me/photo"),
            ("PUT", &path),
            ("PATCH", &path),
        ] {
            let body = Body::new(kind, "{\"message\": \"x\"}");
            ada.request(method, path).body(body).send().refused_for(415, None);
        }
    }
    assert_eq!(ada.get(&path).expect(200).json()["message"], "unchanged");
}

#[test]
fn broken_multipart_is_refused() {
    let ada = Service::shared().newcomer("ada");
    let path = format!("/posts/{}", ada.share_tiny("unchanged"));
    let whole = "--b\r\nContent-Disposition: form-data; name=\"message\"\r\n\r\nx\r\n--b--\r\n";
    let many = |count| (0..count).fold(Form::new(), |form, n| form.text(&format!("p{n}"), "x"));
    let stuffed = |bytes| whole.replace("; name", &format!("; stuffing=\"{}\"; name", "x".repeat(bytes)));
    let multipart = |text: &str| Body::new("multipart/form-data; boundary=b", text);
    for (what, body, status) in [
        ("a whole one", multipart(whole), 200),
        ("64 parts", many(64).encoded(Encoding::Multipart).body(), 200),
        ("15 KiB of part headers", multipart(&stuffed(15 * 1024)), 200),
        ("65 parts", many(65).encoded(Encoding::Multipart).body(), 400),
        ("17 KiB of part headers", multipart(&stuffed(17 * 1024)), 400),
        ("no boundary", Body::new("multipart/form-data", whole), 400),
        ("an empty boundary", Body::new("multipart/form-data; boundary=", whole), 400),
        ("another boundary", Body::new("multipart/form-data; boundary=c", whole), 400),
        ("no final boundary", multipart(whole.trim_end_matches("--b--\r\n")), 400),
        ("no end of part headers", multipart(&whole.replace("\r\n\r\n", "\r\n")), 400),
        ("no multipart at all", multipart("message=x"), 400),
    ] {
        ada.put(&path, Form::message("unchanged")).expect(200);
        let answer = ada.put(&path, body);
        assert_eq!(answer.status, status, "{what}: {answer}");
        if status == 400 {
            answer.refused(400);
            assert_eq!(ada.get(&path).expect(200).json()["message"], "unchanged", "{what}");
        }
    }
}

#[test]
fn forms_without_a_picture_have_at_most_256_kib() {
    let ada = Service::shared().newcomer("ada");
    let path = format!("/posts/{}", ada.share_tiny("before"));
    let account = Form::account(ada.username(), PASSWORD);
    let message = Form::message("x");
    for encoding in Encoding::BOTH {
        for (size, fits) in [(LARGEST, true), (LARGEST + 1, false)] {
            for (method, path, form) in
                [("POST", "/login/username", &account), ("PUT", &path, &message), ("PATCH", &path, &message)]
            {
                let body = form.clone().text("padding", "PADDING").encoded(encoding).body();
                let text = String::from_utf8(body.bytes).unwrap();
                let padding = "p".repeat(size + "PADDING".len() - text.len());
                let body = Body { bytes: text.replace("PADDING", &padding).into(), ..body };
                let answer = ada.request(method, path).body(body).send();
                if fits {
                    answer.expect(200)
                } else {
                    answer.refused_for(413, None)
                };
            }
        }
    }
}

#[test]
fn what_follows_the_last_boundary_counts_too() {
    let ada = Service::shared().newcomer("ada");
    let path = format!("/posts/{}", ada.share_tiny("before"));
    for (size, fits) in [(LARGEST, true), (LARGEST + 1, false), (20 * LARGEST, false)] {
        let mut body = Form::message("after").encoded(Encoding::Multipart).body();
        body.bytes.resize(size, b'\n');
        let answer = ada.put(&path, body);
        if fits {
            answer.expect(200)
        } else {
            answer.refused_for(413, None)
        };
    }
}
