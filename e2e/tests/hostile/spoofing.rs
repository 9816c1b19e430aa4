//! Path traversal, forged tokens, spoofed hosts and header injection.

use std::time::Duration;

use e2e::{AuthMethod, FormData, RawConnection, Service, eventually, picture};

use crate::probe::with_probe;
use crate::shared_service;

#[test]
fn malformed_and_traversing_paths_are_not_found() {
    let eve = shared_service().new_user("eve");
    let post = eve.share(&picture::tiny(), "");
    let photo = post["photo"]["id"].as_str().unwrap();
    with_probe(shared_service(), || {
        for path in [
            "/posts/%00",
            "/posts/1%00",
            "/posts/%FF",
            "/posts/1%20OR%201=1",
            "/posts/1;DROP%20TABLE%20posts",
            "/posts/..%2f..%2fetc%2fpasswd",
            "/posts/%D9%A7",
            "/posts/0x1",
            "/posts/+1",
            "/posts/1/",
            "/posts//1",
            "//posts/1",
            "/posts/NaN",
            "/posts/18446744073709551617",
            "/photos/..%2f..%2fpinhole.db/8x8",
            "/photos/%2e%2e/8x8",
            "/photos/../../etc/passwd/8x8",
            "/photos/%00/8x8",
            "/photos/*/8x8",
            "/../../../etc/passwd",
            "/%2e%2e/%2e%2e/etc/passwd",
            "/.env",
            "/.git/config",
        ] {
            // A raw connection, because an HTTP client normalizes the path.
            let response =
                RawConnection::exchange(shared_service(), &format!("GET {path} HTTP/1.1\r\nHost: e2e"), b"");
            assert_eq!(response.status, 404, "{path}");
            e2e::shape::assert_error_object(&response.json());
        }
        for size in
            ["%00x%00", "8%00x8%00", "8x8%00", "%2B8x%2B8", "8x8.jpg", "NaNxNaN", "%D9%A8x%D9%A8", "1e1x1e1"]
        {
            let head = format!("GET /photos/{photo}/{size} HTTP/1.1\r\nHost: e2e");
            assert_eq!(RawConnection::exchange(shared_service(), &head, b"").status, 400, "{size}");
        }
    });
}

#[test]
fn forged_tokens_are_rejected() {
    let eve = shared_service().new_user("eve");
    let token = eve.token();
    let last = if token.ends_with('A') { "B" } else { "A" };
    let long = "A".repeat(5_000);
    let forgeries = [
        String::new(),
        "x".into(),
        "A".repeat(43),
        format!("{}{last}", &token[..42]),
        token[..42].to_owned(),
        format!("{token}A"),
        format!("{token}="),
        format!("{token} {token}"),
        token.to_ascii_lowercase(),
        token.to_ascii_uppercase(),
        "' OR '1'='1".into(),
        "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.".into(),
        long,
    ];
    with_probe(shared_service(), || {
        for forged in forgeries {
            if forged == token {
                continue;
            }
            for auth in AuthMethod::BOTH {
                let client = shared_service().anonymous().with_session("", auth, &forged);
                client.get("/me").expect_error_for(401, None);
                client.post("/posts", FormData::photo(&picture::tiny())).expect_error_for(401, None);
                client.get("/feed").expect(200);
            }
        }
        for (name, value) in [
            ("Authorization", format!("Basic {token}")),
            ("Authorization", format!("Token {token}")),
            ("Authorization", token.to_owned()),
            ("Cookie", format!("other={token}")),
            ("Cookie", format!("xpinhole_session={token}")),
            ("Cookie", format!("PINHOLE_SESSION={token}")),
            ("Cookie", token.to_owned()),
            ("X-Auth-Token", token.to_owned()),
        ] {
            shared_service()
                .anonymous()
                .request("GET", "/me")
                .header(name, &value)
                .send()
                .expect_error_for(401, None);
        }
        let bytes = b"Bearer \xff\xfe\xfd";
        shared_service()
            .anonymous()
            .request("GET", "/me")
            .header("Authorization", bytes)
            .send()
            .expect_error_for(401, None);
    });
}

