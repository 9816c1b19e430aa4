//! Network faults between one node and its database or photo store: latency, resets, blackholes, lost
//! commits. A second node with a healthy network verifies the outcome.

use std::time::Duration;

use e2e::cluster::{Bucket, NetworkCondition, Postgres, Proxy};
use e2e::oracle::verify;
use e2e::{FormData, Response, Service, eventually, picture};

use crate::fixture::Fixture;
use crate::load::{start_workers, under_load, under_upload_load};

const SLOW: NetworkCondition = NetworkCondition::Latency(Duration::from_millis(200));

#[test]
fn no_acknowledged_write_is_lost_when_the_network_to_postgresql_fails() {
    let postgres = Postgres::standalone();
    let proxy = Proxy::to(postgres.address());
    let bucket = Bucket::fresh();
    let fixture = Fixture::new(postgres.url(), bucket.clone());
    let database = postgres.url().replace(&postgres.address().to_string(), &proxy.address().to_string());
    let node = fixture.node_with("faulty", &database, &bucket);
    let other = fixture.node("other");
    let mut workers = start_workers(node.base());

    under_load("200 ms of latency to PostgreSQL", &mut workers, |monitor| {
        monitor.wait_for_writes(40);
        proxy.set(SLOW);
        monitor.wait_for_writes(10);
        proxy.set(NetworkCondition::Healthy);
        monitor.wait_for_writes(40);
    });
    under_load("connection resets between a node and PostgreSQL", &mut workers, |monitor| {
        monitor.wait_for_writes(40);
        proxy.set(NetworkCondition::Reset);
        monitor.wait_for_rejection();
        // The fault does not affect the other node.
        other.assert_ready();
        proxy.set(NetworkCondition::Healthy);
        monitor.wait_for_writes(40);
    });
    under_load("a blackhole between a node and PostgreSQL", &mut workers, |monitor| {
        monitor.wait_for_writes(40);
        proxy.set(NetworkCondition::Blackhole);
        monitor.wait_for_rejection();
        other.assert_ready();
        proxy.set(NetworkCondition::Healthy);
        monitor.wait_for_writes(40);
    });
    for (condition, what) in [
        (NetworkCondition::DropCommits, "dropped commits"),
        (NetworkCondition::DropCommitResponses, "dropped responses to commits"),
    ] {
        under_load(what, &mut workers, |monitor| {
            monitor.wait_for_writes(20);
            proxy.set(condition);
            monitor.wait_for_rejection();
            proxy.set(NetworkCondition::Healthy);
            monitor.wait_for_writes(20);
        });
    }
    for base in [node.base(), other.base()] {
        verify(base, &mut workers);
    }
}

#[test]
fn no_acknowledged_upload_is_lost_when_the_network_to_the_photo_store_fails() {
    let postgres = Postgres::standalone();
    let bucket = Bucket::fresh();
    let proxy = Proxy::to(bucket.address());
    let fixture = Fixture::new(postgres.url(), bucket.clone());
    let node = fixture.node_with("faulty", &postgres.url(), &bucket.through(proxy.address()));
    let other = fixture.node("other");
    let mut workers = start_workers(node.base());
    let (reader, other_reader) = (node.anonymous(), other.anonymous());
    let photo = upload_profile_photo(&node);

    under_upload_load("200 ms of latency to the photo store", &mut workers, |monitor| {
        monitor.wait_for_writes(10);
        proxy.set(SLOW);
        monitor.wait_for_writes(10);
        proxy.set(NetworkCondition::Healthy);
        monitor.wait_for_writes(10);
    });
    for (condition, what, side) in
        [(NetworkCondition::Reset, "connection resets", 32), (NetworkCondition::Blackhole, "a blackhole", 48)]
    {
        let image = format!("/photos/{photo}/{side}x{side}");
        under_upload_load(&format!("{what} between a node and the photo store"), &mut workers, |monitor| {
            monitor.wait_for_writes(10);
            proxy.set(condition);
            // An image that is in no cache gets a 503, well before the uploads time out.
            assert_unavailable(&reader.get(&image));
            other_reader.get(&image).expect(200);
            // Waits for a rejected upload too, which must leave nothing behind.
            if condition == NetworkCondition::Reset {
                monitor.wait_for_rejection();
            }
            proxy.set(NetworkCondition::Healthy);
            monitor.wait_for_writes(10);
        });
        eventually("the image is served again", Duration::from_secs(30), || {
            Some(reader.get(&image)).filter(|response| response.status == 200)
        });
    }
    for base in [node.base(), other.base()] {
        verify(base, &mut workers);
    }
}

/// The profile photo of a user that no worker writes to.
fn upload_profile_photo(node: &Service) -> String {
    let form = FormData::photo(&picture::tiny());
    let user = node.new_user("reader").put("/me/photo", form).expect(200).json();
    user["photo"]["id"].as_str().unwrap().to_owned()
}

#[track_caller]
fn assert_unavailable(response: &Response) {
    assert_eq!(response.status, 503, "{response}");
    assert!(response.header("retry-after").is_some(), "{response}");
}
