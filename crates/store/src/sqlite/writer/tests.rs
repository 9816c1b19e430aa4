use std::pin::Pin;

use futures_util::FutureExt;
use futures_util::future::join_all;
use futures_util::poll;

use super::*;
use crate::key::Key;
use crate::sqlite::schema;

fn revisions() -> Arc<Revisions> {
    Arc::new(Revisions::of_batches())
}

fn open() -> (tempfile::TempDir, Writer) {
    let folder = tempfile::tempdir().unwrap();
    let conn = schema::open(&folder.path().join("pinhole.db")).unwrap();
    conn.execute_batch("CREATE TABLE notes (n INTEGER PRIMARY KEY)").unwrap();
    let checkpoint_after = Duration::from_millis(1);
    (folder, Writer::start(conn, Weak::new(), revisions(), None, checkpoint_after).unwrap())
}

async fn execute(writer: &Writer, sql: &'static str) -> Result<usize, Error> {
    writer.run(move |tx| async move { tx.execute(sql, &[]).await }.boxed()).await
}

async fn note(writer: &Writer, n: i64) -> Result<usize, Error> {
    writer
        .run(move |tx| async move { tx.execute("INSERT INTO notes VALUES ($1)", &[n.into()]).await }.boxed())
        .await
}

async fn notes(writer: &Writer) -> Vec<i64> {
    writer.run(|tx| tx.all("SELECT n FROM notes ORDER BY n", &[], |row| row.int(0)).boxed()).await.unwrap()
}

type Write<'w, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + 'w>>;

/// Occupies the writer with a write that ends when `()` is sent to it: writes queued until then share the
/// next commit.
async fn occupy(writer: &Writer) -> (Sender<()>, Write<'_, ()>) {
    let (start, started) = oneshot::channel();
    let (release, released) = crossbeam_channel::bounded::<()>(1);
    let mut first: Write<'_, ()> = Box::pin(writer.run(move |tx| {
        async move {
            start.send(()).unwrap();
            released.recv().unwrap();
            tx.publish(Key::POSTS);
            Ok(())
        }
        .boxed()
    }));
    assert!(poll!(&mut first).is_pending());
    started.await.unwrap();
    (release, first)
}

async fn queue<'w, T: 'w>(write: impl Future<Output = Result<T, Error>> + 'w) -> Write<'w, T> {
    let mut write: Write<'w, T> = Box::pin(write);
    assert!(poll!(&mut write).is_pending());
    write
}

#[tokio::test]
async fn writes_that_arrive_during_a_commit_share_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let conn = schema::open(&folder.path().join("pinhole.db")).unwrap();
    let revisions = revisions();
    let writer = Writer::start(conn, Weak::new(), revisions.clone(), None, Duration::from_secs(60)).unwrap();

    let (release, first) = occupy(&writer).await;
    let later = || {
        writer.run(move |tx| {
            tx.publish(Key::POSTS);
            async { Ok(()) }.boxed()
        })
    };
    let (second, third) = (queue(later()).await, queue(later()).await);
    release.send(()).unwrap();
    first.await.unwrap();
    second.await.unwrap();
    third.await.unwrap();
    assert_eq!(revisions.current(), 2);
}

#[tokio::test]
async fn a_failing_job_is_rolled_back_alone() {
    let (_folder, writer) = open();
    let outcomes = join_all((0..40).map(|n| note(&writer, n % 20))).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 20, "each number is inserted once");
    assert_eq!(notes(&writer).await.len(), 20);
}

#[tokio::test]
async fn a_panicking_job_fails_and_is_rolled_back() {
    let (_folder, writer) = open();
    let panicked = writer
        .run(|tx| {
            async move {
                tx.execute("INSERT INTO notes VALUES (1)", &[]).await?;
                if true {
                    panic!("on purpose");
                }
                Ok(())
            }
            .boxed()
        })
        .await;
    assert!(matches!(panicked, Err(Error::Panicked)));
    assert!(notes(&writer).await.is_empty());
    note(&writer, 1).await.unwrap();
}

/// SQLite rolls back the whole transaction by itself when the disk is full or fails.
#[tokio::test]
async fn a_transaction_rolled_back_by_sqlite_fails_its_own_writes_only() {
    let (_folder, writer) = open();
    let (release, first) = occupy(&writer).await;
    let before = queue(note(&writer, 1)).await;
    let rollback = queue(execute(&writer, "ROLLBACK")).await;
    let after = queue(note(&writer, 2)).await;
    release.send(()).unwrap();
    first.await.unwrap();
    assert!(before.await.is_err(), "a write that was rolled back must not be acknowledged");
    assert!(rollback.await.is_err());
    after.await.unwrap();
    assert_eq!(notes(&writer).await, [2]);
}

#[tokio::test]
async fn an_idle_writer_checkpoints_the_log() {
    let (folder, writer) = open();
    let log = || std::fs::metadata(folder.path().join("pinhole.db-wal")).unwrap().len();
    for n in 0..3 {
        note(&writer, n).await.unwrap();
        let truncated = async {
            while log() > 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), truncated).await.unwrap();
        assert_eq!(notes(&writer).await.len() as i64, n + 1);
    }
}

#[tokio::test]
async fn a_failed_commit_fails_every_write_in_it() {
    let (_folder, writer) = open();
    // A deferred foreign key lets the statement pass and the commit fail.
    let child = "CREATE TABLE child (n INTEGER REFERENCES notes (n) DEFERRABLE INITIALLY DEFERRED)";
    execute(&writer, child).await.unwrap();
    let (release, first) = occupy(&writer).await;
    let before = queue(note(&writer, 1)).await;
    let orphan = queue(execute(&writer, "INSERT INTO child VALUES (7)")).await;
    let after = queue(note(&writer, 2)).await;
    release.send(()).unwrap();
    first.await.unwrap();
    assert!(before.await.is_err() && orphan.await.is_err() && after.await.is_err());
    assert!(notes(&writer).await.is_empty());
    note(&writer, 3).await.unwrap();
}
