//! The metrics of the admin listener, and their protection.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use e2e::{Body, Client, Service};

const ADMIN_FLAGS: [&str; 2] = ["--admin-listen", "127.0.0.1:0"];

/// Starts a service with an admin listener; returns it with a client of that listener.
pub(crate) fn with_metrics(flags: &[&str]) -> (Service, Client) {
    with_admin(Service::start(&[&ADMIN_FLAGS, flags].concat()))
}

/// Like `with_metrics`, on an existing data folder.
pub(crate) fn with_metrics_in(data_dir: &Path, flags: &[&str]) -> (Service, Client) {
    with_admin(Service::start_in(data_dir, &[&ADMIN_FLAGS, flags].concat()))
}

fn with_admin(service: Service) -> (Service, Client) {
    let address = service.ready_field("metrics").expect("the ready event has the address of the metrics");
    let admin = Client::anonymous(address.trim_end_matches("/metrics"));
    (service, admin)
}

/// The current value of a series.
#[track_caller]
pub(crate) fn metric(admin: &Client, series: &str) -> f64 {
    let text = String::from_utf8(admin.get("/metrics").expect(200).bytes).unwrap();
    value(&text, series).unwrap_or_else(|| panic!("{series} is missing in {text}"))
}

/// The value of a series in a scrape; `series` is the name with its labels, exactly as exported.
pub(crate) fn value(text: &str, series: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
}

#[test]
fn metrics_count_requests_renders_cache_lookups_queues_and_bytes() {
    let (service, admin) = with_metrics(&[]);
    let ada = service.new_user("ada");
    let id = ada.share_tiny("counted");
    ada.post(&format!("/posts/{id}/likes"), Body::none()).expect(201);
    ada.delete(&format!("/posts/{id}/likes")).expect(200);
    let photo =
        ada.get(&format!("/posts/{id}")).expect(200).json()["photo"]["id"].as_str().unwrap().to_owned();
    for _ in 0..3 {
        ada.get(&format!("/photos/{photo}/64x64")).expect(200);
    }
    for _ in 0..3 {
        ada.get("/feed").expect(200);
    }
    ada.get("/posts/999999").expect(404);
    ada.get("/nowhere").expect(404);

    let response = admin.get("/metrics").expect(200);
    let text = String::from_utf8(response.bytes.clone()).unwrap();
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
    assert_eq!(count("GET", "/posts/{post_id}", 404), Some(1.0), "paths are counted by their route template");
    assert_eq!(count("GET", "(none)", 404), Some(1.0));
    assert_eq!(count("POST", "/posts/{post_id}/likes", 201), Some(1.0));
    assert_eq!(count("DELETE", "/posts/{post_id}/likes", 200), Some(1.0));
    let lookups = |cache: &str, result: &str| {
        value(&text, &format!("pinhole_cache_lookups_total{{cache=\"{cache}\",result=\"{result}\"}}"))
    };
    for (cache, hits, misses, entries) in [
        ("image_memory", 2.0, 1.0, 1.0),
        ("image_disk", 0.0, 1.0, 1.0),
        ("photos", 2.0, 1.0, 1.0),
        ("likes", 3.0, 1.0, 1.0),
        ("first_pages", 2.0, 1.0, 1.0),
    ] {
        let counted = (lookups(cache, "hit"), lookups(cache, "miss"));
        assert_eq!(counted, (Some(hits), Some(misses)), "{cache}: {text}");
        let found = value(&text, &format!("pinhole_cache_entries{{cache=\"{cache}\"}}"));
        assert!(found == Some(entries) || cache == "image_disk", "{cache}: {text}");
        assert_eq!(
            value(&text, &format!("pinhole_cache_evictions_total{{cache=\"{cache}\"}}")),
            Some(0.0),
            "{cache}"
        );
    }
    assert_eq!(value(&text, "pinhole_image_renders_total"), Some(1.0));
    assert_eq!(lookups("sessions", "miss"), Some(1.0), "{text}");
    assert_eq!(value(&text, "pinhole_photos"), Some(1.0));
    assert!(value(&text, "pinhole_stored_bytes").unwrap() > 0.0);
    for queue in ["hash", "ingest", "render", "avif", "write"] {
        assert_eq!(value(&text, &format!("pinhole_queue_depth{{queue=\"{queue}\"}}")), Some(0.0), "{queue}");
        assert_eq!(
            value(&text, &format!("pinhole_queue_rejected_total{{queue=\"{queue}\"}}")),
            Some(0.0),
            "{queue}"
        );
        let timed_out = format!("pinhole_queue_timed_out_total{{queue=\"{queue}\"}}");
        assert_eq!(value(&text, &timed_out), Some(0.0), "{queue}");
    }
    assert!(text.contains("pinhole_build_info{version=\""), "{text}");
}

