//! The error object of every layer, HEAD, equivalent request targets, and request ids.

use std::time::Duration;

use e2e::{Body, FormData, PASSWORD, RawConnection, Service, eventually, picture};

#[test]
fn every_error_has_the_error_object_and_its_code() {
    let service = Service::shared();
    let (ada, bob, anonymous) = (service.new_user("ada"), service.new_user("bob"), service.anonymous());
    let path = format!("/posts/{}", ada.share_tiny("own"));
    let likes = format!("{path}/likes");
    let oversized = FormData::account(&"x".repeat(300 * 1024), PASSWORD);
    let json = Body::new("application/json", "{}");

    // `expect_error` checks the object, its two users, the code and the request id.
    for (code, response) in [
        ("not_found", anonymous.get("/nowhere").expect_error(404)),
        ("not_found", anonymous.get("/posts/0").expect_error(404)),
        ("not_found", anonymous.get("/users/no.such.user").expect_error(404)),
        ("method_not_allowed", anonymous.delete("/feed").expect_error(405)),
        ("unauthorized", anonymous.get("/me").expect_error(401)),
        ("forbidden", bob.delete(&path).expect_error(403)),
        ("invalid_parameter", anonymous.get("/feed?limit=0").expect_error(400)),
        ("invalid_parameter", ada.put("/me/photo", Body::none()).expect_error(400)),
        ("invalid_parameter", anonymous.post("/login/username", Body::none()).expect_error(400)),
        ("conflict", bob.delete(&likes).expect_error(409)),
        (
            "conflict",
            anonymous.post("/join/username", FormData::account(ada.username(), PASSWORD)).expect_error(409),
        ),
        ("unsupported_media_type", anonymous.post("/login/username", json).expect_error(415)),
        ("payload_too_large", anonymous.post("/login/username", oversized).expect_error(413)),
    ] {
        assert_eq!(response.header("x-error-code"), Some(code), "{response}");
    }
}

#[test]
fn a_refusal_says_why_and_with_which_limit() {
    let service = Service::start(&["--max-upload", "1MiB", "--max-megapixels", "1"]);
    let (ada, bob, owner) =
        (service.new_user("ada"), service.new_user("bob"), service.new_user_with_role("owner"));
    let post = format!("/posts/{}", ada.share_tiny("own"));
    let likes = format!("{post}/likes");
    let upload = |photo: &[u8]| ada.post("/posts", FormData::photo(photo));
    let edit = |form: FormData| ada.request("PATCH", "/me").body(form).send();
    let join = |name: &str, password: &str| {
        service.anonymous().post("/join/username", FormData::account(name, password))
    };
    let set = |key: &str, value: &str| {
        let form = FormData::new().text(key, value).text("current_password", PASSWORD);
        owner.request("PATCH", "/admin/instance").body(form).send()
    };
    let photo = picture::photograph(400, 400);
    bob.post(&likes, Body::none()).expect(201);
    for (reason, response) in [
        ("missing", upload(b"")),
        ("unsupported_image", upload(b"just a text")),
        ("image_damaged", upload(&photo[..photo.len() / 4])),
        ("side_too_long;limit=65535", upload(&picture::png(&picture::plain(65_536, 1, [0; 3])))),
        ("too_many_pixels;limit=1000000", upload(&picture::png(&picture::plain(1001, 1000, [0; 3])))),
        ("file_too_large;limit=1048576", upload(&vec![0; 1 << 21])),
        ("too_long;limit=5000", ada.put(&post, FormData::message(&"x".repeat(5_001)))),
        ("too_long;limit=500", edit(FormData::new().text("bio", "x".repeat(501)))),
        ("blank", edit(FormData::new().text("display_name", "  "))),
        ("control_characters", edit(FormData::new().text("display_name", "two\nlines"))),
        ("not_a_link", edit(FormData::new().text("link", "javascript:alert(1)"))),
        ("missing", service.anonymous().post("/join/username", FormData::new())),
        ("username_invalid", join("no spaces", PASSWORD)),
        ("username_invalid", join("..", PASSWORD)),
        ("username_reserved", join("operator", PASSWORD)),
        ("username_taken", join(ada.username(), PASSWORD)),
        ("password_too_short;limit=8", join("carol", "short")),
        ("password_too_long;limit=256", join("carol", &"x".repeat(257))),
        ("password_common", join("carol", "password1")),
        ("password_is_username", join("carol-carol", "Carol-Carol")),
        ("not_your_post", bob.delete(&post)),
        ("liked_already", bob.post(&likes, Body::none())),
        ("not_liked", ada.delete(&likes)),
        ("yourself", ada.put(&format!("/me/blocks/{}", ada.username()), Body::none())),
        ("moderators_only", ada.get("/admin/users")),
        ("owners_only", ada.put("/admin/instance/logo", FormData::new())),
        ("invitations_off", ada.post("/invitations", Body::none())),
        (
            "last_owner",
            owner.request("DELETE", "/me").body(FormData::new().text("password", PASSWORD)).send(),
        ),
        ("not_an_archive", ada.post("/me/import", FormData::new().file("archive", b"no zip"))),
        ("not_a_colour", set("accent", "red")),
        ("too_long;limit=60", set("name", &"x".repeat(61))),
        ("out_of_range;limit=10000", set("member_posts_per_day", "0")),
    ] {
        let status = response.status;
        assert_eq!(response.expect_error(status).header("x-error-reason"), Some(reason));
    }
    set("registration", "invitation").expect(200);
    let uninvited = join("carol", PASSWORD).expect_error(403);
    assert_eq!(uninvited.header("x-error-reason"), None, "the code says it: {uninvited}");
    set("member_bytes", "1").expect(200);
    let full = upload(&picture::tiny()).expect_error(507);
    assert_eq!(full.header("x-error-reason"), Some("storage;limit=1"), "{full}");
}

