//! What an error looks like, whichever layer makes it; HEAD; and the id every request has.

use std::time::Duration;

use e2e::{Body, Form, PASSWORD, Service, Wire, eventually, picture};

#[test]
fn every_error_is_the_same_object_with_its_code() {
    let service = Service::shared();
    let (ada, bob, anyone) = (service.newcomer("ada"), service.newcomer("bob"), service.anyone());
    let path = format!("/posts/{}", ada.share_tiny("mine"));
    let likes = format!("{path}/likes");
    let oversized = Form::account(&"x".repeat(300 * 1024), PASSWORD);
    let json = Body::new("application/json", "{}");

    // `refused` looks at the object, its two members, the code and the request id.
    for (code, answer) in [
        ("not_found", anyone.get("/nowhere").refused(404)),
        ("not_found", anyone.get("/posts/0").refused(404)),
        ("not_found", anyone.get("/users/nobody.here").refused(404)),
        ("method_not_allowed", anyone.delete("/feed").refused(405)),
        ("unauthorized", anyone.get("/me").refused(401)),
        ("forbidden", bob.delete(&path).refused(403)),
        ("invalid_parameter", anyone.get("/feed?limit=0").refused(400)),
        ("invalid_parameter", ada.put("/me/photo", Body::none()).refused(400)),
        ("invalid_parameter", anyone.post("/login/username", Body::none()).refused(400)),
        ("conflict", bob.delete(&likes).refused(409)),
        ("conflict", anyone.post("/join/username", Form::account(ada.username(), PASSWORD)).refused(409)),
        ("unsupported_media_type", anyone.post("/login/username", json).refused(415)),
        ("payload_too_large", anyone.post("/login/username", oversized).refused(413)),
    ] {
        assert_eq!(answer.header("x-error-code"), Some(code), "{answer}");
    }
}

#[test]
fn a_wrong_method_is_told_the_right_ones() {
    let service = Service::shared();
    let ada = service.newcomer("ada");
    let post = ada.share(&picture::tiny(), "");
    let id = &post["id"];
    let photo = post["photo"]["id"].as_str().unwrap();
    for (path, wrong, allowed) in [
        ("/join/username".to_owned(), "GET", vec!["POST"]),
        ("/login/username".into(), "PUT", vec!["POST"]),
        ("/logout".into(), "GET", vec!["POST"]),
        ("/me".into(), "POST", vec!["GET", "HEAD"]),
        ("/me/photo".into(), "GET", vec!["DELETE", "PUT"]),
        (format!("/users/{}", ada.username()), "PUT", vec!["GET", "HEAD"]),
        (format!("/users/{}/posts", ada.username()), "POST", vec!["GET", "HEAD"]),
        ("/feed".into(), "DELETE", vec!["GET", "HEAD"]),
        ("/posts".into(), "GET", vec!["POST"]),
        (format!("/posts/{id}"), "POST", vec!["DELETE", "GET", "HEAD", "PATCH", "PUT"]),
        (format!("/posts/{id}/likes"), "GET", vec!["DELETE", "POST"]),
        (format!("/photos/{photo}/8x8"), "DELETE", vec!["GET", "HEAD"]),
        ("/livez".into(), "POST", vec!["GET", "HEAD"]),
        ("/readyz".into(), "POST", vec!["GET", "HEAD"]),
        ("/openapi.json".into(), "POST", vec!["GET", "HEAD"]),
    ] {
        for person in [&ada, &service.anyone()] {
            let answer = person.request(wrong, &path).send().refused_for(405, None);
            let header = answer.header("allow").unwrap_or_else(|| panic!("no Allow: {answer}"));
            let mut told: Vec<&str> = header.split(',').map(str::trim).collect();
            told.sort_unstable();
            assert_eq!(told, allowed, "{wrong} {path}");
        }
    }
}

#[test]
fn unknown_paths_are_not_found_whatever_the_method() {
    let ada = Service::shared().newcomer("ada");
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
            ada.request(method, path).send().refused_for(404, None);
        }
    }
}

