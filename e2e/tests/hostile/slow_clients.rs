//! Slow clients: incomplete headers and bodies, idle connections, responses that are not read.

use std::time::{Duration, Instant};

use e2e::{Body, FormData, RawConnection, Service, picture};

use crate::probe::with_probe;

/// The timeouts are one or two seconds; the margin is for a busy machine.
const CLOSED_WITHIN: Duration = Duration::from_secs(10);

#[test]
fn incomplete_headers_time_out() {
    let service = Service::start(&["--header-timeout", "1s"]);
    for (start, drip) in [
        ("", ""),
        ("GET /feed HTTP/1.1\r\nHost: e2e\r\n", ""),
        ("GET /feed HTTP/1.1\r\nHost: e2e\r\nX-Slow: ", "x"),
        ("POST /posts HTTP/1.1\r\nHost: e2e\r\n", "x: y\r\n"),
    ] {
        let (took, response) = with_probe(&service, || {
            let mut connection = RawConnection::connect(&service);
            connection.send(start).unwrap();
            connection.drip_until_closed(drip.as_bytes())
        });
        assert!(took < CLOSED_WITHIN, "{start:?}: closed only after {took:?}");
        let status = response.map_or(408, |response| response.status);
        assert!((400..500).contains(&status), "{start:?}: status {status}");
    }
}

#[test]
fn a_keep_alive_connection_stays_open_while_in_use_and_is_closed_when_idle() {
    let service = Service::start(&["--header-timeout", "1s"]);
    let mut connection = RawConnection::connect(&service);
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(3) {
        connection.send("GET /livez HTTP/1.1\r\nHost: e2e\r\n\r\n").unwrap();
        assert_eq!(connection.receive(false).expect("a response to each").status, 200);
    }
    let (took, response) = connection.drip_until_closed(b"");
    assert!(
        took < CLOSED_WITHIN && response.is_none(),
        "an idle connection was closed only after {took:?}: {response:?}"
    );
}

#[test]
fn a_client_that_does_not_read_is_disconnected() {
    let service = Service::start(&["--write-timeout", "1s"]);
    let post = service.new_user("eve").share(&picture::photograph(1200, 1200), "");
    let photo = post["photo"]["id"].as_str().unwrap();
    let request = format!("GET /photos/{photo}/1200x1200 HTTP/1.1\r\nHost: e2e\r\n\r\n");
    with_probe(&service, || {
        let mut connection = RawConnection::connect(&service);
        let began = Instant::now();
        // Fills the socket buffers of both sides, then fails when the service closes the connection.
        while connection.send(&request).is_ok() {}
        assert!(began.elapsed() < CLOSED_WITHIN, "closed only after {:?}", began.elapsed());
    });
}

#[test]
fn an_incomplete_body_times_out() {
    let service = Service::start(&["--body-timeout", "1s"]);
    let eve = service.new_user("eve");
    let path = format!("/posts/{}", eve.share_tiny("unchanged"));
    let body = FormData::message("never finished").body();
    for (method, path) in [("POST", "/login/username"), ("POST", "/join/username"), ("PUT", &path)] {
        let head = RawConnection::request_head(method, path, eve.token(), &body, 1_000);
        assert_times_out(&service, &head, b"message=never");
    }
    assert_eq!(eve.get(&path).expect(200).json()["message"], "unchanged");
}

#[test]
fn an_incomplete_upload_times_out() {
    let service = Service::start(&["--upload-timeout", "2s", "--body-timeout", "2s"]);
    let eve = service.new_user("eve");
    let body = FormData::photo(&picture::photograph(400, 400)).body();
    let head = RawConnection::request_head("POST", "/posts", eve.token(), &body, body.bytes.len());
    assert_times_out(&service, &head, &body.bytes[..body.bytes.len() / 2]);
    assert_eq!(service.anonymous().get("/feed").expect(200).json()["data"], serde_json::json!([]));
}

#[test]
fn fifty_slow_clients_do_not_slow_down_others() {
    let service = Service::start(&["--header-timeout", "30s"]);
    let eve = service.new_user("eve");
    let body = Body::new("multipart/form-data; boundary=b", "");
    let head = RawConnection::request_head("POST", "/posts", eve.token(), &body, 1_000_000);
    let slow: Vec<RawConnection> = (0..50)
        .map(|n| {
            let mut connection = RawConnection::connect(&service);
            // Half of them stop in the headers, half in the body.
            connection.send(if n % 2 == 0 { head.clone() } else { format!("{head}\r\n--b\r\n") }).unwrap();
            connection
        })
        .collect();
    with_probe(&service, || {
        let ada = service.new_user("ada");
        for _ in 0..10 {
            ada.share_tiny("in between");
        }
    });
    drop(slow);
}

/// Sends the first part of a body and then nothing: expects a 408, or a closed connection.
#[track_caller]
fn assert_times_out(service: &Service, head: &str, first: &[u8]) {
    let (took, response) = with_probe(service, || {
        let mut connection = RawConnection::connect(service);
        connection.send(format!("{head}\r\n")).unwrap();
        connection.send(first).unwrap();
        connection.drip_until_closed(b"")
    });
    assert!(took < CLOSED_WITHIN, "{head}: closed only after {took:?}");
    if let Some(response) = response {
        assert_eq!(response.status, 408, "{head}");
        assert_eq!(response.header("x-error-code"), Some("timeout"), "{head}");
        e2e::shape::assert_error_object(&response.json());
    }
}
