//! The demo: alive at once, like any other service while it runs, and gone without a trace.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::Path;

use e2e::{Carrier, Form, Service, picture};
use serde_json::Value;

use crate::start::{assert_says, refusal};

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

fn feed(service: &Service) -> Vec<Value> {
    let page = service.anyone().get("/feed?limit=100").expect(200).json();
    page["data"].as_array().unwrap().clone()
}

#[test]
fn it_is_full_of_life_and_leaves_nothing_behind() {
    let temporary = tempfile::tempdir().unwrap();
    let demo = Service::demo(temporary.path(), &["--listen", "127.0.0.1:0"]);
    assert!(demo.data_dir().starts_with(temporary.path()));

    let posts = feed(&demo);
    assert!(posts.len() >= 16, "{} posts", posts.len());
    let words = |post: &Value| post["message"].as_str().unwrap_or_default().to_owned();
    assert!(posts.iter().any(|post| words(post).is_empty()), "a photo may speak for itself");
    for piece in ["ß", "¡", "ハ", "جدتي", "\n\n"] {
        assert!(posts.iter().any(|post| words(post).contains(piece)), "nobody wrote {piece:?}");
    }
    assert!(posts.iter().all(|post| post["photo"]["alt"].is_string()), "every photo is described");
    let counts: BTreeSet<_> = posts.iter().map(|post| post["like_count"].as_i64().unwrap()).collect();
    assert_eq!(counts, (0..=6).collect());

    // Newest first, over some days, none of them to come.
    let told = |field: &str| posts.iter().map(|post| post[field].to_string()).collect::<Vec<_>>();
    let times = told("created_at");
    assert!(times.is_sorted_by(|newer, older| newer > older), "{times:?}");
    assert!(posts.is_sorted_by_key(|post| -post["id"].as_i64().unwrap()));
    let days: BTreeSet<&str> = times.iter().map(|time| &time[..11]).collect();
    assert!(days.len() >= 5, "{days:?}");

    for post in &posts {
        for photo in [&post["photo"], &post["user"]["photo"]] {
            let path = format!("/photos/{}/64x64", photo["id"].as_str().unwrap());
            assert_eq!(demo.anyone().get(&path).expect(200).picture().width(), 64);
        }
    }

    // Whoever follows the announcement can take part, now and not a week ago.
    let username = demo.announced("username").unwrap();
    let account = Form::account(&username, &demo.announced("password").unwrap());
    let token = demo.anyone().post("/login/username", account).expect(200).token();
    let guest = demo.anyone().holding(&username, Carrier::Bearer, &token);
    let elsewhere = Service::shared().newcomer("ada").share(&picture::tiny(), "hello");
    let own = guest.share(&picture::tiny(), "hello");
    assert!(own["created_at"].as_str() >= elsewhere["created_at"].as_str(), "{own} before {elsewhere}");
    assert_eq!(feed(&demo)[0]["id"], own["id"]);

    demo.terminate();
    demo.assert_ends_well();
    assert!(is_empty(temporary.path()), "the demo left its folder behind");
}

#[test]
fn it_takes_another_port_unless_one_was_asked_for() {
    let temporary = tempfile::tempdir().unwrap();
    // Taken by us, or by somebody else: taken it is.
    let usual = TcpListener::bind("127.0.0.1:8080");
    let demo = Service::demo(temporary.path(), &[]);
    assert_ne!(demo.address().port(), 8080, "{usual:?}");
    demo.assert_alive();
    demo.terminate();
    demo.assert_ends_well();

    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    assert_says(&refusal(&["demo", "--listen", &address], &[]), &[&address, "--listen"]);
}

#[test]
fn it_wants_no_folder_of_its_visitor() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let words = refusal(&["demo", "--data-dir", data.to_str().unwrap()], &[]);
    assert_says(&words, &["--data-dir", "temporary folder", "pinhole serve"]);
    assert!(!data.exists());
}
