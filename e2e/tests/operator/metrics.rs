//! Metrics: on a listener of their own, and saying what happened.

use std::path::Path;

use e2e::{Body, Client, Service};

const WATCHED: [&str; 2] = ["--admin-listen", "127.0.0.1:0"];

/// Starts a service with metrics and returns it with a client of their listener.
pub(crate) fn watched(flags: &[&str]) -> (Service, Client) {
    with_admin(Service::start(&[&WATCHED, flags].concat()))
}

/// The same on a folder that was there before.
pub(crate) fn watched_in(data_dir: &Path, flags: &[&str]) -> (Service, Client) {
    with_admin(Service::start_in(data_dir, &[&WATCHED, flags].concat()))
}

fn with_admin(service: Service) -> (Service, Client) {
    let address = service.announced("metrics").expect("the address of the metrics is announced");
    let admin = Client::anonymous(address.trim_end_matches("/metrics"));
    (service, admin)
}

/// What a series says right now.
#[track_caller]
pub(crate) fn figure(admin: &Client, series: &str) -> f64 {
    let text = String::from_utf8(admin.get("/metrics").expect(200).bytes).unwrap();
    value(&text, series).unwrap_or_else(|| panic!("{series} is missing in {text}"))
}

/// The value of a series, written exactly as in the answer.
pub(crate) fn value(text: &str, series: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
}

#[test]
fn they_count_requests_images_queues_and_bytes() {
    let (service, admin) = watched(&[]);
    let ada = service.newcomer("ada");
    let id = ada.share_tiny("counted");
    ada.post(&format!("/posts/{id}/likes"), Body::none()).expect(201);
    ada.delete(&format!("/posts/{id}/likes")).expect(200);
    let photo =
        ada.get(&format!("/posts/{id}")).expect(200).json()["photo"]["id"].as_str().unwrap().to_owned();
    for _ in 0..3 {
        ada.get(&format!("/photos/{photo}/64x64")).expect(200);
    }
    // The first one begins to watch the likes on its posts, the second is kept.
    for _ in 0..3 {
        ada.get("/feed").expect(200);
    }
    ada.get("/posts/999999").expect(404);
    ada.get("/nowhere").expect(404);

    let answer = admin.get("/metrics").expect(200);
    let text = String::from_utf8(answer.bytes.clone()).unwrap();
    let count = |method: &str, route: &str, status: u16| {
        value(
            &text,
            &format!(
                "http_server_request_duration_seconds_count{{http_request_method=\"{method}\",\
                 http_route=\"{route}\",http_response_status_code=\"{status}\"}}"
            ),
        )
    };
    assert_eq!(count("POST", "/posts", 201), Some(1.0), "{text}");
    assert_eq!(count("GET", "/posts/{post_id}", 200), Some(1.0));
    assert_eq!(count("GET", "/posts/{post_id}", 404), Some(1.0), "addresses are counted by their template");
    assert_eq!(count("GET", "(none)", 404), Some(1.0));
    assert_eq!(count("POST", "/posts/{post_id}/likes", 201), Some(1.0));
    assert_eq!(count("DELETE", "/posts/{post_id}/likes", 200), Some(1.0));
    let looked_up = |level: &str, result: &str| {
        value(&text, &format!("pinhole_image_cache_lookups_total{{level=\"{level}\",result=\"{result}\"}}"))
    };
    assert_eq!((looked_up("memory", "hit"), looked_up("memory", "miss")), (Some(2.0), Some(1.0)), "{text}");
    assert_eq!((looked_up("disk", "hit"), looked_up("disk", "miss")), (Some(0.0), Some(1.0)), "{text}");
    assert_eq!(value(&text, "pinhole_image_renders_total"), Some(1.0));
    assert_eq!(value(&text, "pinhole_image_cache_entries{level=\"memory\"}"), Some(1.0));
    assert_eq!(value(&text, "pinhole_image_cache_evictions_total{level=\"memory\"}"), Some(0.0));
    let recalled = |kind: &str, result: &str| {
        value(&text, &format!("pinhole_memory_lookups_total{{kind=\"{kind}\",result=\"{result}\"}}"))
    };
    for (kind, hits, misses) in [("photos", 3.0, 1.0), ("likes", 2.0, 1.0), ("feed", 1.0, 2.0)] {
        assert_eq!(
            (recalled(kind, "hit"), recalled(kind, "miss")),
            (Some(hits), Some(misses)),
            "{kind}: {text}"
        );
        assert_eq!(value(&text, &format!("pinhole_memory_entries{{kind=\"{kind}\"}}")), Some(1.0), "{kind}");
    }
    assert_eq!(recalled("sessions", "miss"), Some(1.0), "{text}");
    assert_eq!(value(&text, "pinhole_photos"), Some(1.0));
    assert!(value(&text, "pinhole_stored_bytes").unwrap() > 0.0);
    for queue in ["hash", "ingest", "render", "write"] {
        assert_eq!(value(&text, &format!("pinhole_queue_depth{{queue=\"{queue}\"}}")), Some(0.0), "{queue}");
        assert_eq!(
            value(&text, &format!("pinhole_queue_shed_total{{queue=\"{queue}\"}}")),
            Some(0.0),
            "{queue}"
        );
        let abandoned = format!("pinhole_queue_abandoned_total{{queue=\"{queue}\"}}");
        assert_eq!(value(&text, &abandoned), Some(0.0), "{queue}");
    }
    assert!(text.contains("pinhole_build_info{version=\""), "{text}");
    assert!(text.ends_with("# EOF\n"));
}

/// More likes than are remembered of everybody.
const LIKES: usize = 520;

#[test]
fn older_likes_are_remembered_for_whoever_asks_again_and_again_and_stay_right() {
    let (service, admin) = watched(&["--rate-limits", "off"]);
    let (ada, bob) = (service.newcomer("ada"), service.newcomer("bob"));
    let unliked = ada.share_tiny("nobody's favourite");
    let posts: Vec<i64> = (0..LIKES).map(|n| ada.share_tiny(&format!("number {n}"))).collect();
    for id in &posts {
        bob.post(&format!("/posts/{id}/likes"), Body::none()).expect(201);
    }
    let likes = |id: i64| bob.get(&format!("/posts/{id}")).expect(200).json()["is_liked"].clone();
    let misses = || figure(&admin, "pinhole_memory_lookups_total{kind=\"likes\",result=\"miss\"}");
    let look_around = || {
        for round in 0..80 {
            assert_eq!((likes(posts[0]), likes(unliked)), (true.into(), false.into()), "round {round}");
        }
    };
    let before = misses();
    look_around();
    assert_eq!(misses() - before, 2.0, "once for the newest, once more for the older ones");
    for _ in 0..3 {
        bob.delete(&format!("/posts/{}/likes", posts[0])).expect(200);
        assert_eq!(likes(posts[0]), false);
        bob.post(&format!("/posts/{}/likes", posts[0]), Body::none()).expect(201);
        look_around();
    }
}

#[test]
fn they_are_not_for_the_public() {
    let (service, admin) = watched(&["--admin-token", "let-me-see"]);
    service.anyone().get("/metrics").expect(404);
    admin.get("/metrics").expect(401);
    admin.request("GET", "/metrics").header("Authorization", "Bearer let-me-guess").send().expect(401);
    admin.request("GET", "/metrics").header("Authorization", "Bearer let-me-see").send().expect(200);
    admin.get("/feed").expect(404);
}
