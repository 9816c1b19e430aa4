//! Overload and shutdown: connection limits, full queues, and requests in progress at SIGTERM.

use std::time::Duration;

use e2e::{FormData, PASSWORD, RawConnection, Service, concurrently, eventually, picture};

use crate::probe::with_probe;

#[test]
fn connections_per_address_are_limited() {
    let service = Service::start(&["--max-connections-per-address", "8"]);
    let request = "GET /feed HTTP/1.1\r\nHost: e2e\r\n\r\n";
    // The probe connects from 127.0.0.2, so it does not count against this address.
    with_probe(&service, || {
        let mut held: Vec<RawConnection> = (0..8).map(|_| RawConnection::connect(&service)).collect();
        for connection in &mut held {
            connection.send(request).unwrap();
            assert_eq!(connection.receive(false).expect("each of the first eight is served").status, 200);
        }
        let is_rejected = |response: Option<e2e::RawResponse>| match response {
            None => true,
            Some(response) if response.status == 503 => {
                e2e::shape::assert_error_object(&response.json());
                true
            }
            Some(_) => false,
        };
        // Each further connection gets a 503, or is closed.
        for _ in 0..3 {
            assert!(is_rejected(request_once(&service, request)), "a ninth connection was served");
        }
        for connection in &mut held {
            connection.send(request).unwrap();
            assert_eq!(connection.receive(false).expect("the first eight are still served").status, 200);
        }
        drop(held);
        eventually("the address is served again", Duration::from_secs(10), || {
            request_once(&service, request).filter(|response| response.status == 200)
        });
    });
}

fn request_once(service: &Service, request: &str) -> Option<e2e::RawResponse> {
    let mut connection = RawConnection::connect_from(service, "127.0.0.1").ok()?;
    connection.send(request).ok()?;
    connection.receive(false)
}

#[test]
fn a_full_hash_queue_returns_503_with_retry_after() {
    let service = Service::start(&["--hash-threads", "1", "--hash-queue", "1"]);
    let responses = with_probe(&service, || {
        concurrently(40, |n| {
            let form = FormData::account(&format!("user-{n}"), PASSWORD);
            service.anonymous().post("/join/username", form)
        })
    });
    let (joined, busy): (Vec<_>, Vec<_>) = responses.into_iter().partition(|response| response.status == 201);
    assert!(!joined.is_empty() && !busy.is_empty(), "{} joined, {} rejected", joined.len(), busy.len());
    for response in busy {
        let response = response.expect_error_for(503, None);
        let wait: u64 = response.header("retry-after").expect("Retry-After").parse().expect("whole seconds");
        assert!((1..=60).contains(&wait), "{response}");
        // The message of a 5xx is constant except for the request id, and never names the cause.
        let error = response.json();
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains(response.header("x-request-id").unwrap()), "{message}");
        assert!(!message.to_lowercase().contains("argon") && !message.contains("panicked"), "{message}");
    }
    // A rejected join created no user, so the same name can join later.
    for n in 0..40 {
        let form = FormData::account(&format!("user-{n}"), PASSWORD);
        let response = service.anonymous().post("/join/username", form);
        assert!([201, 409].contains(&response.status), "{response}");
        service.anonymous().login(&format!("user-{n}"));
    }
}

#[test]
fn an_upload_in_progress_is_completed_during_shutdown() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::start_in(dir.path(), &[]);
    let ada = service.new_user("ada");
    let body = FormData::photo(&picture::photograph(800, 800)).text("message", "just in time").body();
    let head = RawConnection::request_head("POST", "/posts", ada.token(), &body, body.bytes.len());
    let mut connection = RawConnection::connect(&service);
    connection.send(format!("{head}Expect: 100-continue\r\n\r\n")).unwrap();
    // After 100 Continue the service has accepted the upload.
    assert_eq!(connection.receive(false).expect("100 Continue").status, 100);
    let (first, rest) = body.bytes.split_at(body.bytes.len() / 2);
    connection.send(first).unwrap();

    service.terminate();
    eventually("new connections are rejected", Duration::from_secs(10), || {
        let ready = RawConnection::connect_from(&service, "127.0.0.2").ok().and_then(|mut connection| {
            connection.send("GET /readyz HTTP/1.1\r\nHost: e2e\r\nConnection: close\r\n\r\n").ok()?;
            connection.receive(false)
        });
        ready.is_none_or(|response| response.status != 200).then_some(())
    });
    connection.send(rest).unwrap();
    let response = connection.receive(false).expect("a response to the upload");
    assert_eq!(response.status, 201, "{response:?}");
    let post = response.json();
    drop(connection);
    service.assert_clean_exit();

    let service = Service::start_in(dir.path(), &[]);
    let stored = service.anonymous().get(&format!("/posts/{}", post["id"])).expect(200).json();
    assert_eq!(stored, post);
}

#[test]
fn an_idle_service_exits_promptly_on_sigterm() {
    let service = Service::start(&[]);
    // An idle keep-alive connection does not delay the exit.
    let mut idle = RawConnection::connect(&service);
    idle.send("GET /livez HTTP/1.1\r\nHost: e2e\r\n\r\n").unwrap();
    assert_eq!(idle.receive(false).unwrap().status, 200);
    let began = std::time::Instant::now();
    service.terminate();
    service.assert_clean_exit();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}
