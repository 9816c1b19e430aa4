//! Guests who take more than their share: what they hold must not be missing elsewhere.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use e2e::{Client, Form, PASSWORD, Service, Wire, at_once, eventually, picture};

use crate::bystander::beside;

#[test]
fn guessing_from_one_address_leaves_room_to_sign_in_from_another() {
    let service = Service::start(&["--hash-threads", "1", "--hash-queue", "15"]);
    let ada = service.newcomer("ada");
    let elsewhere = service.anyone().at("127.0.0.3");
    // Sixteen places, and forty who guess without end, each time under another name.
    let done = AtomicBool::new(false);
    let answers = at_once(41, |n| {
        if n == 0 {
            let statuses = (0..8).map(|_| sign_in(&elsewhere, ada.username())).collect::<Vec<_>>();
            done.store(true, Ordering::Relaxed);
            return statuses;
        }
        let guesser = service.anyone();
        let guesses = (0..10_000).take_while(|_| !done.load(Ordering::Relaxed));
        guesses.map(|round| sign_in(&guesser, &format!("guess-{n}-{round}"))).collect()
    });
    assert_eq!(answers[0], [200; 8], "the other address always gets in");
    assert!(answers[1..].iter().flatten().any(|status| *status == 503), "the queue was never full");
}

fn sign_in(client: &Client, username: &str) -> u16 {
    client.post("/login/username", Form::account(username, PASSWORD)).status
}

#[test]
fn one_person_holds_so_many_uploads_and_no_more() {
    let service = Service::start(&[]);
    let (ada, bob) = (service.newcomer("ada"), service.newcomer("bob"));
    beside(&service, || {
        let body = Form::photo(&picture::tiny()).body();
        let begin = |(method, path): (&str, &str)| {
            let mut wire = Wire::connect(&service);
            wire.send(Wire::head_for(method, path, ada.token(), &body, 1_000_000)).unwrap();
            wire.send(b"\r\n--").unwrap();
            wire
        };
        // A post or a profile photo: there is one room for both.
        let uploads = [("POST", "/posts"), ("PUT", "/me/photo")];
        let mut held: Vec<Wire> = uploads.into_iter().cycle().take(16).map(begin).collect();
        let refused = eventually("one more is turned away", Duration::from_secs(10), || {
            // One that asks here takes a place for a moment, and may be the reason why another was sent away.
            held.push(begin(uploads[0]));
            let answers = uploads
                .map(|(method, path)| ada.request(method, path).body(Form::photo(&picture::tiny())).send());
            answers.iter().all(|answer| answer.status == 503).then_some(answers)
        });
        for answer in refused {
            assert!(answer.header("retry-after").is_some(), "{answer}");
        }
        bob.share_tiny("somebody else's turn");
        drop(held);
        eventually("there is room again", Duration::from_secs(10), || {
            (ada.post("/posts", Form::photo(&picture::tiny())).status == 201).then_some(())
        });
    });
}

#[test]
fn whoever_hangs_up_during_a_decode_frees_nothing_that_is_in_use() {
    let service = Service::start(&["--pixel-threads", "6", "--pixel-memory", "200MiB"]);
    let ada = service.newcomer("ada");
    let body = Form::photo(&picture::png(&picture::plain(8_000, 8_000, picture::BLUE))).body();
    beside(&service, || {
        for _ in 0..12 {
            let mut wire = Wire::connect(&service);
            wire.send(Wire::head_for("POST", "/posts", ada.token(), &body, body.bytes.len())).unwrap();
            wire.send(b"\r\n").unwrap();
            wire.send(&body.bytes).unwrap();
            // As long as it takes others to be served a while: by then it is being decoded.
            for _ in 0..100 {
                service.assert_alive();
            }
            wire.hang_up();
        }
    });
    let peak = service.peak_memory();
    assert!(peak < 512, "{peak} MiB");
}
