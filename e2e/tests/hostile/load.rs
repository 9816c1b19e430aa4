//! More than the service takes: connections, password hashes, and the end of its day.

use std::time::Duration;

use e2e::{Form, PASSWORD, Service, Wire, at_once, eventually, picture};

use crate::bystander::beside;

#[test]
fn one_address_gets_its_share_of_connections_and_no_more() {
    let service = Service::start(&["--max-connections-per-address", "8"]);
    let hello = "GET /livez HTTP/1.1\r\nHost: e2e\r\n\r\n";
    // The bystander and the last question come from 127.0.0.2.
    beside(&service, || {
        let mut held: Vec<Wire> = (0..8).map(|_| Wire::connect(&service)).collect();
        for wire in &mut held {
            wire.send(hello).unwrap();
            assert_eq!(wire.receive(false).expect("one of the first eight is served").status, 200);
        }
        let refused = |reply: Option<e2e::Reply>| match reply {
            None => true,
            Some(reply) if reply.status == 503 => {
                e2e::shape::assert_error_object(&reply.json());
                true
            }
            Some(_) => false,
        };
        // Each further one is told so, or hung up on.
        for _ in 0..3 {
            assert!(refused(greet(&service, hello)), "a ninth connection was served");
        }
        for wire in &mut held {
            wire.send(hello).unwrap();
            assert_eq!(wire.receive(false).expect("the first eight go on").status, 200);
        }
        drop(held);
        eventually("the address is served again", Duration::from_secs(10), || {
            greet(&service, hello).filter(|reply| reply.status == 200)
        });
    });
}

fn greet(service: &Service, hello: &str) -> Option<e2e::Reply> {
    let mut wire = Wire::connect_from(service, "127.0.0.1").ok()?;
    wire.send(hello).ok()?;
    wire.receive(false)
}

#[test]
fn a_full_queue_says_so() {
    let service = Service::start(&["--hash-threads", "1", "--hash-queue", "1"]);
    let answers = beside(&service, || {
        at_once(40, |n| {
            let form = Form::account(&format!("visitor-{n}"), PASSWORD);
            service.anyone().post("/join/username", form)
        })
    });
    let (joined, busy): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 201);
    assert!(!joined.is_empty() && !busy.is_empty(), "{} joined, {} turned away", joined.len(), busy.len());
    for answer in busy {
        let answer = answer.refused_for(503, None);
        let wait: u64 = answer.header("retry-after").expect("Retry-After").parse().expect("whole seconds");
        assert!((1..=60).contains(&wait), "{answer}");
        // A 5xx says a constant sentence and the request id, never the cause.
        let error = answer.json();
        let words = error["error"]["message"].as_str().unwrap();
        assert!(words.contains(answer.header("x-request-id").unwrap()), "{words}");
        assert!(!words.to_lowercase().contains("argon") && !words.contains("panicked"), "{words}");
    }
    // Who was turned away was not half made, and gets in later.
    for n in 0..40 {
        let form = Form::account(&format!("visitor-{n}"), PASSWORD);
        let answer = service.anyone().post("/join/username", form);
        assert!([201, 409].contains(&answer.status), "{answer}");
        service.anyone().login(&format!("visitor-{n}"));
    }
}

#[test]
fn who_is_in_the_middle_of_an_upload_may_finish_it() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::start_in(dir.path(), &[]);
    let ada = service.newcomer("ada");
    let body = Form::photo(&picture::photograph(800, 800)).text("message", "just in time").body();
    let head = Wire::head_for("POST", "/posts", ada.token(), &body, body.bytes.len());
    let mut wire = Wire::connect(&service);
    wire.send(format!("{head}Expect: 100-continue\r\n\r\n")).unwrap();
    // The service asks for the body: from here on the upload is under way.
    assert_eq!(wire.receive(false).expect("an invitation").status, 100);
    let (first, rest) = body.bytes.split_at(body.bytes.len() / 2);
    wire.send(first).unwrap();

    service.terminate();
    eventually("new guests are turned away", Duration::from_secs(10), || {
        let ready = Wire::connect_from(&service, "127.0.0.2").ok().and_then(|mut wire| {
            wire.send("GET /readyz HTTP/1.1\r\nHost: e2e\r\nConnection: close\r\n\r\n").ok()?;
            wire.receive(false)
        });
        ready.is_none_or(|reply| reply.status != 200).then_some(())
    });
    wire.send(rest).unwrap();
    let reply = wire.receive(false).expect("an answer to the upload");
    assert_eq!(reply.status, 201, "{reply:?}");
    let post = reply.json();
    drop(wire);
    service.assert_ends_well();

    let service = Service::start_in(dir.path(), &[]);
    let kept = service.anyone().get(&format!("/posts/{}", post["id"])).expect(200).json();
    assert_eq!(kept, post);
}

#[test]
fn an_idle_service_ends_at_once_when_asked() {
    let service = Service::start(&[]);
    // A guest who keeps the line without a request does not hold it up.
    let mut idle = Wire::connect(&service);
    idle.send("GET /livez HTTP/1.1\r\nHost: e2e\r\n\r\n").unwrap();
    assert_eq!(idle.receive(false).unwrap().status, 200);
    let began = std::time::Instant::now();
    service.terminate();
    service.assert_ends_well();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}
