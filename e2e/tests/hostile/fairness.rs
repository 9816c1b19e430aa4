//! Clients that take more than their share of a queue must not starve others.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use e2e::{Client, FormData, PASSWORD, RawConnection, Service, concurrently, eventually, picture};

use crate::probe::with_probe;

#[test]
fn password_guessing_from_one_address_does_not_block_logins_from_another() {
    let service = Service::start(&["--hash-threads", "1", "--hash-queue", "15"]);
    let ada = service.new_user("ada");
    let other_address = service.anonymous().with_source_ip("127.0.0.3");
    // The queue holds sixteen hashes; forty threads guess continuously, each time with another username.
    let done = AtomicBool::new(false);
    let responses = concurrently(41, |n| {
        if n == 0 {
            let statuses = (0..8).map(|_| log_in(&other_address, ada.username())).collect::<Vec<_>>();
            done.store(true, Ordering::Relaxed);
            return statuses;
        }
        let guesser = service.anonymous();
        let guesses = (0..10_000).take_while(|_| !done.load(Ordering::Relaxed));
        guesses.map(|round| log_in(&guesser, &format!("guess-{n}-{round}"))).collect()
    });
    assert_eq!(responses[0], [200; 8], "every login from the other address succeeds");
    assert!(responses[1..].iter().flatten().any(|status| *status == 503), "the queue was never full");
}

fn log_in(client: &Client, username: &str) -> u16 {
    client.post("/login/username", FormData::account(username, PASSWORD)).status
}

#[test]
fn one_user_has_at_most_16_concurrent_uploads() {
    let service = Service::start(&[]);
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    with_probe(&service, || {
        let body = FormData::photo(&picture::tiny()).body();
        let begin_upload = |(method, path): (&str, &str)| {
            let mut connection = RawConnection::connect(&service);
            connection
                .send(RawConnection::request_head(method, path, ada.token(), &body, 1_000_000))
                .unwrap();
            connection.send(b"\r\n--").unwrap();
            connection
        };
        // Posts and profile photos count against the same limit.
        let uploads = [("POST", "/posts"), ("PUT", "/me/photo")];
        let mut held: Vec<RawConnection> = uploads.into_iter().cycle().take(16).map(begin_upload).collect();
        let rejected = eventually("further uploads are rejected", Duration::from_secs(10), || {
            // The uploads of this check hold permits for a moment, which may reject one of the 16.
            held.push(begin_upload(uploads[0]));
            let responses = uploads.map(|(method, path)| {
                ada.request(method, path).body(FormData::photo(&picture::tiny())).send()
            });
            responses.iter().all(|response| response.status == 503).then_some(responses)
        });
        for response in rejected {
            assert!(response.header("retry-after").is_some(), "{response}");
        }
        bob.share_tiny("from another user");
        drop(held);
        eventually("uploads are accepted again", Duration::from_secs(10), || {
            (ada.post("/posts", FormData::photo(&picture::tiny())).status == 201).then_some(())
        });
    });
}

#[test]
fn closing_the_connection_during_a_decode_keeps_its_memory_reserved() {
    let service = Service::start(&["--pixel-threads", "6", "--pixel-memory", "200MiB"]);
    let ada = service.new_user("ada");
    let body = FormData::photo(&picture::png(&picture::plain(8_000, 8_000, picture::BLUE))).body();
    with_probe(&service, || {
        for _ in 0..12 {
            let mut connection = RawConnection::connect(&service);
            connection
                .send(RawConnection::request_head("POST", "/posts", ada.token(), &body, body.bytes.len()))
                .unwrap();
            connection.send(b"\r\n").unwrap();
            connection.send(&body.bytes).unwrap();
            // A hundred requests take long enough for the decode to have started.
            for _ in 0..100 {
                service.assert_ready();
            }
            connection.close();
        }
    });
    let peak = service.peak_memory();
    assert!(peak < 512, "{peak} MiB");
}
