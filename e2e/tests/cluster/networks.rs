//! The network between a node and what it depends on is slow, cut, or swallows everything. Another node, with
//! a network of its own, tells what came of it.

use std::time::Duration;

use e2e::cluster::{Bucket, Postgres, Proxy, Weather};
use e2e::ledger::Recovery;
use e2e::{Answer, Form, Service, eventually, picture};

use crate::load::{crew, under_load, under_uploads};
use crate::stage::Stage;

const SLOW: Weather = Weather::Slow(Duration::from_millis(200));

#[test]
fn between_a_node_and_postgresql() {
    let postgres = Postgres::alone();
    let proxy = Proxy::to(postgres.address());
    let bucket = Bucket::fresh();
    let stage = Stage::new(postgres.url(), bucket.clone());
    let database = postgres.url().replace(&postgres.address().to_string(), &proxy.address().to_string());
    let node = stage.node_by("troubled", &database, &bucket);
    let other = stage.node("other");
    let mut crew = crew(node.base());

    under_load("200 ms more to PostgreSQL and back", &mut crew, |pulse| {
        pulse.beats(40);
        proxy.turn(SLOW);
        pulse.beats(10);
        proxy.turn(Weather::Fair);
        pulse.beats(40);
    });
    under_load("a cut between a node and PostgreSQL", &mut crew, |pulse| {
        pulse.beats(40);
        proxy.turn(Weather::Cut);
        pulse.refusal();
        // What one node cannot reach is no matter of the other's.
        other.assert_alive();
        proxy.turn(Weather::Fair);
        pulse.beats(40);
    });
    under_load("silence between a node and PostgreSQL", &mut crew, |pulse| {
        pulse.beats(40);
        proxy.turn(Weather::Silent);
        pulse.refusal();
        other.assert_alive();
        proxy.turn(Weather::Fair);
        pulse.beats(40);
    });
    for (weather, what) in [
        (Weather::CommitsAreLost, "commits that never arrived"),
        (Weather::AnswersAreLost, "commits whose answers were lost"),
    ] {
        under_load(what, &mut crew, |pulse| {
            pulse.beats(20);
            proxy.turn(weather);
            pulse.refusal();
            proxy.turn(Weather::Fair);
            pulse.beats(20);
        });
    }
    for base in [node.base(), other.base()] {
        Recovery::of_many(base).verify(&mut crew);
    }
}

#[test]
fn between_a_node_and_its_photos() {
    let postgres = Postgres::alone();
    let bucket = Bucket::fresh();
    let proxy = Proxy::to(bucket.address());
    let stage = Stage::new(postgres.url(), bucket.clone());
    let node = stage.node_by("troubled", &postgres.url(), &bucket.through(proxy.address()));
    let other = stage.node("other");
    let mut crew = crew(node.base());
    let (reader, elsewhere) = (node.anyone(), other.anyone());
    let photo = photo_of_somebody(&node);

    under_uploads("200 ms more to the photo store and back", &mut crew, |pulse| {
        pulse.beats(10);
        proxy.turn(SLOW);
        pulse.beats(10);
        proxy.turn(Weather::Fair);
        pulse.beats(10);
    });
    for (weather, what, side) in [(Weather::Cut, "a cut", 32), (Weather::Silent, "silence", 48)] {
        let image = format!("/photos/{photo}/{side}x{side}");
        under_uploads(&format!("{what} between a node and the photo store"), &mut crew, |pulse| {
            pulse.beats(10);
            proxy.turn(weather);
            // An image that is in no cache is refused in words, well before those who upload lose their
            // patience.
            assert_away(&reader.get(&image));
            elsewhere.get(&image).expect(200);
            // Until an upload is given up as well, and nothing of it may be left.
            if weather == Weather::Cut {
                pulse.refusal();
            }
            proxy.turn(Weather::Fair);
            pulse.beats(10);
        });
        eventually("the image is there again", Duration::from_secs(30), || {
            Some(reader.get(&image)).filter(|answer| answer.status == 200)
        });
    }
    for base in [node.base(), other.base()] {
        Recovery::of_many(base).verify(&mut crew);
    }
}

/// The photo of a bystander, who stays as they are.
fn photo_of_somebody(node: &Service) -> String {
    let shown = Form::photo(&picture::tiny());
    let user = node.newcomer("bystander").put("/me/photo", shown).expect(200).json();
    user["photo"]["id"].as_str().unwrap().to_owned()
}

#[track_caller]
fn assert_away(answer: &Answer) {
    assert_eq!(answer.status, 503, "{answer}");
    assert!(answer.header("retry-after").is_some(), "{answer}");
}
