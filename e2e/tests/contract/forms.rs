//! Form parsing in both encodings, on every endpoint that takes a form.

use e2e::{Body, Encoding, FormData, PASSWORD, Service, client_builder, picture, unique};

const MAX_FORM: usize = 256 * 1024;

#[test]
fn every_endpoint_accepts_both_encodings() {
    let anonymous = Service::shared().anonymous();
    for encoding in Encoding::BOTH {
        let account = FormData::account(&unique("ada"), PASSWORD).encoded(encoding);
        anonymous.post("/join/username", &account).expect(201);
        let token = anonymous.post("/login/username", &account).expect(200).token();
        let ada = anonymous.with_session("", e2e::AuthMethod::Bearer, &token);

        // A form without a photo is parsed, and rejected for the missing field.
        ada.post("/posts", FormData::message("no photo").encoded(encoding))
            .expect_error_for(400, Some("photo"));
        ada.put("/me/photo", FormData::message("no photo").encoded(encoding))
            .expect_error_for(400, Some("photo"));
        let path = format!("/posts/{}", ada.share_tiny("before"));
        for method in ["PUT", "PATCH"] {
            let text = format!("{method} as {encoding:?}");
            let form = FormData::message(&text).text("alt", &text).encoded(encoding);
            let post = ada.request(method, &path).body(form).send().expect(200).json();
            assert_eq!((&post["message"], &post["photo"]["alt"]), (&text.clone().into(), &text.into()));
        }
        // A picture this small is accepted in either encoding.
        let small = FormData::photo(&picture::tiny()).text("alt", "small").encoded(encoding);
        assert_eq!(ada.post("/posts", &small).expect(201).json()["photo"]["alt"], "small");
        assert_eq!(ada.put("/me/photo", &small).expect(200).json()["photo"]["alt"], "small");
    }
}

#[test]
fn multipart_written_by_reqwest_is_parsed() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    let photo = reqwest::blocking::multipart::Part::bytes(picture::tiny()).file_name("tiny.png");
    let form = reqwest::blocking::multipart::Form::new().text("message", "größer\r\n").part("photo", photo);
    let request = client_builder().build().unwrap().post(format!("{}/posts", service.base()));
    let response = request.bearer_auth(ada.token()).multipart(form).send().unwrap();
    assert_eq!(response.status(), 201);
    let post: serde_json::Value = serde_json::from_slice(&response.bytes().unwrap()).unwrap();
    assert_eq!(post["message"], "größer\r\n");
}

#[test]
fn unknown_parameters_are_ignored_and_the_first_of_repeated_ones_counts() {
    let ada = Service::shared().new_user("ada");
    let path = format!("/posts/{}", ada.share_tiny("before"));
    for encoding in Encoding::BOTH {
        let form = FormData::new().text("colour", "red").text("message", "first").text("message", "second");
        let form = form.text("", "nameless").encoded(encoding);
        assert_eq!(ada.put(&path, form).expect(200).json()["message"], "first", "{encoding:?}");
    }
    let form = FormData::new().file("avatar", b"no picture").file("photo", &picture::tiny());
    ada.post("/posts", form.text("colour", "red").file("photo", b"no picture")).expect(201);
}

#[test]
fn an_empty_body_is_a_form_without_parameters() {
    let ada = Service::shared().new_user("ada");
    let path = format!("/posts/{}", ada.share_tiny("unchanged"));
    for body in
        [Body::none(), Body::new("application/x-www-form-urlencoded", ""), Body::new("application/json", "")]
    {
        for method in ["PUT", "PATCH"] {
            let response = ada.request(method, &path).body(body.clone()).send().expect(200);
            assert_eq!(response.json()["message"], "unchanged", "{body:?}");
        }
        ada.post("/posts", body.clone()).expect_error_for(400, Some("photo"));
        ada.put("/me/photo", body.clone()).expect_error_for(400, Some("photo"));
        ada.post("/join/username", body.clone()).expect_error(400);
        ada.post("/login/username", body).expect_error(400);
    }
}