#[test]
fn a_405_lists_the_allowed_methods() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    let post = ada.share(&picture::tiny(), "");
    let id = &post["id"];
    let photo = post["photo"]["id"].as_str().unwrap();
    for (path, wrong, allowed) in [
        ("/join/username".to_owned(), "GET", vec!["POST"]),
        ("/login/username".into(), "PUT", vec!["POST"]),
        ("/logout".into(), "GET", vec!["POST"]),
        ("/me".into(), "POST", vec!["DELETE", "GET", "HEAD", "PATCH"]),
        ("/me/password".into(), "GET", vec!["PUT"]),
        ("/me/sessions".into(), "POST", vec!["DELETE", "GET", "HEAD"]),
        ("/me/sessions/0123456789abcdef".into(), "GET", vec!["DELETE"]),
        ("/me/recovery-codes".into(), "PUT", vec!["GET", "HEAD", "POST"]),
        ("/me/export".into(), "DELETE", vec!["GET", "HEAD", "POST"]),
        ("/me/import".into(), "PUT", vec!["DELETE", "GET", "HEAD", "POST"]),
        ("/recover".into(), "GET", vec!["POST"]),
        ("/me/photo".into(), "GET", vec!["DELETE", "PUT"]),
        (format!("/users/{}", ada.username()), "PUT", vec!["GET", "HEAD"]),
        (format!("/users/{}/posts", ada.username()), "POST", vec!["GET", "HEAD"]),
        ("/tags/sunset/posts".into(), "POST", vec!["GET", "HEAD"]),
        ("/feed".into(), "DELETE", vec!["GET", "HEAD"]),
        ("/posts".into(), "GET", vec!["OPTIONS", "POST"]),
        (format!("/posts/{id}"), "POST", vec!["DELETE", "GET", "HEAD", "PATCH", "PUT"]),
        (format!("/uploads/{photo}"), "POST", vec!["DELETE", "GET", "HEAD", "PATCH"]),
        (format!("/posts/{id}/likes"), "PUT", vec!["DELETE", "GET", "HEAD", "POST"]),
        ("/me/likes".into(), "POST", vec!["GET", "HEAD"]),
        (format!("/photos/{photo}/8x8"), "DELETE", vec!["GET", "HEAD"]),
        (format!("/photos/{photo}/fit/8"), "DELETE", vec!["GET", "HEAD"]),
        (format!("/photos/{photo}/original"), "DELETE", vec!["GET", "HEAD"]),
        ("/me/account".into(), "POST", vec!["GET", "HEAD"]),
        ("/me/blocks".into(), "POST", vec!["GET", "HEAD"]),
        (format!("/me/blocks/{}", ada.username()), "GET", vec!["DELETE", "PUT"]),
        (format!("/me/hidden-posts/{id}"), "GET", vec!["DELETE", "PUT"]),
        (format!("/posts/{id}/reports"), "GET", vec!["POST"]),
        ("/instance".into(), "PATCH", vec!["GET", "HEAD"]),
        ("/instance/logo".into(), "PUT", vec!["GET", "HEAD"]),
        ("/admin/instance/logo".into(), "GET", vec!["DELETE", "PUT"]),
        ("/invitations".into(), "PUT", vec!["GET", "HEAD", "POST"]),
        ("/admin/audit".into(), "DELETE", vec!["GET", "HEAD"]),
        (format!("/admin/posts/{id}"), "GET", vec!["DELETE"]),
        ("/livez".into(), "POST", vec!["GET", "HEAD"]),
        ("/readyz".into(), "POST", vec!["GET", "HEAD"]),
        ("/openapi.json".into(), "POST", vec!["GET", "HEAD"]),
    ] {
        for client in [&ada, &service.anonymous()] {
            let response = client.request(wrong, &path).send().expect_error_for(405, None);
            let header = response.header("allow").unwrap_or_else(|| panic!("no Allow: {response}"));
            let mut listed: Vec<&str> = header.split(',').map(str::trim).collect();
            listed.sort_unstable();
            assert_eq!(listed, allowed, "{wrong} {path}");
        }
    }
}

