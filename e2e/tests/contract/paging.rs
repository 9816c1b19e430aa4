//! The base URL of `paging.next`: the request's own, a trusted proxy's, or the configured public URL.

use e2e::{RawConnection, Service};

/// Headers of a request, and the expected beginning of `paging.next`.
type Case = (&'static str, &'static str);

#[test]
fn without_a_public_url_next_uses_the_host_header() {
    let service = feed_of_two(&[]);
    assert_next(
        &service,
        &[
            ("Host: photos.example", "http://photos.example/feed?"),
            ("Host: photos.example:8080", "http://photos.example:8080/feed?"),
            ("Host: [::1]:8080", "http://[::1]:8080/feed?"),
            // Forwarding headers of an untrusted client are ignored.
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
fn next_uses_the_forwarding_headers_of_a_trusted_proxy() {
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
            // The proxy appends its value to those of the client.
            ("Host: inner\r\nX-Forwarded-Host: evil.example, photos.example", "http://photos.example/feed?"),
            (
                "Host: inner\r\nX-Forwarded-Host: evil.example\r\nX-Forwarded-Host: photos.example",
                "http://photos.example/feed?",
            ),
            ("Host: inner\r\nX-Forwarded-Proto: https, http", "http://inner/feed?"),
            ("Host: inner\r\nX-Forwarded-Host: photos.example:8443", "http://photos.example:8443/feed?"),
        ],
    );
    // The headers of an address that is not trusted are ignored.
    let untrusted = feed_of_two(&["--trusted-proxies", "10.0.0.0/8"]);
    assert_next(
        &untrusted,
        &[(
            "Host: inner\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: evil.example",
            "http://inner/feed?",
        )],
    );
}

#[test]
fn next_uses_the_public_url_if_configured() {
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
    let ada = service.new_user("ada");
    ada.share_tiny("older");
    ada.share_tiny("newer");
    service
}

#[track_caller]
fn assert_next(service: &Service, cases: &[Case]) {
    for (headers, beginning) in cases {
        let response =
            RawConnection::exchange(service, &format!("GET /feed?limit=1 HTTP/1.1\r\n{headers}"), b"");
        assert_eq!(response.status, 200, "{headers}");
        let page = response.json();
        let next = page["paging"]["next"].as_str().unwrap();
        assert!(next.starts_with(beginning), "{headers}\nreturned {next}");
    }
}
