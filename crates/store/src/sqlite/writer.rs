//! The one thread that writes. It commits in groups: everything that is waiting shares one sync of the
//! disk, and everyone is answered after it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Weak;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::tx::{Tx, ready};
use crate::{Change, Error, Listener, Once};

use super::pool::Pool;

/// Writes that may wait; past that, callers are told to come back.
const QUEUE: usize = 1024;

/// Writes that share one commit at most, so that the first of them does not wait for ever.
const GROUP: usize = 256;

/// Runs in the open transaction (or learns that there is none) and returns how to answer the caller
/// once the group's fate is known.
type Job = Box<dyn FnOnce(Result<&mut Tx, Error>) -> Settle + Send>;
type Settle = Box<dyn FnOnce(Result<(), Error>)>;

#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    shed: AtomicU64,
}

impl Writer {
    /// `readers` and `listener` hear of every change once it is committed, and before its maker does. When nothing was
    /// written for the time of a `pause`, the log is emptied.
    pub(super) fn start(
        conn: Connection,
        readers: Weak<Pool>,
        listener: Listener,
        pause: Duration,
    ) -> std::io::Result<Self> {
        let (jobs, queue) = crossbeam_channel::bounded(QUEUE);
        let thread = std::thread::Builder::new()
            .name("store-write".into())
            .spawn(move || work(Tx::on_sqlite(conn), &queue, &readers, &listener, pause))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), shed: AtomicU64::new(0) })
    }

    pub(super) fn queued(&self) -> usize {
        self.jobs.as_ref().map_or(0, Sender::len)
    }

    pub(super) fn shed(&self) -> u64 {
        self.shed.load(Ordering::Relaxed)
    }

    pub(super) async fn run<T: Send + 'static>(&self, work: impl Once<T>) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |tx| {
            let outcome = tx.and_then(|tx| in_savepoint(tx, work));
            // Even a refusal may rest on what an earlier job of the group wrote, so it waits as well.
            // A caller that went away needs no answer.
            Box::new(move |fate| drop(reply.send(fate.and(outcome))))
        });
        match self.jobs.as_ref().ok_or(Error::Closed)?.try_send(job) {
            Ok(()) => answer.await.map_err(|_| Error::Closed)?,
            Err(TrySendError::Full(_)) => {
                self.shed.fetch_add(1, Ordering::Relaxed);
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

/// Commits what comes, and empties the log in a pause: where little is written, what was deleted would lie in it for long.
fn work(mut tx: Tx, queue: &Receiver<Job>, readers: &Weak<Pool>, listener: &Listener, pause: Duration) {
    let mut log_is_empty = false;
    loop {
        let next = if log_is_empty { queue.recv().map_err(Into::into) } else { queue.recv_timeout(pause) };
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
                commit_group(&mut tx, first, queue, &ended);
                log_is_empty = false;
            }
            None => {
                log_is_empty = tx.empty_log().unwrap_or_else(|error| {
                    tracing::warn!(%error, "the database's log could not be emptied; after the next write it is tried again");
                    true
                });
                ended(&[]);
            }
        }
    }
}

fn commit_group(tx: &mut Tx, first: Job, queue: &Receiver<Job>, committed: &dyn Fn(&[Change])) {
    if let Err(error) = begin(tx) {
        first(Err(error))(Ok(()));
        return;
    }
    // Whoever comes from now on shares the next commit. If they could still come along, nearly everybody would end up in
    // one group: written together, answered together, and nobody there to be written for while they are answered.
    let waiting = queue.len().min(GROUP - 1);
    let mut settles: Vec<Settle> = Vec::with_capacity(waiting + 1);
    for job in std::iter::once(first).chain(queue.try_iter().take(waiting)) {
        settles.push(job(Ok(tx)));
        // A failing disk makes SQLite end the whole transaction by itself. A savepoint would then open,
        // and its release commit, a transaction of its own, behind the back of everyone in this group.
        if !tx.is_open() {
            break;
        }
    }
    let fate = tx.control("COMMIT");
    if let Err(error) = &fate {
        tracing::error!(%error, writes = settles.len(), "a commit failed; nobody in it was acknowledged");
        if tx.is_open()
            && let Err(error) = tx.control("ROLLBACK")
        {
            tracing::error!(%error, "rolling back failed");
        }
    }
    // Even after a failed commit, which may have held: to forget what is still right costs one read.
    committed(&tx.take_changes());
    for settle in settles {
        settle(fate.clone());
    }
}

fn begin(tx: &mut Tx) -> Result<(), Error> {
    // Left open only if rolling back had failed; nothing in it was ever acknowledged.
    if tx.is_open() {
        tx.control("ROLLBACK")?;
    }
    tx.control("BEGIN IMMEDIATE")
}