#[test]
fn head_answers_as_get_does_without_the_body() {
    let service = Service::shared();
    let ada = service.newcomer("ada");
    let post = ada.share(&picture::tiny(), "");
    let id = &post["id"];
    let photo = post["photo"]["id"].as_str().unwrap();
    for (path, status) in [
        (format!("/posts/{id}"), 200),
        (format!("/photos/{photo}/8x8"), 200),
        (format!("/photos/{photo}/8x9"), 400),
        ("/me".into(), 200),
        (format!("/users/{}", ada.username()), 200),
        (format!("/users/{}/posts", ada.username()), 200),
        ("/users/nobody.here".into(), 404),
        ("/livez".into(), 200),
        ("/readyz".into(), 200),
        ("/openapi.json".into(), 200),
        ("/feed?limit=0".into(), 400),
        ("/posts/0".into(), 404),
        ("/nowhere".into(), 404),
        ("/posts".into(), 405),
    ] {
        // The same id for both, since it may stand in the words of an error.
        let rest = format!(
            "{path} HTTP/1.1\r\nHost: e2e\r\nConnection: close\r\nX-Request-Id: {}\r\nAuthorization: Bearer {}",
            uuid(),
            ada.token()
        );
        let get = Wire::ask(service, &format!("GET {rest}"), b"");
        let mut wire = Wire::connect(service);
        wire.send(format!("HEAD {rest}\r\n\r\n")).unwrap();
        let head = wire.receive(true).unwrap();
        assert_eq!((get.status, head.status), (status, status), "{path}");
        assert_eq!(telling(&head), telling(&get), "{path}");
        assert_eq!(head.header("content-length"), Some(get.body.len().to_string().as_str()), "{path}");
        assert_eq!(wire.rest(), b"", "{path} sent a body");
    }
    // The feed moves while others post, so its length may not be compared.
    let mut wire = Wire::connect(service);
    wire.send("HEAD /feed HTTP/1.1\r\nHost: e2e\r\nConnection: close\r\n\r\n").unwrap();
    let head = wire.receive(true).unwrap();
    assert_eq!((head.status, head.header("content-type")), (200, Some("application/json")));
    assert!(head.header("content-length").is_some_and(|length| length != "0"));
    assert_eq!(wire.rest(), b"");
}

#[test]
fn an_answer_does_not_depend_on_how_the_request_is_written() {
    let service = Service::shared();
    let ada = service.newcomer("ada");
    let post = ada.share(&picture::tiny(), "written");
    let (id, photo) = (post["id"].to_string(), post["photo"]["id"].as_str().unwrap());
    ada.post(&format!("/posts/{id}/likes"), Body::none()).expect(201);
    let escaped = |text: &str| text.bytes().map(|b| format!("%{b:02x}")).collect::<String>();
    let request_id = uuid();
    let ask = |target: &str, more: &str, body: &[u8]| {
        let token = ada.token();
        let head =
            format!("GET {target} HTTP/1.1\r\nHost: e2e\r\nConnection: close\r\nX-Request-Id: {request_id}");
        let reply = Wire::ask(service, &format!("{head}\r\nAuthorization: Bearer {token}{more}"), body);
        (reply.status, telling(&reply), reply.body)
    };
    for (path, other, more, status) in [
        (format!("/posts/{id}"), format!("/posts/{}", escaped(&id)), "", 200),
        (format!("/photos/{photo}/8x8"), format!("/photos/{}/%38x8", escaped(photo)), "", 200),
        (format!("/photos/{photo}/8x8"), format!("/photos/{photo}/8%788"), "\r\nIf-None-Match: *", 304),
        (format!("/photos/{photo}/8x9"), format!("/photos/{photo}/8%789"), "", 400),
        ("/posts/x".into(), "/posts/%78".into(), "", 404),
        ("/posts/99999999999".into(), "/posts/9999999999%39".into(), "", 404),
    ] {
        let plain = ask(&path, more, b"");
        assert_eq!(plain.0, status, "{path}");
        assert_eq!(ask(&other, more, b""), plain, "{other}");
        assert_eq!(ask(&format!("http://e2e{path}"), more, b""), plain, "{path} in absolute form");
        assert_eq!(ask(&path, &format!("{more}\r\nContent-Length: 4"), b"body"), plain, "{path} with a body");
    }
    for nowhere in
        ["/feed/", "/posts/", &format!("/posts/{id}/"), "/photos", &format!("/photos/{photo}/8x8/")]
    {
        assert_eq!(ask(nowhere, "", b"").0, 404, "{nowhere}");
    }
}

