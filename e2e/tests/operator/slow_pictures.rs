//! Pictures that take longer than the operator allows.

use std::time::Duration;

use e2e::{Form, eventually, picture};

use crate::metrics::{figure, watched, watched_in};

const ABANDONED: &str = "pinhole_queue_abandoned_total{queue=\"ingest\"}";
const AT_WORK: &str = "pinhole_queue_depth{queue=\"ingest\"}";

#[test]
fn a_picture_that_takes_too_long_is_given_up_and_its_sender_told() {
    // No machine decodes 24 megapixels within a millisecond.
    let (service, admin) = watched(&["--decode-time", "1ms", "--pixel-threads", "1"]);
    let ada = service.newcomer("ada");
    let large = picture::jpeg(&picture::plain(6_000, 4_000, picture::BLUE));
    for _ in 0..4 {
        // Each on another thread, since the one before may still be at it.
        let refused = ada.post("/posts", Form::photo(&large)).refused_for(400, Some("photo"));
        let words = refused.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(words.contains("too long") && words.contains("JPEG"), "{words}");
    }
    assert_eq!(figure(&admin, ABANDONED), 4.0);
    service.assert_alive();

    // What was given up ends after all, gives back what it held, and leaves nothing behind.
    eventually("nobody is at work", Duration::from_secs(60), || {
        (figure(&admin, AT_WORK) == 0.0).then_some(())
    });
    assert!(service.files("photos").is_empty(), "{:?}", service.files("photos"));
    assert_eq!(ada.get("/feed").expect(200).json()["data"].as_array().unwrap().len(), 0);
    assert!(service.log().iter().any(|line| line.contains("given up")), "{:?}", service.log());
}

#[test]
fn an_image_that_takes_too_long_is_not_there_now_but_may_be_later() {
    let folder = tempfile::tempdir().unwrap();
    let (service, _) = watched_in(folder.path(), &[]);
    let ada = service.newcomer("ada");
    let post = ada.share(&picture::photograph(2_048, 2_048), "");
    let path = format!("/photos/{}/2048x2048", post["photo"]["id"].as_str().unwrap());
    service.terminate();
    service.assert_ends_well();

    let (service, admin) = watched_in(folder.path(), &["--decode-time", "1ms"]);
    let refused = ada.moved_to(service.base()).get(&path).refused_for(503, None);
    assert!(refused.header("retry-after").is_some(), "{refused}");
    assert_eq!(figure(&admin, "pinhole_queue_abandoned_total{queue=\"render\"}"), 1.0);
    service.kill();

    let (service, _) = watched_in(folder.path(), &[]);
    assert_eq!(ada.moved_to(service.base()).get(&path).expect(200).picture().width(), 2_048);
}
