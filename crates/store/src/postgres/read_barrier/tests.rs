use std::sync::atomic::{AtomicU64, Ordering};

use model::PostId;

use super::*;
use crate::changes::encode;
use crate::key::Key;
use crate::lock_key::LockKey;
use crate::postgres::test_database;
use crate::postgres::url::DatabaseUrl;
use crate::store::{Database, Store};

/// A node of the service: its store, and the revision of its last barrier.
struct Node {
    store: Store,
    revision: AtomicU64,
}

/// What a barrier has published.
#[derive(Debug, PartialEq, Eq)]
enum Published {
    Everything,
    /// The keys of these posts.
    Posts(Vec<i64>),
}

use Published::{Everything, Posts};

const NOTHING: Published = Posts(Vec::new());

fn key(post: i64) -> Change {
    Key::post(PostId(post)).into()
}

impl Node {
    async fn open(url: &DatabaseUrl) -> Self {
        let database = Database::Server { primary: url.clone(), replica: None };
        let node = Self { store: Store::open(&database, 1).await.unwrap(), revision: AtomicU64::new(0) };
        assert_eq!(node.published(), Everything, "nothing is valid at first");
        node
    }

    /// What this barrier has published.
    async fn barrier(&self) -> Published {
        self.store.read_barrier().await.unwrap();
        self.published()
    }

    fn published(&self) -> Published {
        let revisions = self.store.revisions();
        let since = self.revision.swap(revisions.current(), Ordering::Relaxed);
        if !revisions.is_unchanged(&[], since) {
            return Everything;
        }
        let is_changed = |id: &i64| !revisions.is_unchanged(&[Key::post(PostId(*id)).slot()], since);
        Posts((1..10).filter(is_changed).collect())
    }

    async fn commit(&self, post: i64) {
        let written = self.store.write(LockKey::Unshared, move |tx| {
            tx.publish(key(post));
            async { Ok(()) }.boxed()
        });
        written.await.unwrap();
    }
}

#[tokio::test]
async fn a_barrier_delivers_the_changes_of_every_node_once() {
    let url = test_database::create().await;
    let (one, other) = (Node::open(&url).await, Node::open(&url).await);
    for (node, post) in [&one, &other, &one].into_iter().zip(1..) {
        node.commit(post).await;
    }
    for node in [&one, &other] {
        assert_eq!(node.barrier().await, Posts(vec![1, 2, 3]));
        assert_eq!(node.barrier().await, NOTHING);
    }
}

#[tokio::test]
async fn a_transaction_that_commits_after_a_younger_one_is_delivered() {
    let url = test_database::create().await;
    let node = Node::open(&url).await;
    let mut older = test_database::connect(&url).await;
    let insert = "INSERT INTO changes (encoded) VALUES ($1)";
    older.client().batch_execute("BEGIN").await.unwrap();
    older.client().execute(insert, &[&encode(&[key(1)])]).await.unwrap();
    node.commit(2).await;
    assert_eq!(node.barrier().await, Posts(vec![2]));
    node.commit(3).await;
    older.client().batch_execute("COMMIT").await.unwrap();
    assert_eq!(node.barrier().await, Posts(vec![1, 3]));
    assert_eq!(node.barrier().await, NOTHING);
}

#[tokio::test]
async fn nothing_stays_valid_once_changes_may_be_missing() {
    let url = test_database::create().await;
    let node = Node::open(&url).await;
    let mut other = test_database::connect(&url).await;
    let too_many = format!("INSERT INTO changes (encoded) SELECT '' FROM generate_series(0, {MAX_CHANGES})");
    let closed = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = current_setting('application_name') AND pid <> pg_backend_pid()";
    for reason in [
        // Rows that this node has not seen were deleted.
        "UPDATE change_log SET horizon = CAST(CAST(CAST(CAST(pg_current_xact_id() AS TEXT) AS BIGINT) + 1 AS TEXT) AS XID8)",
        &too_many,
        // A change of a kind that a newer version knows.
        r"INSERT INTO changes (encoded) VALUES ('\xff')",
        closed,
    ] {
        other.client().batch_execute(reason).await.unwrap();
        assert_eq!(node.barrier().await, Everything, "{reason}");
        node.commit(1).await;
        // The horizon is in the future until then.
        while node.barrier().await != NOTHING {}
    }
}

#[tokio::test]
async fn old_changes_are_deleted() {
    let url = test_database::create().await;
    let node = Node::open(&url).await;
    node.commit(1).await;
    let mut other = test_database::connect(&url).await;
    let count = async |client: &tokio_postgres::Client| {
        client.query_one("SELECT count(*) FROM changes", &[]).await.unwrap().get::<_, i64>(0)
    };
    assert_eq!(count(other.client()).await, 1);
    let horizon = "SELECT CAST(pg_snapshot_xmax(pg_current_snapshot()) AS TEXT)";
    let horizon: String = other.client().query_one(horizon, &[]).await.unwrap().get(0);
    other.client().execute(PRUNE, &[&horizon]).await.unwrap();
    assert_eq!(count(other.client()).await, 0);
    assert_eq!(node.barrier().await, Everything);
    other.client().execute(PRUNE, &[&"1"]).await.unwrap();
    let kept: String =
        other.client().query_one("SELECT CAST(horizon AS TEXT) FROM change_log", &[]).await.unwrap().get(0);
    assert_eq!(kept, horizon, "the horizon never goes back");
}

#[test]
fn with_another_history_everything_has_changed() {
    let snapshot = |xmax| Snapshot { xmin: 10, xmax, in_progress: vec![] };
    let valid_for = ValidFor { snapshot: snapshot(20), timeline: 1 };
    let checked = |timeline, xmax| {
        let changes = Checked {
            snapshot: snapshot(xmax),
            timeline,
            flush_lsn: 0,
            horizon: 10,
            logged_timeline: timeline,
            encoded_changes: vec![encode(&[key(7)])],
        };
        changes.changes_since(Some(&valid_for))
    };
    assert_eq!(checked(1, 25), [key(7)]);
    assert_eq!(checked(2, 25)[0], Change::Everything, "after a promotion");
    assert_eq!(checked(1, 19)[0], Change::Everything, "fewer transactions than before");
}