#[test]
fn metrics_are_served_in_the_format_that_is_asked_for() {
    let (service, admin) = with_metrics(&[]);
    service.new_user("ada").share_tiny("counted");
    let scrape = |accept: &str| {
        let response = admin.request("GET", "/metrics").header("Accept", accept).send().expect(200);
        let media_type = response.header("content-type").unwrap().to_owned();
        (media_type, String::from_utf8(response.bytes).unwrap())
    };
    let (media_type, text) =
        scrape("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.2,*/*;q=0.1");
    assert!(media_type.starts_with("application/openmetrics-text; version=1.0.0"), "{media_type}");
    assert!(text.ends_with("# EOF\n") && text.contains("# TYPE pinhole_image_renders counter"), "{text}");
    let (media_type, text) = scrape("*/*");
    assert!(media_type.starts_with("text/plain; version=0.0.4"), "{media_type}");
    assert!(text.contains("# TYPE pinhole_image_renders_total counter\n") && !text.contains("EOF"), "{text}");
    assert_accepted_by_promtool(&text);
}

/// `promtool check metrics` parses the text and names what breaks the conventions of Prometheus.
#[track_caller]
fn assert_accepted_by_promtool(text: &str) {
    let program = std::env::var_os("PINHOLE_TEST_PROMTOOL").unwrap_or_else(|| "promtool".into());
    let mut promtool = Command::new(program);
    promtool.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut promtool = promtool.spawn().expect("promtool runs; scripts/test installs it");
    promtool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success() && printed.trim().is_empty(), "{printed}\n{text}");
}

/// More likes than the service caches for one user.
const LIKES: usize = 520;

#[test]
fn is_liked_is_correct_for_likes_beyond_the_cached_ones() {
    let (service, _) = with_metrics(&["--rate-limits", "off"]);
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    let unliked = ada.share_tiny("not liked");
    let posts: Vec<i64> = (0..LIKES).map(|n| ada.share_tiny(&format!("number {n}"))).collect();
    for id in &posts {
        bob.post(&format!("/posts/{id}/likes"), Body::none()).expect(201);
    }
    let likes = |id: i64| bob.get(&format!("/posts/{id}")).expect(200).json()["is_liked"] == true;
    let (oldest, newest) = (posts[0], posts[LIKES - 1]);
    for round in 0..3 {
        assert_eq!([oldest, newest, unliked].map(likes), [true, true, false], "round {round}");
        bob.delete(&format!("/posts/{oldest}/likes")).expect(200);
        assert!(!likes(oldest), "round {round}");
        bob.post(&format!("/posts/{oldest}/likes"), Body::none()).expect(201);
    }
}

#[test]
fn metrics_need_the_admin_listener_and_token() {
    let (service, admin) = with_metrics(&["--admin-token", "let-me-see"]);
    service.anonymous().get("/metrics").expect(404);
    admin.get("/metrics").expect(401);
    admin.request("GET", "/metrics").header("Authorization", "Bearer let-me-guess").send().expect(401);
    admin.request("GET", "/metrics").header("Authorization", "Bearer let-me-see").send().expect(200);
    admin.get("/feed").expect(404);
}