/// One job fails alone: the others of its group keep what they wrote.
fn in_savepoint<T>(tx: &mut Tx, work: impl Once<T>) -> Result<T, Error> {
    tx.control("SAVEPOINT job")?;
    let before = tx.changes();
    let outcome = catch_unwind(AssertUnwindSafe(|| ready(work(tx)))).unwrap_or(Err(Error::Panicked));
    if outcome.is_err() {
        tx.forget_changes_after(before);
        tx.control("ROLLBACK TO job")?;
    }
    tx.control("RELEASE job")?;
    outcome
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use futures_util::FutureExt;
    use futures_util::future::join_all;
    use futures_util::poll;
    use model::PostId;

    use super::*;
    use crate::sqlite::connection;

    fn open() -> (tempfile::TempDir, Writer) {
        let folder = tempfile::tempdir().unwrap();
        let conn = connection::open(&folder.path().join("pinhole.db")).unwrap();
        conn.execute_batch("CREATE TABLE notes (n INTEGER PRIMARY KEY)").unwrap();
        let pause = Duration::from_millis(1);
        (folder, Writer::start(conn, Weak::new(), Box::new(|_| {}), pause).unwrap())
    }

    async fn note(writer: &Writer, n: i64) -> Result<usize, Error> {
        writer
            .run(move |tx| {
                async move { tx.execute("INSERT INTO notes VALUES ($1)", &[n.into()]).await }.boxed()
            })
            .await
    }

    async fn count(writer: &Writer) -> i64 {
        let counted = writer.run(|tx| tx.first("SELECT count(*) FROM notes", &[], |row| row.int(0)).boxed());
        counted.await.unwrap().unwrap()
    }

    #[tokio::test]
    async fn whoever_comes_while_others_are_written_shares_the_next_commit() {
        let folder = tempfile::tempdir().unwrap();
        let conn = connection::open(&folder.path().join("pinhole.db")).unwrap();
        let groups = Arc::new(Mutex::new(Vec::new()));
        let heard = groups.clone();
        let listener: Listener = Box::new(move |changes| heard.lock().unwrap().push(changes.len()));
        let writer = Writer::start(conn, Weak::new(), listener, Duration::from_secs(60)).unwrap();
        let note = |tx: &mut Tx, id| tx.note(Change::Post(PostId(id)));

        let (begin, begun) = oneshot::channel();
        let (go_on, may_go_on) = crossbeam_channel::bounded::<()>(1);
        let mut first = Box::pin(writer.run(move |tx| {
            async move {
                begin.send(()).unwrap();
                may_go_on.recv().unwrap();
                note(tx, 1);
                Ok(())
            }
            .boxed()
        }));
        assert!(poll!(&mut first).is_pending());
        begun.await.unwrap();
        let later = |id| {
            Box::pin(writer.run(move |tx| {
                note(tx, id);
                async { Ok(()) }.boxed()
            }))
        };
        let (mut second, mut third) = (later(2), later(3));
        assert!(poll!(&mut second).is_pending() && poll!(&mut third).is_pending());
        go_on.send(()).unwrap();
        first.await.unwrap();
        second.await.unwrap();
        third.await.unwrap();
        assert_eq!(*groups.lock().unwrap(), [1, 2]);
    }

    #[tokio::test]
    async fn a_failing_job_takes_nobody_with_it() {
        let (_folder, writer) = open();
        let answers = join_all((0..40).map(|n| note(&writer, n % 20))).await;
        assert_eq!(answers.iter().filter(|a| a.is_ok()).count(), 20, "each number fits once");
        assert_eq!(count(&writer).await, 20);
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
        assert_eq!(count(&writer).await, 0);
        note(&writer, 1).await.unwrap();
    }

    #[tokio::test]
    async fn a_transaction_that_ended_by_itself_takes_its_group_along() {
        let (_folder, writer) = open();
        let (start, may_start) = crossbeam_channel::bounded::<()>(1);
        // What SQLite does when the disk is full or fails: the whole transaction is gone.
        let mut ended = Box::pin(writer.run(move |tx| {
            async move {
                may_start.recv().unwrap();
                tx.execute("INSERT INTO notes VALUES (1)", &[]).await?;
                tx.control("ROLLBACK")
            }
            .boxed()
        }));
        let mut behind = Box::pin(note(&writer, 2));
        assert!(poll!(&mut ended).is_pending() && poll!(&mut behind).is_pending(), "both wait in one group");
        start.send(()).unwrap();
        assert!(ended.await.is_err());
        let told = i64::from(behind.await.is_ok());
        assert_eq!(count(&writer).await, told, "what was told is what holds");
        note(&writer, 3).await.unwrap();
    }

    #[tokio::test]
    async fn in_a_pause_the_log_is_emptied() {
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
            assert_eq!(count(&writer).await, n + 1);
        }
    }

    #[tokio::test]
    async fn a_failed_commit_is_told_to_everyone_in_it() {
        let (_folder, writer) = open();
        // A deferred foreign key lets the statement pass and the commit fail.
        writer
            .run(|tx| {
                async move {
                    tx.control(
                        "CREATE TABLE child (n INTEGER REFERENCES notes (n) DEFERRABLE INITIALLY DEFERRED)",
                    )
                }
                .boxed()
            })
            .await
            .unwrap();
        let orphan =
            writer.run(|tx| async move { tx.execute("INSERT INTO child VALUES (7)", &[]).await }.boxed());
        let (orphan, beside) = tokio::join!(orphan, note(&writer, 1));
        assert!(orphan.is_err());
        // Whether it shared the doomed commit or came after, what it was told is what holds.
        assert_eq!(count(&writer).await, i64::from(beside.is_ok()));
        note(&writer, 2).await.unwrap();
    }
}
