//! Two versions side by side during a step of the schema. There is no earlier release to run, so the test
//! does to the schema what another version would do.

use std::time::Duration;

use e2e::cluster::{Bucket, Postgres};
use e2e::oracle::verify;
use e2e::{FormData, concurrently, eventually};

use crate::fixture::Fixture;
use crate::load::{start_workers, under_load};

/// Executes statements in the service's database.
fn execute(postgres: &Postgres, statements: &str) {
    postgres.query_in("pinhole", statements);
}

#[test]
fn nodes_continue_when_a_newer_version_has_upgraded_the_schema() {
    let postgres = Postgres::standalone();
    let fixture = Fixture::new(postgres.url(), Bucket::fresh());
    let nodes = fixture.nodes::<2>();
    let mut workers = start_workers(nodes[0].base());
    let reader = nodes[1].new_user("reader");
    let own = reader.share_tiny("before");

    under_load("a step of the schema by a newer version", &mut workers, |monitor| {
        monitor.wait_for_writes(40);
        // A transaction each: one that locked several tables could deadlock with the writes of the nodes.
        for statement in [
            "ALTER TABLE posts ADD COLUMN camera TEXT",
            "ALTER TABLE users ADD COLUMN language TEXT NOT NULL DEFAULT 'en'",
            "CREATE TABLE albums (user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE)",
            "UPDATE pinhole_schema SET version = version + 1",
        ] {
            execute(&postgres, statement);
        }
        monitor.wait_for_writes(40);
        // A node of the newer version edits a post and reports it as a kind of change that these nodes do not
        // know.
        for round in 0..5 {
            let message = format!("round {round}");
            assert_eq!(reader.find_in_feed(own).unwrap()["id"], own);
            execute(
                &postgres,
                &format!(
                    "BEGIN;
                     UPDATE posts SET message = '{message}' WHERE id = {own};
                     INSERT INTO changes (encoded) VALUES ('\\xfe0102');
                     COMMIT;"
                ),
            );
            for node in &nodes {
                let seen = reader.with_base(node.base()).find_in_feed(own).unwrap();
                assert_eq!(seen["message"], message, "{seen}");
            }
        }
        monitor.wait_for_writes(40);
    });
    reader.delete(&format!("/posts/{own}")).expect(200);
    for node in &nodes {
        verify(node.base(), &mut workers);
    }
    let rejected = fixture.start_fails("late");
    assert!(rejected.contains("newer"), "{rejected}");
}

#[test]
fn nodes_that_start_together_upgrade_an_older_schema() {
    let postgres = Postgres::standalone();
    let fixture = Fixture::new(postgres.url(), Bucket::fresh());
    let before = fixture.node("node0");
    let ada = before.new_user("ada");
    let id = ada.share_tiny("#from the version before");
    drop(before);
    execute(
        &postgres,
        "BEGIN; ALTER TABLE users DROP COLUMN network; ALTER TABLE idempotency_keys DROP COLUMN digest;
         DROP TABLE post_tags; DROP FUNCTION mark_tags_unindexed CASCADE; DROP TABLE counted_posts;
         ALTER TABLE recovery_codes DROP COLUMN made_by; DROP TABLE held_names;
         UPDATE pinhole_schema SET version = 8; COMMIT;",
    );
    let nodes = concurrently(3, |n| fixture.node(&format!("node{n}")));
    eventually("the tags of posts from before are indexed", Duration::from_secs(60), || {
        let page = ada.with_base(nodes[0].base()).get("/tags/from/posts").expect(200).json();
        (page["data"][0]["id"] == id).then_some(())
    });
    for (round, node) in nodes.iter().enumerate() {
        let ada = ada.with_base(node.base());
        assert_eq!(ada.find_in_feed(id).unwrap()["id"], id);
        let message = format!("edited on node {round}");
        ada.put(&format!("/posts/{id}"), FormData::message(&message)).expect(200);
        for reader in &nodes {
            let seen = ada.with_base(reader.base()).find_in_feed(id).unwrap();
            assert_eq!(seen["message"], message, "{seen}");
        }
    }
}
