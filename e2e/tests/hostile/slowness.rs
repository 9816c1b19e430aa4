//! Guests who take a connection and then take their time.

use std::time::{Duration, Instant};

use e2e::{Body, Form, Service, Wire, picture};

use crate::bystander::beside;

/// The flags say one or two seconds; anything near that is prompt.
const PROMPT: Duration = Duration::from_secs(10);

#[test]
fn headers_that_never_end_are_cut_off() {
    let service = Service::start(&["--header-timeout", "1s"]);
    for (start, drip) in [
        ("", ""),
        ("GET /feed HTTP/1.1\r\nHost: e2e\r\n", ""),
        ("GET /feed HTTP/1.1\r\nHost: e2e\r\nX-Slow: ", "x"),
        ("POST /posts HTTP/1.1\r\nHost: e2e\r\n", "x: y\r\n"),
    ] {
        let (took, reply) = beside(&service, || {
            let mut wire = Wire::connect(&service);
            wire.send(start).unwrap();
            wire.drip_until_cut_off(drip.as_bytes())
        });
        assert!(took < PROMPT, "{start:?} was borne for {took:?}");
        let status = reply.map_or(408, |reply| reply.status);
        assert!((400..500).contains(&status), "{start:?} answered {status}");
    }
}

#[test]
fn who_keeps_asking_may_stay_and_who_stops_may_not() {
    let service = Service::start(&["--header-timeout", "1s"]);
    let mut wire = Wire::connect(&service);
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(3) {
        wire.send("GET /livez HTTP/1.1\r\nHost: e2e\r\n\r\n").unwrap();
        assert_eq!(wire.receive(false).expect("an answer to each").status, 200);
    }
    let (took, reply) = wire.drip_until_cut_off(b"");
    assert!(took < PROMPT && reply.is_none(), "an idle connection was kept for {took:?}: {reply:?}");
}

#[test]
fn who_does_not_read_is_cut_off() {
    let service = Service::start(&["--write-timeout", "1s"]);
    let post = service.newcomer("eve").share(&picture::photograph(1200, 1200), "");
    let photo = post["photo"]["id"].as_str().unwrap();
    let request = format!("GET /photos/{photo}/1200x1200 HTTP/1.1\r\nHost: e2e\r\n\r\n");
    beside(&service, || {
        let mut wire = Wire::connect(&service);
        let began = Instant::now();
        // Sending goes on until nothing fits in anywhere, and then until we are hung up on.
        while wire.send(&request).is_ok() {}
        assert!(began.elapsed() < PROMPT, "borne for {:?}", began.elapsed());
    });
}

#[test]
fn a_body_that_never_ends_is_cut_off() {
    let service = Service::start(&["--body-timeout", "1s"]);
    let eve = service.newcomer("eve");
    let path = format!("/posts/{}", eve.share_tiny("unchanged"));
    let body = Form::message("never finished").body();
    for (method, path) in [("POST", "/login/username"), ("POST", "/join/username"), ("PUT", &path)] {
        let head = Wire::head_for(method, path, eve.token(), &body, 1_000);
        assert_cut_off(&service, &head, b"message=never");
    }
    assert_eq!(eve.get(&path).expect(200).json()["message"], "unchanged");
}

#[test]
fn an_upload_that_never_ends_is_cut_off() {
    let service = Service::start(&["--upload-timeout", "2s", "--body-timeout", "2s"]);
    let eve = service.newcomer("eve");
    let body = Form::photo(&picture::photograph(400, 400)).body();
    let head = Wire::head_for("POST", "/posts", eve.token(), &body, body.bytes.len());
    assert_cut_off(&service, &head, &body.bytes[..body.bytes.len() / 2]);
    assert_eq!(service.anyone().get("/feed").expect(200).json()["data"], serde_json::json!([]));
}

#[test]
fn fifty_slow_guests_do_not_slow_a_quick_one() {
    let service = Service::start(&["--header-timeout", "30s"]);
    let eve = service.newcomer("eve");
    let body = Body::new("multipart/form-data; boundary=b", "");
    let head = Wire::head_for("POST", "/posts", eve.token(), &body, 1_000_000);
    let guests: Vec<Wire> = (0..50)
        .map(|n| {
            let mut wire = Wire::connect(&service);
            // Half of them linger in their headers, half in their bodies.
            wire.send(if n % 2 == 0 { head.clone() } else { format!("{head}\r\n--b\r\n") }).unwrap();
            wire
        })
        .collect();
    beside(&service, || {
        let ada = service.newcomer("ada");
        for _ in 0..10 {
            ada.share_tiny("in between");
        }
    });
    drop(guests);
}

/// The first part of a body is sent, and then nothing: 408, or the end of the connection.
#[track_caller]
fn assert_cut_off(service: &Service, head: &str, first: &[u8]) {
    let (took, reply) = beside(service, || {
        let mut wire = Wire::connect(service);
        wire.send(format!("{head}\r\n")).unwrap();
        wire.send(first).unwrap();
        wire.drip_until_cut_off(b"")
    });
    assert!(took < PROMPT, "{head} was borne for {took:?}");
    if let Some(reply) = reply {
        assert_eq!(reply.status, 408, "{head}");
        assert_eq!(reply.header("x-error-code"), Some("timeout"), "{head}");
        e2e::shape::assert_error_object(&reply.json());
    }
}
