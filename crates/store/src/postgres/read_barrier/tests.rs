use parking_lot::Mutex;

use model::{PostId, UserId};

use super::*;
use crate::changes::encode;
use crate::lock_key::LockKey;
use crate::postgres::test_database;
use crate::postgres::url::DatabaseUrl;
use crate::store::{Database, Store};

/// A node of the service: its store, and the changes that its listener got.
struct Node {
    store: Store,
    changes: Arc<Mutex<Vec<Change>>>,
}

impl Node {
    async fn open(url: &DatabaseUrl) -> Self {
        let changes = Arc::<Mutex<Vec<Change>>>::default();
        let recorded = changes.clone();
        let listener = Box::new(move |changes: &[Change]| recorded.lock().extend_from_slice(changes));
        let database = Database::Server { primary: url.clone(), replica: None };
        let store = Store::open(&database, 1, listener).await.unwrap();
        assert_eq!(std::mem::take(&mut *changes.lock()), [Change::Everything], "nothing is valid at first");
        Self { store, changes }
    }

    /// What the listener got by this barrier.
    async fn barrier(&self) -> Vec<Change> {
        self.store.read_barrier().await.unwrap();
        std::mem::take(&mut *self.changes.lock())
    }

    async fn commit(&self, change: Change) {
        let written = self.store.write(LockKey::Unshared, move |tx| {
            tx.record_change(change);
            async { Ok(()) }.boxed()
        });
        written.await.unwrap();
    }
}

#[tokio::test]
async fn a_barrier_delivers_the_changes_of_every_node_once() {
    let url = test_database::create().await;
    let (one, other) = (Node::open(&url).await, Node::open(&url).await);
    let changes = [Change::Post(PostId(1)), Change::Like(UserId(2), PostId(1)), Change::User(UserId(2))];
    for (node, change) in [&one, &other, &one].into_iter().zip(changes) {
        node.commit(change).await;
    }
    for node in [&one, &other] {
        assert_eq!(node.barrier().await, changes);
        assert_eq!(node.barrier().await, []);
    }
}

#[tokio::test]
async fn a_transaction_that_commits_after_a_younger_one_is_delivered() {
    let url = test_database::create().await;
    let node = Node::open(&url).await;
    let mut older = test_database::connect(&url).await;
    let insert = async |client: &tokio_postgres::Client, change| {
        client.execute("INSERT INTO changes (encoded) VALUES ($1)", &[&encode(&[change])]).await.unwrap();
    };
    older.client().batch_execute("BEGIN").await.unwrap();
    insert(older.client(), Change::Post(PostId(1))).await;
    node.commit(Change::Post(PostId(2))).await;
    assert_eq!(node.barrier().await, [Change::Post(PostId(2))]);
    node.commit(Change::Post(PostId(3))).await;
    older.client().batch_execute("COMMIT").await.unwrap();
    let mut delivered = node.barrier().await;
    delivered.sort_by_key(|change| format!("{change:?}"));
    assert_eq!(delivered, [Change::Post(PostId(1)), Change::Post(PostId(3))]);
    assert_eq!(node.barrier().await, []);
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
        assert_eq!(node.barrier().await.first(), Some(&Change::Everything), "{reason}");
        node.commit(Change::Post(PostId(1))).await;
        // The horizon is in the future until then.
        while !node.barrier().await.is_empty() {}
    }
}

#[tokio::test]
async fn old_changes_are_deleted() {
    let url = test_database::create().await;
    let node = Node::open(&url).await;
    node.commit(Change::Post(PostId(1))).await;
    let mut other = test_database::connect(&url).await;
    let count = async |client: &tokio_postgres::Client| {
        client.query_one("SELECT count(*) FROM changes", &[]).await.unwrap().get::<_, i64>(0)
    };
    assert_eq!(count(other.client()).await, 1);
    let horizon = "SELECT CAST(pg_snapshot_xmax(pg_current_snapshot()) AS TEXT)";
    let horizon: String = other.client().query_one(horizon, &[]).await.unwrap().get(0);
    other.client().execute(PRUNE, &[&horizon]).await.unwrap();
    assert_eq!(count(other.client()).await, 0);
    assert_eq!(node.barrier().await, [Change::Everything]);
    other.client().execute(PRUNE, &[&"1"]).await.unwrap();
    let kept: String =
        other.client().query_one("SELECT CAST(horizon AS TEXT) FROM change_log", &[]).await.unwrap().get(0);
    assert_eq!(kept, horizon, "the horizon never goes back");
}

#[test]
fn another_history_invalidates_everything() {
    let snapshot = |xmax| Snapshot { xmin: 10, xmax, in_progress: vec![] };
    let valid_for = ValidFor { snapshot: snapshot(20), timeline: 1 };
    let checked = |timeline, xmax| {
        let changes = Checked {
            snapshot: snapshot(xmax),
            timeline,
            flush_lsn: 0,
            horizon: 10,
            logged_timeline: timeline,
            encoded_changes: vec![encode(&[Change::Post(PostId(7))])],
        };
        changes.changes_since(Some(&valid_for))
    };
    assert_eq!(checked(1, 25), [Change::Post(PostId(7))]);
    assert_eq!(checked(2, 25)[0], Change::Everything, "after a promotion");
    assert_eq!(checked(1, 19)[0], Change::Everything, "fewer transactions than before");
}