#[test]
fn unknown_paths_return_404_for_every_method() {
    let ada = Service::shared().new_user("ada");
    for path in [
        "/nowhere",
        "/posts/1/comments",
        "/join/email",
        "/login/email",
        "/photos",
        "/photos/x",
        "/feed/2",
        "/v2/feed",
        "/users",
        "/users/",
        "/users/ada/likes",
        "/me/photo/8x8",
    ] {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            ada.request(method, path).send().expect_error_for(404, None);
        }
    }
}

#[test]
fn head_returns_the_headers_of_get_without_a_body() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    let post = ada.share(&picture::tiny(), "");
    let id = &post["id"];
    let photo = post["photo"]["id"].as_str().unwrap();
    for (path, status) in [
        (format!("/posts/{id}"), 200),
        (format!("/photos/{photo}/8x8"), 200),
        (format!("/photos/{photo}/8x9"), 400),
        (format!("/photos/{photo}/fit/8"), 200),
        (format!("/photos/{photo}/fit/8x8"), 400),
        ("/me".into(), 200),
        (format!("/users/{}", ada.username()), 200),
        (format!("/users/{}/posts", ada.username()), 200),
        ("/tags/sunset/posts".into(), 200),
        ("/tags/2026/posts".into(), 400),
        ("/users/no.such.user".into(), 404),
        ("/livez".into(), 200),
        ("/readyz".into(), 200),
        ("/openapi.json".into(), 200),
        ("/feed?limit=0".into(), 400),
        ("/posts/0".into(), 404),
        ("/nowhere".into(), 404),
        ("/posts".into(), 405),
    ] {
        // The same request id for both, since an error message may contain it.
        let rest = format!(
            "{path} HTTP/1.1\r\nHost: e2e\r\nConnection: close\r\nX-Request-Id: {}\r\nAuthorization: Bearer {}",
            uuid(),
            ada.token()
        );
        let get = RawConnection::exchange(service, &format!("GET {rest}"), b"");
        let mut connection = RawConnection::connect(service);
        connection.send(format!("HEAD {rest}\r\n\r\n")).unwrap();
        let head = connection.receive(true).unwrap();
        assert_eq!((get.status, head.status), (status, status), "{path}");
        assert_eq!(stable_headers(&head), stable_headers(&get), "{path}");
        assert_eq!(head.header("content-length"), Some(get.body.len().to_string().as_str()), "{path}");
        assert_eq!(connection.read_to_end(), b"", "{path} sent a body");
    }
    // Other tests post meanwhile, so the length of the feed cannot be compared.
    let mut connection = RawConnection::connect(service);
    connection.send("HEAD /feed HTTP/1.1\r\nHost: e2e\r\nConnection: close\r\n\r\n").unwrap();
    let head = connection.receive(true).unwrap();
    assert_eq!((head.status, head.header("content-type")), (200, Some("application/json")));
    assert!(head.header("content-length").is_some_and(|length| length != "0"));
    assert_eq!(connection.read_to_end(), b"");
}