#[test]
fn nor_does_a_like() {
    let service = Service::shared();
    let id = service.newcomer("ada").share_tiny("liked in many ways").to_string();
    let missing = "99999999999".to_owned();
    let escaped = |text: &str| text.bytes().map(|b| format!("%{b:02x}")).collect::<String>();
    let request_id = uuid();
    type Way<'a> = &'a dyn Fn(&str) -> String;
    let ways: [(Way, &[u8]); 4] = [
        (&|id| format!("/posts/{id}/likes"), b""),
        (&|id| format!("/posts/{}/likes", escaped(id)), b""),
        (&|id| format!("http://e2e/posts/{id}/likes"), b""),
        (&|id| format!("/posts/{id}/likes"), b"a body"),
    ];
    // Each has a way of their own, and all of them do the same.
    let people: Vec<_> = ways.iter().map(|_| service.newcomer("bob").token().to_owned()).collect();
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
        let answers = ways.iter().zip(&people).map(|((way, body), token)| {
            let token = if is_signed_in { token } else { "nobody's" };
            let head = format!(
                "{method} {} HTTP/1.1\r\nHost: e2e\r\nConnection: close\r\nX-Request-Id: {request_id}\r\n\
                 Authorization: Bearer {token}\r\nContent-Length: {}",
                way(id),
                body.len()
            );
            let reply = Wire::ask(service, &head, body);
            (reply.status, telling(&reply), reply.body)
        });
        let answers: Vec<_> = answers.collect();
        assert_eq!(answers[0].0, status, "{method} {id}");
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{method} {id}: {answers:#?}");
    }
}

#[test]
fn whoever_has_said_everything_still_gets_an_answer() {
    let service = Service::shared();
    let mut wire = Wire::connect(service);
    // A password takes a while, so the end of what is sent is seen long before the answer is ready.
    let form = "username=nobody.here&password=correct+horse+battery";
    let head =
        "POST /login/username HTTP/1.1\r\nHost: e2e\r\nContent-Type: application/x-www-form-urlencoded";
    wire.send(format!("{head}\r\nContent-Length: {}\r\n\r\n{form}", form.len())).unwrap();
    wire.stop_sending();
    assert_eq!(wire.receive(false).map(|reply| reply.status), Some(400));
}

/// The head of an answer, less what differs every second.
fn telling(reply: &e2e::Reply) -> Vec<(String, String)> {
    let mut headers = reply.headers.clone();
    headers.retain(|(name, _)| name != "date");
    headers.sort();
    headers
}

#[test]
fn every_request_has_an_id_its_own_or_ours() {
    let anyone = Service::shared().anyone();
    let told = |id: &[u8]| {
        let answer = anyone.request("GET", "/livez").header("X-Request-Id", id).send().expect(200);
        answer.headers["x-request-id"].as_bytes().to_vec()
    };
    let mine = uuid();
    assert_eq!(told(mine.as_bytes()), mine.as_bytes(), "a well formed id is kept");

    let too_long = "x".repeat(4_000);
    for broken in ["", "two words", "<script>", "a\"b", "{\"a\":1}", "tab\tbed", "ümlaut", &too_long] {
        let made = told(broken.as_bytes());
        assert!(made != broken.as_bytes() && !made.is_empty(), "{broken} was kept");
    }
    let made: Vec<_> =
        (0..3).map(|_| anyone.get("/livez").expect(200).headers["x-request-id"].clone()).collect();
    assert!(made[0] != made[1] && made[1] != made[2] && made[0] != made[2], "{made:?}");
    for answer in [anyone.get("/nowhere"), anyone.get("/me"), anyone.delete("/feed")] {
        assert!(answer.headers.contains_key("x-request-id"), "{answer}");
    }
}

#[test]
fn the_request_id_is_in_the_log_and_secrets_are_not() {
    let service = Service::start(&[]);
    let ada = service.newcomer("ada");
    let path = format!("/posts/{}", ada.share_tiny("logged"));
    let (written, refused) = (uuid(), uuid());
    ada.request("PUT", &path).header("X-Request-Id", &written).send().expect(200);
    service.anyone().request("GET", "/me").header("X-Request-Id", &refused).send().refused(401);
    for id in [written, refused] {
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
