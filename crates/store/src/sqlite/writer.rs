//! The one thread that writes. It commits in batches: all queued writes share one sync of the disk, and each
//! is acknowledged after it.

use std::sync::Weak;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError};
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::pool::Pool;
use super::tx::SqliteTx;
use crate::changes::{Change, Listener};
use crate::error::Error;
use crate::work::{Slot, Work, run_on_sqlite};

/// Writes that may wait; more are rejected.
const QUEUE: usize = 1024;

/// Writes that share one commit at most: it bounds how long the first of them waits.
const BATCH: usize = 256;

type Write = Box<dyn FnOnce(&mut SqliteTx) -> Result<(), Error> + Send>;
type Reply = oneshot::Sender<Result<(), Error>>;

struct Job {
    write: Write,
    reply: Reply,
}

#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    rejected: AtomicU64,
}

impl Writer {
    /// `readers` and `listener` hear of a commit before its writes are acknowledged. After the time `idle`
    /// without a write, the log is checkpointed.
    pub(super) fn start(
        conn: Connection,
        readers: Weak<Pool>,
        listener: Listener,
        idle: Duration,
    ) -> std::io::Result<Self> {
        let (jobs, queue) = crossbeam_channel::bounded(QUEUE);
        let thread = std::thread::Builder::new()
            .name("store-write".into())
            .spawn(move || run(SqliteTx::new(conn), &queue, &readers, &listener, idle))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), rejected: AtomicU64::new(0) })
    }

    pub(super) fn queued(&self) -> usize {
        self.jobs.as_ref().map_or(0, Sender::len)
    }

    pub(super) fn rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    pub(super) async fn run<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        let (slot, result) = Slot::pair();
        self.queue(Box::new(move |tx| run_on_sqlite(tx, work).map(|written| slot.put(written)))).await?;
        result.take()
    }

    async fn queue(&self, write: Write) -> Result<(), Error> {
        let (reply, answer) = oneshot::channel();
        match self.jobs.as_ref().ok_or(Error::Closed)?.try_send(Job { write, reply }) {
            Ok(()) => answer.await.map_err(|_| Error::Closed)?,
            Err(TrySendError::Full(_)) => {
                self.rejected.fetch_add(1, Ordering::Relaxed);
                Err(Error::Busy)
            }
            Err(TrySendError::Disconnected(_)) => Err(Error::Closed),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the database writer had panicked");
        }
    }
}

