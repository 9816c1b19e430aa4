//! Reads from a replica: none is stale, whatever the replica follows.

use std::time::Duration;

use e2e::cluster::{Bucket, Postgres, TempHome, database_url};
use e2e::{Body, Client, FormData, Service, eventually};

const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

fn node(home: &TempHome, database: &str, replica: &Postgres) -> Service {
    let bucket = Bucket::fresh();
    let flags =
        ["--database-url", database, "--database-read-url", &replica.url(), "--blobs-url", bucket.url()];
    Service::with_environment(&home.path().join("node"), &flags, bucket.variables())
}

/// Edits and likes are in the author's list of posts, which no node caches.
fn assert_no_stale_read(author: &Client, fan: &Client, post: i64) {
    let (path, list) = (format!("/posts/{post}"), format!("/users/{}/posts", author.username()));
    for round in 0..20 {
        let (message, is_liked) = (format!("round {round}"), round % 2 == 0);
        author.put(&path, FormData::message(&message)).expect(200);
        let likes = format!("{path}/likes");
        if is_liked {
            fan.post(&likes, Body::none()).expect(201)
        } else {
            fan.delete(&likes).expect(200)
        };
        let seen = fan.get(&list).expect(200).json()["data"][0].clone();
        assert_eq!(seen["message"], message, "{seen}");
        assert_eq!((&seen["is_liked"], &seen["like_count"]), (&is_liked.into(), &i64::from(is_liked).into()));
    }
}

/// How many connections of the service this server has.
fn connections(server: &Postgres) -> usize {
    let count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pinhole'";
    server.query(count).parse().unwrap()
}

#[test]
fn reads_from_a_replica_see_every_acknowledged_write() {
    let primary = Postgres::standalone();
    let replica = primary.standby("replica");
    let home = TempHome::new();
    let node = node(&home, &primary.url(), &replica);
    let (ada, bob) = (node.new_user("ada"), node.new_user("bob"));
    let post = ada.share_tiny("first");
    assert_no_stale_read(&ada, &bob, post);
    assert!(connections(&replica) > 0, "the replica was not used");
    replica.query("SELECT pg_wal_replay_pause()");
    assert_no_stale_read(&ada, &bob, post);
    replica.query("SELECT pg_wal_replay_resume()");
    assert_no_stale_read(&ada, &bob, post);
}

#[test]
fn a_replica_that_cannot_follow_a_promoted_primary_is_not_read_from() {
    let mut primary = Postgres::standalone();
    let mut standby = primary.standby("standby");
    let replica = primary.standby("replica");
    let home = TempHome::new();
    let node = node(&home, &database_url(&[&primary, &standby]), &replica);
    let (ada, bob) = (node.new_user("ada"), node.new_user("bob"));
    let post = ada.share_tiny("first");
    assert_no_stale_read(&ada, &bob, post);

    let replayed = |server: &Postgres| server.query("SELECT pg_last_wal_replay_lsn() - '0/0'::pg_lsn");
    let written = |server: &Postgres| server.query("SELECT pg_current_wal_flush_lsn() - '0/0'::pg_lsn");
    let has_replayed = |server: &Postgres| {
        let target = written(&primary);
        eventually("the WAL is replayed", WAIT_TIMEOUT, || {
            let (replayed, target): (u64, u64) = (replayed(server).parse().unwrap(), target.parse().unwrap());
            (replayed >= target).then_some(())
        });
    };
    has_replayed(&standby);
    // The replica gets WAL that the standby has not, so that its LSN stays ahead of the new primary's.
    standby.stop_immediate();
    primary.query("SELECT pg_logical_emit_message(false, 'pinhole', repeat('x', 50000000))");
    primary.query("SELECT pg_switch_wal()");
    has_replayed(&replica);
    primary.kill();
    standby.start();
    standby.promote();
    let ahead: u64 = replayed(&replica).parse().unwrap();
    eventually("writes are accepted again", WAIT_TIMEOUT, || {
        let edited = ada.put(&format!("/posts/{post}"), FormData::message("after"));
        (edited.status == 200).then_some(())
    });
    assert_no_stale_read(&ada, &bob, post);
    assert!(ahead > written(&standby).parse().unwrap(), "the replica must be ahead for this test");
}