#[test]
fn a_spoofed_host_header_cannot_inject_into_next() {
    let eve = shared_service().new_user("eve");
    eve.share_tiny("one");
    eve.share_tiny("two");
    with_probe(shared_service(), || {
        for host in [
            "evil.example/path?",
            "a b",
            "<script>",
            "evil.example\"",
            "user@evil.example",
            "",
            "%0d%0a",
            "[::1",
        ] {
            let response = RawConnection::exchange(
                shared_service(),
                &format!("GET /feed?limit=1 HTTP/1.1\r\nHost: {host}"),
                b"",
            );
            assert!([200, 400].contains(&response.status), "{host:?}: {response:?}");
            if response.status == 200 {
                // For any Host, `next` is a valid URL of the feed.
                let page = response.json();
                let next = page["paging"]["next"].as_str().unwrap();
                let url =
                    reqwest::Url::parse(next).unwrap_or_else(|error| panic!("{host:?}: {next}: {error}"));
                assert_eq!((url.path(), url.username()), ("/feed", ""), "{host:?}: {next}");
                assert!(!next.contains(['<', '"', ' ']), "{host:?}: {next}");
            }
        }
    });
    // With a configured public URL the Host header is ignored.
    let service = Service::start(&["--public-url", "https://photos.example"]);
    let ada = service.new_user("ada");
    ada.share_tiny("one");
    ada.share_tiny("two");
    let response = RawConnection::exchange(&service, "GET /feed?limit=1 HTTP/1.1\r\nHost: evil.example", b"");
    assert!(!String::from_utf8_lossy(&response.body).contains("evil"), "{response:?}");
}

#[test]
fn a_request_id_cannot_inject_a_header() {
    with_probe(shared_service(), || {
        for id in [
            "abc%0d%0aSet-Cookie: planted=1",
            "abc\rSet-Cookie: planted=1",
            "abc\nSet-Cookie: planted=1",
            "abc\r\n Set-Cookie: planted=1",
            "abc\\r\\nSet-Cookie: planted=1",
            "\u{560a}Set-Cookie: planted=1",
        ] {
            let response = RawConnection::exchange(
                shared_service(),
                &format!("GET /livez HTTP/1.1\r\nHost: e2e\r\nX-Request-Id: {id}"),
                b"",
            );
            assert!([200, 400].contains(&response.status), "{id:?}: {response:?}");
            assert_eq!(response.header("set-cookie"), None, "{id:?}");
            let echoed = response.header("x-request-id").unwrap_or_default();
            assert!(!echoed.contains("planted"), "{id:?} came back as {echoed:?}");
        }
    });
}

#[test]
fn forwarded_headers_of_an_untrusted_peer_are_reported_once() {
    let service = Service::start(&["--trusted-proxies", "10.0.0.0/8"]);
    let warnings = || service.log().iter().filter(|line| line.contains("PINHOLE_TRUSTED_PROXIES")).count();
    service.anonymous().get("/feed").expect(200);
    assert_eq!(warnings(), 0);
    for _ in 0..3 {
        let request = service.anonymous().request("GET", "/feed").header("X-Forwarded-For", "198.51.100.1");
        request.send().expect(200);
    }
    eventually("the log has the warning", Duration::from_secs(30), || (warnings() > 0).then_some(()));
    // The log is in order, and the event of this request comes after all warnings.
    service.anonymous().get("/nowhere").expect_error(404);
    let nowhere = || service.log().iter().any(|line| line.contains("404"));
    eventually("the log has the last request", Duration::from_secs(30), || nowhere().then_some(()));
    assert_eq!(warnings(), 1);
}

#[test]
fn a_spoofed_client_address_does_not_evade_the_rate_limit() {
    let service = Service::start(&["--rate-limits", "on", "--login-failures", "3"]);
    service.anonymous().join("ada");
    let guess = |number: usize| {
        let request = service.anonymous().request("POST", "/login/username");
        let address = format!("198.51.100.{number}");
        let request = request
            .header("X-Forwarded-For", &address)
            .header("X-Real-IP", &address)
            .header("Forwarded", format!("for={address}"));
        request.body(FormData::account("ada", "guess!")).send().status
    };
    assert_eq!([1, 2, 3, 4, 5].map(guess), [400, 400, 400, 429, 429]);
    service.assert_ready();
}