#[test]
fn equivalent_request_targets_get_the_same_response() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    let post = ada.share(&picture::tiny(), "written");
    let (id, photo) = (post["id"].to_string(), post["photo"]["id"].as_str().unwrap());
    ada.post(&format!("/posts/{id}/likes"), Body::none()).expect(201);
    let escaped = |text: &str| text.bytes().map(|b| format!("%{b:02x}")).collect::<String>();
    let request_id = uuid();
    let get = |target: &str, more: &str, body: &[u8]| {
        let token = ada.token();
        let head =
            format!("GET {target} HTTP/1.1\r\nHost: e2e\r\nConnection: close\r\nX-Request-Id: {request_id}");
        let response =
            RawConnection::exchange(service, &format!("{head}\r\nAuthorization: Bearer {token}{more}"), body);
        (response.status, stable_headers(&response), response.body)
    };
    for (path, other, more, status) in [
        (format!("/posts/{id}"), format!("/posts/{}", escaped(&id)), "", 200),
        (format!("/photos/{photo}/8x8"), format!("/photos/{}/%38x8", escaped(photo)), "", 200),
        (format!("/photos/{photo}/8x8"), format!("/photos/{photo}/8%788"), "\r\nIf-None-Match: *", 304),
        (format!("/photos/{photo}/8x9"), format!("/photos/{photo}/8%789"), "", 400),
        (format!("/photos/{photo}/fit/8"), format!("/photos/{photo}/fit/%38"), "", 200),
        (format!("/photos/{photo}/fit/8"), format!("/photos/{photo}/fit/%38"), "\r\nIf-None-Match: *", 304),
        ("/posts/x".into(), "/posts/%78".into(), "", 404),
        ("/posts/99999999999".into(), "/posts/9999999999%39".into(), "", 404),
    ] {
        let plain = get(&path, more, b"");
        assert_eq!(plain.0, status, "{path}");
        assert_eq!(get(&other, more, b""), plain, "{other}");
        assert_eq!(get(&format!("http://e2e{path}"), more, b""), plain, "{path} in absolute form");
        assert_eq!(get(&path, &format!("{more}\r\nContent-Length: 4"), b"body"), plain, "{path} with a body");
    }
    for nowhere in
        ["/feed/", "/posts/", &format!("/posts/{id}/"), "/photos", &format!("/photos/{photo}/8x8/")]
    {
        assert_eq!(get(nowhere, "", b"").0, 404, "{nowhere}");
    }
}

#[test]
fn equivalent_request_targets_of_likes_get_the_same_response() {
    let service = Service::shared();
    let id = service.new_user("ada").share_tiny("liked by equivalent targets").to_string();
    let missing = "99999999999".to_owned();
    let escaped = |text: &str| text.bytes().map(|b| format!("%{b:02x}")).collect::<String>();
    let request_id = uuid();
    type Target<'a> = &'a dyn Fn(&str) -> String;
    let targets: [(Target, &[u8]); 4] = [
        (&|id| format!("/posts/{id}/likes"), b""),
        (&|id| format!("/posts/{}/likes", escaped(id)), b""),
        (&|id| format!("http://e2e/posts/{id}/likes"), b""),
        (&|id| format!("/posts/{id}/likes"), b"a body"),
    ];
    // One user per form of the target, and all do the same.
    let users: Vec<_> = targets.iter().map(|_| service.new_user("bob").token().to_owned()).collect();
    for (method, id, is_signed_in, status) in [
        ("DELETE", &id, true, 409),
        ("POST", &id, true, 201),
        ("POST", &id, true, 409),
        ("DELETE", &id, true, 200),
        ("POST", &missing, true, 404),
        ("DELETE", &missing, true, 404),
        ("POST", &id, false, 401),
        ("DELETE", &id, false, 401),
    ] {
        let responses = targets.iter().zip(&users).map(|((target, body), token)| {
            let token = if is_signed_in { token } else { "invalid" };
            let head = format!(
                "{method} {} HTTP/1.1\r\nHost: e2e\r\nConnection: close\r\nX-Request-Id: {request_id}\r\n\
                 Authorization: Bearer {token}\r\nContent-Length: {}",
                target(id),
                body.len()
            );
            let response = RawConnection::exchange(service, &head, body);
            (response.status, stable_headers(&response), response.body)
        });
        let responses: Vec<_> = responses.collect();
        assert_eq!(responses[0].0, status, "{method} {id}");
        assert!(responses.iter().all(|response| *response == responses[0]), "{method} {id}: {responses:#?}");
    }
}

