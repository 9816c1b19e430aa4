//! Ids, tokens, hosts and headers that pose as something else.

use e2e::{Carrier, Form, Service, Wire, picture};

use crate::bystander::beside;
use crate::house;

#[test]
fn odd_paths_lead_nowhere() {
    let eve = house().newcomer("eve");
    let post = eve.share(&picture::tiny(), "");
    let photo = post["photo"]["id"].as_str().unwrap();
    beside(house(), || {
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
            // A bare wire, for every polite client would tidy the path.
            let reply = Wire::ask(house(), &format!("GET {path} HTTP/1.1\r\nHost: e2e"), b"");
            assert_eq!(reply.status, 404, "{path}");
            e2e::shape::assert_error_object(&reply.json());
        }
        for size in
            ["%00x%00", "8%00x8%00", "8x8%00", "%2B8x%2B8", "8x8.jpg", "NaNxNaN", "%D9%A8x%D9%A8", "1e1x1e1"]
        {
            let head = format!("GET /photos/{photo}/{size} HTTP/1.1\r\nHost: e2e");
            assert_eq!(Wire::ask(house(), &head, b"").status, 400, "{size}");
        }
    });
}

#[test]
fn forged_tokens_open_nothing() {
    let eve = house().newcomer("eve");
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
    beside(house(), || {
        for forged in forgeries {
            if forged == token {
                continue;
            }
            for carrier in Carrier::BOTH {
                let forger = house().anyone().holding("", carrier, &forged);
                forger.get("/me").refused_for(401, None);
                forger.post("/posts", Form::photo(&picture::tiny())).refused_for(401, None);
                forger.get("/feed").expect(200);
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
            house().anyone().request("GET", "/me").header(name, &value).send().refused_for(401, None);
        }
        let bytes = b"Bearer \xff\xfe\xfd";
        house().anyone().request("GET", "/me").header("Authorization", bytes).send().refused_for(401, None);
    });
}

#[test]
fn a_foreign_host_gets_no_foothold() {
    let eve = house().newcomer("eve");
    eve.share_tiny("one");
    eve.share_tiny("two");
    beside(house(), || {
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
            let reply = Wire::ask(house(), &format!("GET /feed?limit=1 HTTP/1.1\r\nHost: {host}"), b"");
            assert!([200, 400].contains(&reply.status), "{host:?}: {reply:?}");
            if reply.status == 200 {
                // Whatever it says, the address is one, and leads to the feed.
                let page = reply.json();
                let next = page["paging"]["next"].as_str().unwrap();
                let url =
                    reqwest::Url::parse(next).unwrap_or_else(|error| panic!("{host:?}: {next}: {error}"));
                assert_eq!((url.path(), url.username()), ("/feed", ""), "{host:?}: {next}");
                assert!(!next.contains(['<', '"', ' ']), "{host:?}: {next}");
            }
        }
    });
    // Where the address is configured, the caller's word is not asked for.
    let service = Service::start(&["--public-url", "https://photos.example"]);
    let ada = service.newcomer("ada");
    ada.share_tiny("one");
    ada.share_tiny("two");
    let reply = Wire::ask(&service, "GET /feed?limit=1 HTTP/1.1\r\nHost: evil.example", b"");
    assert!(!String::from_utf8_lossy(&reply.body).contains("evil"), "{reply:?}");
}

#[test]
fn a_request_id_cannot_smuggle_a_header() {
    beside(house(), || {
        for id in [
            "abc%0d%0aSet-Cookie: planted=1",
            "abc\rSet-Cookie: planted=1",
            "abc\nSet-Cookie: planted=1",
            "abc\r\n Set-Cookie: planted=1",
            "abc\\r\\nSet-Cookie: planted=1",
            "\u{560a}Set-Cookie: planted=1",
        ] {
            let reply =
                Wire::ask(house(), &format!("GET /livez HTTP/1.1\r\nHost: e2e\r\nX-Request-Id: {id}"), b"");
            assert!([200, 400].contains(&reply.status), "{id:?}: {reply:?}");
            assert_eq!(reply.header("set-cookie"), None, "{id:?}");
            let echoed = reply.header("x-request-id").unwrap_or_default();
            assert!(!echoed.contains("planted"), "{id:?} came back as {echoed:?}");
        }
    });
}

#[test]
fn a_made_up_origin_does_not_evade_the_limit() {
    let service = Service::start(&["--rate-limits", "on", "--login-failures", "3"]);
    service.anyone().join("ada");
    let guess = |number: usize| {
        let request = service.anyone().request("POST", "/login/username");
        let address = format!("198.51.100.{number}");
        let request = request
            .header("X-Forwarded-For", &address)
            .header("X-Real-IP", &address)
            .header("Forwarded", format!("for={address}"));
        request.body(Form::account("ada", "guess!")).send().status
    };
    assert_eq!([1, 2, 3, 4, 5].map(guess), [400, 400, 400, 429, 429]);
    service.assert_alive();
}