/// Commits batches, and checkpoints when idle: where little is written, deleted rows would stay in the log
/// for long.
fn run(mut tx: SqliteTx, queue: &Receiver<Job>, readers: &Weak<Pool>, listener: &Listener, idle: Duration) {
    let mut is_checkpointed = false;
    loop {
        let next = if is_checkpointed { queue.recv().map_err(Into::into) } else { queue.recv_timeout(idle) };
        let first = match next {
            Ok(first) => Some(first),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if let Some(readers) = readers.upgrade() {
            readers.write_begins();
        }
        let ended = |changes: &[Change]| {
            if let Some(readers) = readers.upgrade() {
                readers.write_ended();
            }
            if !changes.is_empty() {
                listener(changes);
            }
        };
        match first {
            Some(first) => {
                commit_batch(&mut tx, first, queue, &ended);
                is_checkpointed = false;
            }
            None => {
                is_checkpointed = tx.checkpoint().unwrap_or_else(|error| {
                    tracing::warn!(%error, "checkpoint failed; it is tried again after the next write");
                    true
                });
                ended(&[]);
            }
        }
    }
}

fn commit_batch(tx: &mut SqliteTx, first: Job, queue: &Receiver<Job>, ended: &dyn Fn(&[Change])) {
    if let Err(error) = begin(tx) {
        return answer(first.reply, Err(error));
    }
    // Writes that arrive from now on share the next commit. If they joined this one, nearly all clients would
    // end up in one batch: the writer would wait while all of them are answered, and they while it writes.
    let waiting = queue.len().min(BATCH - 1);
    let mut replies: Vec<(Reply, Result<(), Error>)> = Vec::with_capacity(waiting + 1);
    for job in std::iter::once(first).chain(queue.try_iter().take(waiting)) {
        replies.push((job.reply, in_savepoint(tx, job.write)));
        // A failing disk makes SQLite roll back the whole transaction by itself. A savepoint would then open,
        // and its release commit, a transaction of its own; the rest of the batch waits for the next one.
        if !tx.is_open() {
            break;
        }
    }
    let committed = tx.control("COMMIT");
    if let Err(error) = &committed {
        tracing::error!(%error, writes = replies.len(), "commit failed; none of its writes was acknowledged");
        if let Err(error) = tx.end() {
            tracing::error!(%error, "rollback failed");
        }
    }
    // After a failed commit as well, which may have reached the disk: a needless invalidation costs one read.
    ended(&tx.take_changes());
    for (reply, outcome) in replies {
        // Even a failure may rest on what an earlier job of the batch wrote, so it waited for the commit.
        answer(reply, committed.clone().and(outcome));
    }
}

/// The send fails only when the caller has disconnected.
fn answer(reply: Reply, outcome: Result<(), Error>) {
    drop(reply.send(outcome));
}

fn begin(tx: &SqliteTx) -> Result<(), Error> {
    // Open only if the last rollback failed; nothing in it was acknowledged.
    tx.end()?;
    tx.control("BEGIN IMMEDIATE")
}

/// A job that fails is rolled back alone: the others of its batch keep what they wrote.
fn in_savepoint(tx: &mut SqliteTx, write: Write) -> Result<(), Error> {
    tx.control("SAVEPOINT job")?;
    let changes = tx.change_count();
    let outcome = write(tx);
    if outcome.is_err() {
        tx.truncate_changes(changes);
        tx.control("ROLLBACK TO job")?;
    }
    tx.control("RELEASE job")?;
    outcome
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::{Arc, Mutex};

    use futures_util::FutureExt;
    use futures_util::future::join_all;
    use futures_util::poll;
    use model::PostId;

    use super::*;
    use crate::sqlite::schema;

    fn open() -> (tempfile::TempDir, Writer) {
        let folder = tempfile::tempdir().unwrap();
        let conn = schema::open(&folder.path().join("pinhole.db")).unwrap();
        conn.execute_batch("CREATE TABLE notes (n INTEGER PRIMARY KEY)").unwrap();
        let idle = Duration::from_millis(1);
        (folder, Writer::start(conn, Weak::new(), Box::new(|_| {}), idle).unwrap())
    }

    async fn execute(writer: &Writer, sql: &'static str) -> Result<usize, Error> {
        writer.run(move |tx| async move { tx.execute(sql, &[]).await }.boxed()).await
    }

    async fn note(writer: &Writer, n: i64) -> Result<usize, Error> {
        writer
            .run(move |tx| {
                async move { tx.execute("INSERT INTO notes VALUES ($1)", &[n.into()]).await }.boxed()
            })
            .await
    }

    async fn notes(writer: &Writer) -> Vec<i64> {
        writer
            .run(|tx| tx.all("SELECT n FROM notes ORDER BY n", &[], |row| row.int(0)).boxed())
            .await
            .unwrap()
    }

    type Write<'w, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + 'w>>;

    /// Occupies the writer with a write that ends when it is released: what is queued meanwhile shares the
    /// next commit.
    async fn occupy(writer: &Writer) -> (Sender<()>, Write<'_, ()>) {
        let (start, started) = oneshot::channel();
        let (release, released) = crossbeam_channel::bounded::<()>(1);
        let mut first: Write<'_, ()> = Box::pin(writer.run(move |tx| {
            async move {
                start.send(()).unwrap();
                released.recv().unwrap();
                tx.record_change(Change::Post(PostId(1)));
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
        let batches = Arc::new(Mutex::new(Vec::new()));
        let heard = batches.clone();
        let listener: Listener = Box::new(move |changes| heard.lock().unwrap().push(changes.len()));
        let writer = Writer::start(conn, Weak::new(), listener, Duration::from_secs(60)).unwrap();

        let (release, first) = occupy(&writer).await;
        let later = |id| {
            writer.run(move |tx| {
                tx.record_change(Change::Post(PostId(id)));
                async { Ok(()) }.boxed()
            })
        };
        let (second, third) = (queue(later(2)).await, queue(later(3)).await);
        release.send(()).unwrap();
        first.await.unwrap();
        second.await.unwrap();
        third.await.unwrap();
        assert_eq!(*batches.lock().unwrap(), [1, 2]);
    }

    #[tokio::test]
    async fn a_failing_job_is_rolled_back_alone() {
        let (_folder, writer) = open();
        let answers = join_all((0..40).map(|n| note(&writer, n % 20))).await;
        assert_eq!(answers.iter().filter(|a| a.is_ok()).count(), 20, "each number is inserted once");
        assert_eq!(notes(&writer).await.len(), 20);
    }

    #[tokio::test]
    async fn a_panicking_job_is_an_error_and_leaves_nothing() {
        let (_folder, writer) = open();
        let broken = writer
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
        assert!(matches!(broken, Err(Error::Panicked)));
        assert!(notes(&writer).await.is_empty());
        note(&writer, 1).await.unwrap();
    }

    /// What SQLite does when the disk is full or fails: the whole transaction is gone.
    #[tokio::test]
    async fn a_transaction_that_ended_by_itself_fails_the_writes_in_it_and_no_others() {
        let (_folder, writer) = open();
        let (release, first) = occupy(&writer).await;
        let before = queue(note(&writer, 1)).await;
        let ending = queue(execute(&writer, "ROLLBACK")).await;
        let behind = queue(note(&writer, 2)).await;
        release.send(()).unwrap();
        first.await.unwrap();
        assert!(before.await.is_err(), "it was rolled back, so it must not be acknowledged");
        assert!(ending.await.is_err());
        behind.await.unwrap();
        assert_eq!(notes(&writer).await, [2]);
    }

    #[tokio::test]
    async fn an_idle_writer_checkpoints_the_log() {
        let (folder, writer) = open();
        let log = || std::fs::metadata(folder.path().join("pinhole.db-wal")).unwrap().len();
        for n in 0..3 {
            note(&writer, n).await.unwrap();
            let emptied = async {
                while log() > 0 {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(Duration::from_secs(60), emptied).await.unwrap();
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
        let behind = queue(note(&writer, 2)).await;
        release.send(()).unwrap();
        first.await.unwrap();
        assert!(before.await.is_err() && orphan.await.is_err() && behind.await.is_err());
        assert!(notes(&writer).await.is_empty());
        note(&writer, 3).await.unwrap();
    }
}
