//! `pinhole demo`: sample content at startup, a working service, and no files left afterwards.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::Path;

use e2e::{AuthMethod, FormData, Service, picture};
use serde_json::Value;

use crate::start::{assert_contains, run_failing};

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

fn feed(service: &Service) -> Vec<Value> {
    let page = service.anonymous().get("/feed?limit=100").expect(200).json();
    page["data"].as_array().unwrap().clone()
}

#[test]
fn the_demo_starts_with_sample_content_and_removes_its_folder() {
    let temporary = tempfile::tempdir().unwrap();
    let demo = Service::demo(temporary.path(), &["--listen", "127.0.0.1:0"]);
    assert!(demo.data_dir().starts_with(temporary.path()));

    let posts = feed(&demo);
    assert!(posts.len() >= 16, "{} posts", posts.len());
    let message = |post: &Value| post["message"].as_str().unwrap_or_default().to_owned();
    assert!(posts.iter().any(|post| message(post).is_empty()), "no post without a message");
    for piece in ["ß", "¡", "ハ", "جدتي", "\n\n"] {
        assert!(posts.iter().any(|post| message(post).contains(piece)), "no message contains {piece:?}");
    }
    assert!(posts.iter().all(|post| post["photo"]["alt"].is_string()), "every photo has alt text");
    let counts: BTreeSet<_> = posts.iter().map(|post| post["like_count"].as_i64().unwrap()).collect();
    assert_eq!(counts, (0..=6).collect());

    // Newest first, spread over several days.
    let times: Vec<String> = posts.iter().map(|post| post["created_at"].to_string()).collect();
    assert!(times.is_sorted_by(|newer, older| newer > older), "{times:?}");
    assert!(posts.is_sorted_by_key(|post| -post["id"].as_i64().unwrap()));
    let days: BTreeSet<&str> = times.iter().map(|time| &time[..11]).collect();
    assert!(days.len() >= 5, "{days:?}");

    for post in &posts {
        for photo in [&post["photo"], &post["user"]["photo"]] {
            let path = format!("/photos/{}/64x64", photo["id"].as_str().unwrap());
            assert_eq!(demo.anonymous().get(&path).expect(200).picture().width(), 64);
        }
    }

    // The printed account works, and its posts have the current time.
    let username = demo.ready_field("username").unwrap();
    let account = FormData::account(&username, &demo.ready_field("password").unwrap());
    let token = demo.anonymous().post("/login/username", account).expect(200).token();
    let guest = demo.anonymous().with_session(&username, AuthMethod::Bearer, &token);
    let reference = Service::shared().new_user("ada").share(&picture::tiny(), "hello");
    let own = guest.share(&picture::tiny(), "hello");
    assert!(own["created_at"].as_str() >= reference["created_at"].as_str(), "{own} before {reference}");
    assert_eq!(feed(&demo)[0]["id"], own["id"]);

    demo.terminate();
    demo.assert_clean_exit();
    assert!(is_empty(temporary.path()), "the demo left its folder behind");
}

#[test]
fn the_demo_uses_another_port_if_8080_is_taken_and_none_was_given() {
    let temporary = tempfile::tempdir().unwrap();
    // Fails when another process has the port, which serves the test as well.
    let default = TcpListener::bind("127.0.0.1:8080");
    let demo = Service::demo(temporary.path(), &[]);
    assert_ne!(demo.address().port(), 8080, "{default:?}");
    demo.assert_ready();
    demo.terminate();
    demo.assert_clean_exit();

    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    assert_contains(&run_failing(&["demo", "--listen", &address], &[]), &[&address, "--listen"]);
}

#[test]
fn the_demo_rejects_a_data_dir() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let printed = run_failing(&["demo", "--data-dir", data.to_str().unwrap()], &[]);
    assert_contains(&printed, &["--data-dir", "temporary folder", "pinhole serve"]);
    assert!(!data.exists());
}
