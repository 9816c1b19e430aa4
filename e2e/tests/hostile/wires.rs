//! What is not HTTP, or too much of it.

use e2e::{Reply, Wire};

use crate::bystander::beside;
use crate::house;

#[test]
fn what_is_not_http_is_refused_or_hung_up_on() {
    let mut noise = vec![0; 5_000];
    fastrand::Rng::with_seed(2).fill(&mut noise);
    let zeros = [0; 5_000];
    let feed = |rest: &str| format!("GET /feed HTTP/1.1\r\n{rest}\r\n\r\n").into_bytes();
    let post = |rest: &str| format!("POST /login/username HTTP/1.1\r\nHost: e2e\r\n{rest}").into_bytes();
    for (what, bytes) in [
        ("noise", noise.clone()),
        ("noise behind a request line", [&b"GET /feed HTTP/1.1\r\n"[..], &noise, b"\r\n\r\n"].concat()),
        ("zeros", zeros.to_vec()),
        ("a TLS greeting", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03\r\n\r\n".to_vec()),
        ("SSH", b"SSH-2.0-OpenSSH_9.6\r\n\r\n".to_vec()),
        ("half a request line", b"GET\r\n\r\n".to_vec()),
        ("a version from the future", b"GET /feed HTTP/9.9\r\nHost: e2e\r\n\r\n".to_vec()),
        ("no path", b"GET  HTTP/1.1\r\nHost: e2e\r\n\r\n".to_vec()),
        ("a control character in the path", b"GET /fe\x01ed HTTP/1.1\r\nHost: e2e\r\n\r\n".to_vec()),
        ("a header without a colon", feed("Host: e2e\r\nnonsense")),
        ("a header without a name", feed("Host: e2e\r\n: nonsense")),
        ("a space before the colon", feed("Host : e2e")),
        ("NUL in a header", feed("Host: e2e\r\nX: a\0b")),
        ("a length that is no number", post("Content-Length: ten\r\n\r\nusername=a")),
        ("a negative length", post("Content-Length: -1\r\n\r\nusername=a")),
        ("two lengths", post("Content-Length: 10\r\nContent-Length: 11\r\n\r\nusername=ab")),
        ("an endless length", post("Content-Length: 99999999999999999999999\r\n\r\nx")),
        ("a chunk of no size", post("Transfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n0\r\n\r\n")),
        (
            "a chunk beyond all numbers",
            post("Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nx\r\n0\r\n\r\n"),
        ),
    ] {
        let reply = beside(house(), || tell(&bytes));
        assert_turned_away(what, reply);
    }
}

#[test]
fn a_request_cannot_hide_another_one() {
    // What a careless proxy would forward as one request must not be answered as two.
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
        beside(house(), || {
            let mut wire = Wire::connect(house());
            wire.send(format!("POST /login/username HTTP/1.1\r\nHost: e2e\r\n{framing}")).unwrap();
            wire.stop_sending();
            let first = wire.receive(false);
            assert_turned_away(&framing, first);
            let rest = String::from_utf8_lossy(&wire.rest()).into_owned();
            assert!(!rest.contains("HTTP/1.1"), "{framing}\nwas answered twice: {rest}");
        });
    }
}

#[test]
fn what_is_too_long_is_refused_or_hung_up_on() {
    let long = |count| "x".repeat(count);
    for (what, head) in [
        ("a path", format!("GET /{} HTTP/1.1\r\nHost: e2e", long(1 << 20))),
        ("a query", format!("GET /feed?x={} HTTP/1.1\r\nHost: e2e", long(1 << 20))),
        ("a header", format!("GET /feed HTTP/1.1\r\nHost: e2e\r\nX: {}", long(1 << 20))),
        ("a header's name", format!("GET /feed HTTP/1.1\r\nHost: e2e\r\n{}: x", long(1 << 20))),
        ("a list of headers", format!("GET /feed HTTP/1.1\r\nHost: e2e{}", "\r\nX: y".repeat(10_000))),
        ("a method", format!("{} /feed HTTP/1.1\r\nHost: e2e", long(1 << 20))),
    ] {
        let reply = beside(house(), || tell(format!("{head}\r\n\r\n").as_bytes()));
        assert_turned_away(what, reply);
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let mut wire = Wire::connect(house());
    let paths = ["/feed", "/nowhere", "/me", "/livez"];
    let requests = paths.map(|path| format!("GET {path} HTTP/1.1\r\nHost: e2e\r\n\r\n"));
    wire.send(requests.concat()).unwrap();
    let statuses = paths.map(|_| wire.receive(false).expect("an answer to each").status);
    assert_eq!(statuses, [200, 404, 401, 200]);
}

/// Says it, stops, and listens.
fn tell(bytes: &[u8]) -> Option<Reply> {
    let mut wire = Wire::connect(house());
    // The service may hang up before it has heard everything.
    if wire.send(bytes).is_ok() {
        wire.stop_sending();
    }
    wire.receive(false)
}

/// An error of the guest's, in our words where there are words, or no answer at all.
#[track_caller]
fn assert_turned_away(what: &str, reply: Option<Reply>) {
    let Some(reply) = reply else { return };
    assert!((400..500).contains(&reply.status) || reply.status == 505, "{what}: {reply:?}");
    if !reply.body.is_empty() {
        e2e::shape::assert_error_object(&reply.json());
    }
}