#[test]
fn content_type_parameters_and_case_are_parsed() {
    let ada = Service::shared().new_user("ada");
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
        ada.put(&path, FormData::message("between")).expect(200);
        let response = ada.put(&path, Body::new(kind, bytes)).expect(200);
        assert_eq!(response.json()["message"], "a b+c", "{kind}");
    }
}

#[test]
fn other_content_types_return_415() {
    let ada = Service::shared().new_user("ada");
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
            ada.request(method, path).body(body).send().expect_error_for(415, None);
        }
    }
    assert_eq!(ada.get(&path).expect(200).json()["message"], "unchanged");
}

#[test]
fn malformed_multipart_is_rejected() {
    let ada = Service::shared().new_user("ada");
    let path = format!("/posts/{}", ada.share_tiny("unchanged"));
    let valid = "--b\r\nContent-Disposition: form-data; name=\"message\"\r\n\r\nx\r\n--b--\r\n";
    let many = |count| (0..count).fold(FormData::new(), |form, n| form.text(&format!("p{n}"), "x"));
    let padded = |bytes| valid.replace("; name", &format!("; padding=\"{}\"; name", "x".repeat(bytes)));
    let multipart = |text: &str| Body::new("multipart/form-data; boundary=b", text);
    for (what, body, status) in [
        ("a valid one", multipart(valid), 200),
        ("64 parts", many(64).encoded(Encoding::Multipart).body(), 200),
        ("15 KiB of part headers", multipart(&padded(15 * 1024)), 200),
        ("65 parts", many(65).encoded(Encoding::Multipart).body(), 400),
        ("17 KiB of part headers", multipart(&padded(17 * 1024)), 400),
        ("no boundary", Body::new("multipart/form-data", valid), 400),
        ("an empty boundary", Body::new("multipart/form-data; boundary=", valid), 400),
        ("another boundary", Body::new("multipart/form-data; boundary=c", valid), 400),
        ("no final boundary", multipart(valid.trim_end_matches("--b--\r\n")), 400),
        ("no end of part headers", multipart(&valid.replace("\r\n\r\n", "\r\n")), 400),
        ("no multipart at all", multipart("message=x"), 400),
    ] {
        ada.put(&path, FormData::message("unchanged")).expect(200);
        let response = ada.put(&path, body);
        assert_eq!(response.status, status, "{what}: {response}");
        if status == 400 {
            response.expect_error(400);
            assert_eq!(ada.get(&path).expect(200).json()["message"], "unchanged", "{what}");
        }
    }
}

#[test]
fn forms_without_a_photo_have_at_most_256_kib() {
    let ada = Service::shared().new_user("ada");
    let path = format!("/posts/{}", ada.share_tiny("before"));
    let account = FormData::account(ada.username(), PASSWORD);
    let message = FormData::message("x");
    for encoding in Encoding::BOTH {
        for (size, fits) in [(MAX_FORM, true), (MAX_FORM + 1, false)] {
            for (method, path, form) in
                [("POST", "/login/username", &account), ("PUT", &path, &message), ("PATCH", &path, &message)]
            {
                let body = form.clone().text("padding", "PADDING").encoded(encoding).body();
                let text = String::from_utf8(body.bytes).unwrap();
                let padding = "p".repeat(size + "PADDING".len() - text.len());
                let body = Body { bytes: text.replace("PADDING", &padding).into(), ..body };
                let response = ada.request(method, path).body(body).send();
                if fits {
                    response.expect(200)
                } else {
                    response.expect_error_for(413, None)
                };
            }
        }
    }
}

#[test]
fn the_epilogue_counts_against_the_size_limit() {
    let ada = Service::shared().new_user("ada");
    let path = format!("/posts/{}", ada.share_tiny("before"));
    for (size, fits) in [(MAX_FORM, true), (MAX_FORM + 1, false), (20 * MAX_FORM, false)] {
        let mut body = FormData::message("after").encoded(Encoding::Multipart).body();
        body.bytes.resize(size, b'\n');
        let response = ada.put(&path, body);
        if fits {
            response.expect(200)
        } else {
            response.expect_error_for(413, None)
        };
    }
}