#[test]
fn a_client_that_shuts_down_its_sending_half_still_gets_a_response() {
    let service = Service::shared();
    let mut connection = RawConnection::connect(service);
    // A password hash takes a while, so the service sees EOF long before the response is ready.
    let form = "username=no.such.user&password=correct+horse+battery";
    let head =
        "POST /login/username HTTP/1.1\r\nHost: e2e\r\nContent-Type: application/x-www-form-urlencoded";
    connection.send(format!("{head}\r\nContent-Length: {}\r\n\r\n{form}", form.len())).unwrap();
    connection.shutdown_write();
    assert_eq!(connection.receive(false).map(|response| response.status), Some(400));
}

/// The headers of a response without `Date`.
fn stable_headers(response: &e2e::RawResponse) -> Vec<(String, String)> {
    let mut headers = response.headers.clone();
    headers.retain(|(name, _)| name != "date");
    headers.sort();
    headers
}

#[test]
fn every_response_has_the_clients_request_id_or_a_new_one() {
    let anonymous = Service::shared().anonymous();
    let returned_id = |id: &[u8]| {
        let response = anonymous.request("GET", "/livez").header("X-Request-Id", id).send().expect(200);
        response.headers["x-request-id"].as_bytes().to_vec()
    };
    let own = uuid();
    assert_eq!(returned_id(own.as_bytes()), own.as_bytes(), "a well-formed id is returned unchanged");

    let too_long = "x".repeat(4_000);
    for broken in ["", "two words", "<script>", "a\"b", "{\"a\":1}", "tab\tbed", "ümlaut", &too_long] {
        let generated = returned_id(broken.as_bytes());
        assert!(generated != broken.as_bytes() && !generated.is_empty(), "{broken} was returned unchanged");
    }
    let made: Vec<_> =
        (0..3).map(|_| anonymous.get("/livez").expect(200).headers["x-request-id"].clone()).collect();
    assert!(made[0] != made[1] && made[1] != made[2] && made[0] != made[2], "{made:?}");
    for response in [anonymous.get("/nowhere"), anonymous.get("/me"), anonymous.delete("/feed")] {
        assert!(response.headers.contains_key("x-request-id"), "{response}");
    }
}

#[test]
fn the_log_has_request_ids_and_no_secrets() {
    let service = Service::start(&[]);
    let ada = service.new_user("ada");
    let path = format!("/posts/{}", ada.share_tiny("logged"));
    let (accepted, rejected) = (uuid(), uuid());
    ada.request("PUT", &path).header("X-Request-Id", &accepted).send().expect(200);
    service.anonymous().request("GET", "/me").header("X-Request-Id", &rejected).send().expect_error(401);
    for id in [accepted, rejected] {
        eventually("the request is logged with its id", Duration::from_secs(10), || {
            service.log().iter().any(|line| line.contains(&id)).then_some(())
        });
    }
    for line in service.log() {
        assert!(!line.contains(ada.token()) && !line.contains(PASSWORD), "a secret in the log: {line}");
    }
}

fn uuid() -> String {
    uuid::Uuid::new_v4().to_string()
}
