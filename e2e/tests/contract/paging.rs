//! Where `paging.next` points: the address of the service as its callers know it.

use e2e::{Service, Wire};

/// Headers of a request, and how the address of the next page must begin.
type Case = (&'static str, &'static str);

#[test]
fn without_a_configured_address_next_stays_where_the_request_came() {
    let service = feed_of_two(&[]);
    assert_next(
        &service,
        &[
            ("Host: photos.example", "http://photos.example/feed?"),
            ("Host: photos.example:8080", "http://photos.example:8080/feed?"),
            ("Host: [::1]:8080", "http://[::1]:8080/feed?"),
            // A stranger's word about proxies counts for nothing.
            ("Host: a.example\r\nX-Forwarded-Host: evil.example", "http://a.example/feed?"),
            ("Host: a.example\r\nX-Forwarded-Proto: https", "http://a.example/feed?"),
            ("Host: a.example\r\nForwarded: host=evil.example;proto=https", "http://a.example/feed?"),
            (
                "Host: a.example\r\nX-Forwarded-Host: evil.example\r\nX-Forwarded-For: 127.0.0.1",
                "http://a.example/feed?",
            ),
        ],
    );
}

#[test]
fn a_trusted_proxy_tells_the_address_it_was_asked_for() {
    let service = feed_of_two(&["--trusted-proxies", "127.0.0.1"]);
    assert_next(
        &service,
        &[
            ("Host: inner", "http://inner/feed?"),
            (
                "Host: inner\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: photos.example",
                "https://photos.example/feed?",
            ),
            ("Host: inner\r\nX-Forwarded-Proto: https", "https://inner/feed?"),
            ("Host: inner\r\nX-Forwarded-Host: photos.example:8443", "http://photos.example:8443/feed?"),
        ],
    );
    // Trust is given to an address, not to whoever asks.
    let elsewhere = feed_of_two(&["--trusted-proxies", "10.0.0.0/8"]);
    assert_next(
        &elsewhere,
        &[(
            "Host: inner\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: evil.example",
            "http://inner/feed?",
        )],
    );
}

#[test]
fn the_configured_public_address_wins() {
    for flags in [
        &["--public-url", "https://photos.example"][..],
        &["--public-url", "https://photos.example", "--trusted-proxies", "127.0.0.1"],
        &["--public-url", "https://photos.example/"],
    ] {
        let service = feed_of_two(flags);
        assert_next(
            &service,
            &[
                ("Host: inner", "https://photos.example/feed?"),
                ("Host: evil.example", "https://photos.example/feed?"),
                (
                    "Host: inner\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: evil.example",
                    "https://photos.example/feed?",
                ),
            ],
        );
    }
}

fn feed_of_two(flags: &[&str]) -> Service {
    let service = Service::start(flags);
    let ada = service.newcomer("ada");
    ada.share_tiny("older");
    ada.share_tiny("newer");
    service
}

#[track_caller]
fn assert_next(service: &Service, cases: &[Case]) {
    for (headers, beginning) in cases {
        let reply = Wire::ask(service, &format!("GET /feed?limit=1 HTTP/1.1\r\n{headers}"), b"");
        assert_eq!(reply.status, 200, "{headers}");
        let page = reply.json();
        let next = page["paging"]["next"].as_str().unwrap();
        assert!(next.starts_with(beginning), "{headers}\nled to {next}");
    }
}
