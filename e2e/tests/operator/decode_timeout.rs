//! Decodes that exceed `--decode-time`.

use std::time::Duration;

use e2e::{FormData, eventually, picture};

use crate::metrics::{metric, with_metrics, with_metrics_in};

const TIMED_OUT: &str = "pinhole_queue_timed_out_total{queue=\"ingest\"}";
const QUEUE_DEPTH: &str = "pinhole_queue_depth{queue=\"ingest\"}";

#[test]
fn an_upload_that_exceeds_the_decode_time_is_rejected() {
    // No machine decodes 24 megapixels within a millisecond.
    let (service, admin) = with_metrics(&["--decode-time", "1ms", "--pixel-threads", "1"]);
    let ada = service.new_user("ada");
    let large = picture::jpeg(&picture::plain(6_000, 4_000, picture::BLUE));
    for _ in 0..4 {
        // Each uses another thread, since the one before may still be decoding.
        let rejected = ada.post("/posts", FormData::photo(&large)).expect_error_for(400, Some("photo"));
        let message = rejected.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("too long") && message.contains("JPEG"), "{message}");
    }
    assert_eq!(metric(&admin, TIMED_OUT), 4.0);
    service.assert_ready();

    // A timed-out decode still runs to its end, releases its memory, and leaves no file.
    eventually("the ingest queue is empty", Duration::from_secs(60), || {
        (metric(&admin, QUEUE_DEPTH) == 0.0).then_some(())
    });
    assert!(service.files("photos").is_empty(), "{:?}", service.files("photos"));
    assert_eq!(ada.get("/feed").expect(200).json()["data"].as_array().unwrap().len(), 0);
    service.assert_logged(&["job timed out"]);
}

#[test]
fn a_render_that_exceeds_the_decode_time_returns_503_and_can_be_retried() {
    let folder = tempfile::tempdir().unwrap();
    let (service, _) = with_metrics_in(folder.path(), &[]);
    let ada = service.new_user("ada");
    let post = ada.share(&picture::photograph(2_048, 2_048), "");
    let path = format!("/photos/{}/2048x2048", post["photo"]["id"].as_str().unwrap());
    service.terminate();
    service.assert_clean_exit();

    let (service, admin) = with_metrics_in(folder.path(), &["--decode-time", "1ms"]);
    let response = ada.with_base(service.base()).get(&path).expect_error_for(503, None);
    assert!(response.header("retry-after").is_some(), "{response}");
    assert_eq!(metric(&admin, "pinhole_queue_timed_out_total{queue=\"render\"}"), 1.0);
    service.kill();

    let (service, _) = with_metrics_in(folder.path(), &[]);
    assert_eq!(ada.with_base(service.base()).get(&path).expect(200).picture().width(), 2_048);
}
