//! Malformed HTTP, request smuggling, and oversized request heads.

use e2e::{RawConnection, RawResponse};

use crate::probe::with_probe;
use crate::shared_service;

#[test]
fn malformed_requests_are_rejected_or_disconnected() {
    let mut noise = vec![0; 5_000];
    fastrand::Rng::with_seed(2).fill(&mut noise);
    let zeros = [0; 5_000];
    let feed = |rest: &str| format!("GET /feed HTTP/1.1\r\n{rest}\r\n\r\n").into_bytes();
    let post = |rest: &str| format!("POST /login/username HTTP/1.1\r\nHost: e2e\r\n{rest}").into_bytes();
    for (what, bytes) in [
        ("noise", noise.clone()),
        ("noise behind a request line", [&b"GET /feed HTTP/1.1\r\n"[..], &noise, b"\r\n\r\n"].concat()),
        ("zeros", zeros.to_vec()),
        ("a TLS ClientHello", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03\r\n\r\n".to_vec()),
        ("SSH", b"SSH-2.0-OpenSSH_9.6\r\n\r\n".to_vec()),
        ("half a request line", b"GET\r\n\r\n".to_vec()),
        ("an unknown version", b"GET /feed HTTP/9.9\r\nHost: e2e\r\n\r\n".to_vec()),
        ("no path", b"GET  HTTP/1.1\r\nHost: e2e\r\n\r\n".to_vec()),
        ("a control character in the path", b"GET /fe\x01ed HTTP/1.1\r\nHost: e2e\r\n\r\n".to_vec()),
        ("a header without a colon", feed("Host: e2e\r\nnonsense")),
        ("a header without a name", feed("Host: e2e\r\n: nonsense")),
        ("a space before the colon", feed("Host : e2e")),
        ("NUL in a header", feed("Host: e2e\r\nX: a\0b")),
        ("a length that is no number", post("Content-Length: ten\r\n\r\nusername=a")),
        ("a negative length", post("Content-Length: -1\r\n\r\nusername=a")),
        ("two lengths", post("Content-Length: 10\r\nContent-Length: 11\r\n\r\nusername=ab")),
        ("a length beyond 64 bits", post("Content-Length: 99999999999999999999999\r\n\r\nx")),
        ("a chunk size that is no number", post("Transfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n0\r\n\r\n")),
        (
            "a chunk size beyond 64 bits",
            post("Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nx\r\n0\r\n\r\n"),
        ),
    ] {
        let response = with_probe(shared_service(), || send_raw(&bytes));
        assert_rejected(what, response);
    }
}

#[test]
fn ambiguous_framing_cannot_smuggle_a_second_request() {
    // A proxy may forward this as one request, so the service must not parse it as two.
    let hidden = "GET /me HTTP/1.1\r\nHost: e2e\r\n\r\n";
    for framing in [
        format!(
            "Content-Length: {}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}",
            5 + hidden.len()
        ),
        format!("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: identity, chunked, identity\r\n\r\n0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{hidden}"),
    ] {
        with_probe(shared_service(), || {
            let mut connection = RawConnection::connect(shared_service());
            connection.send(format!("POST /login/username HTTP/1.1\r\nHost: e2e\r\n{framing}")).unwrap();
            connection.shutdown_write();
            let first = connection.receive(false);
            assert_rejected(&framing, first);
            let rest = String::from_utf8_lossy(&connection.read_to_end()).into_owned();
            assert!(!rest.contains("HTTP/1.1"), "{framing}\ngot a second response: {rest}");
        });
    }
}

#[test]
fn oversized_request_heads_are_rejected_or_disconnected() {
    let long = |count| "x".repeat(count);
    for (what, head) in [
        ("a path", format!("GET /{} HTTP/1.1\r\nHost: e2e", long(1 << 20))),
        ("a query", format!("GET /feed?x={} HTTP/1.1\r\nHost: e2e", long(1 << 20))),
        ("a header", format!("GET /feed HTTP/1.1\r\nHost: e2e\r\nX: {}", long(1 << 20))),
        ("a header's name", format!("GET /feed HTTP/1.1\r\nHost: e2e\r\n{}: x", long(1 << 20))),
        ("a list of headers", format!("GET /feed HTTP/1.1\r\nHost: e2e{}", "\r\nX: y".repeat(10_000))),
        ("a method", format!("{} /feed HTTP/1.1\r\nHost: e2e", long(1 << 20))),
    ] {
        let response = with_probe(shared_service(), || send_raw(format!("{head}\r\n\r\n").as_bytes()));
        assert_rejected(what, response);
    }
}

#[test]
fn a_request_has_one_host_header_and_may_have_none_in_http_1_0() {
    for path in ["/feed", "/livez", "/nowhere"] {
        let status = |head: &str| {
            let response = RawConnection::exchange(shared_service(), &format!("GET {path} {head}"), b"");
            if response.status == 400 {
                e2e::shape::assert_error_object(&response.json());
            }
            response.status
        };
        let found = status("HTTP/1.1\r\nHost: e2e");
        assert_ne!(found, 400, "{path}");
        assert_eq!(status("HTTP/1.1"), 400, "{path}");
        assert_eq!(status("HTTP/1.1\r\nHost: e2e\r\nHost: e2e"), 400, "{path}");
        assert_eq!(status("HTTP/1.0\r\nHost: e2e\r\nHost: evil.example"), 400, "{path}");
        assert_eq!(status("HTTP/1.0"), found, "{path}");
    }
}

#[test]
fn pipelined_requests_get_responses_in_order() {
    let mut connection = RawConnection::connect(shared_service());
    let paths = ["/feed", "/nowhere", "/me", "/livez"];
    let requests = paths.map(|path| format!("GET {path} HTTP/1.1\r\nHost: e2e\r\n\r\n"));
    connection.send(requests.concat()).unwrap();
    let statuses = paths.map(|_| connection.receive(false).expect("a response to each").status);
    assert_eq!(statuses, [200, 404, 401, 200]);
}

/// Sends the bytes, shuts down the sending half and reads a response.
fn send_raw(bytes: &[u8]) -> Option<RawResponse> {
    let mut connection = RawConnection::connect(shared_service());
    // The service may close the connection before it has read everything.
    if connection.send(bytes).is_ok() {
        connection.shutdown_write();
    }
    connection.receive(false)
}

/// Asserts a 4xx or 505, with an error object if it has a body, or a connection closed without a response.
#[track_caller]
fn assert_rejected(what: &str, response: Option<RawResponse>) {
    let Some(response) = response else { return };
    assert!((400..500).contains(&response.status) || response.status == 505, "{what}: {response:?}");
    if !response.body.is_empty() {
        e2e::shape::assert_error_object(&response.json());
    }
}
