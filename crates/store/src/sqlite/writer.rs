//! The writer thread. It commits in batches (group commit): queued writes share one transaction and one
//! fsync, and each is acknowledged after it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError};
use rusqlite::{Connection, ffi};
use tokio::sync::oneshot;

use super::pool::Pool;
use super::reserve::Reserve;
use super::tx::SqliteTx;
use crate::changes::Change;
use crate::error::{Error, extended_code};
use crate::revisions::Revisions;
use crate::work::{ResultSlot, Work, run_on_sqlite};

/// Writes that may be queued; more are rejected.
const QUEUE_CAPACITY: usize = 1024;

/// Writes in one batch at most, which bounds the latency of the first of them.
const MAX_BATCH: usize = 256;

/// How often an idle writer tries to allocate a released reserve file again.
const RESTORE_AFTER: Duration = Duration::from_secs(1);

type Write = Box<dyn FnOnce(&mut SqliteTx) -> Result<(), Error> + Send>;
type Reply = oneshot::Sender<Result<(), Error>>;

struct Job {
    write: Write,
    /// On a full disk, room is made for a write that frees space.
    frees_space: bool,
    reply: Reply,
}

#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    rejected: AtomicU64,
}

impl Writer {
    /// `readers` are notified of a commit, and its changes are published, before its writes are acknowledged.
    /// The write-ahead log is checkpointed after `checkpoint_after` without a write.
    pub(super) fn start(
        conn: Connection,
        readers: Weak<Pool>,
        revisions: Arc<Revisions>,
        reserve: Option<Arc<Reserve>>,
        checkpoint_after: Duration,
    ) -> std::io::Result<Self> {
        let (jobs, queue) = crossbeam_channel::bounded(QUEUE_CAPACITY);
        let thread = std::thread::Builder::new().name("store-write".into()).spawn(move || {
            run(SqliteTx::new(conn), &queue, &readers, &revisions, reserve.as_deref(), checkpoint_after);
        })?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), rejected: AtomicU64::new(0) })
    }

    pub(super) fn queued(&self) -> usize {
        self.jobs.as_ref().map_or(0, Sender::len)
    }

    pub(super) fn rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    pub(super) async fn run<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        self.run_job(work, false).await
    }

    /// Runs a write that frees space. If it fails with [`Error::Full`], room was made for a second attempt.
    pub(super) async fn run_freeing<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        self.run_job(work, true).await
    }

    async fn run_job<T: Send + 'static>(&self, work: impl Work<T>, frees_space: bool) -> Result<T, Error> {
        let (slot, result) = ResultSlot::pair();
        let write: Write = Box::new(move |tx| run_on_sqlite(tx, work).map(|result| slot.put(result)));
        self.queue(write, frees_space).await?;
        result.take()
    }

    async fn queue(&self, write: Write, frees_space: bool) -> Result<(), Error> {
        let (reply, outcome) = oneshot::channel();
        match self.jobs.as_ref().ok_or(Error::Closed)?.try_send(Job { write, frees_space, reply }) {
            Ok(()) => outcome.await.map_err(|_| Error::Closed)?,
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
            tracing::error!("database writer thread panicked");
        }
    }
}

/// Commits batches, and checkpoints when idle: with few writes, SQLite's own checkpoint would leave deleted
/// rows in the log for long.
fn run(
    mut tx: SqliteTx,
    queue: &Receiver<Job>,
    readers: &Weak<Pool>,
    revisions: &Revisions,
    reserve: Option<&Reserve>,
    checkpoint_after: Duration,
) {
    let mut needs_checkpoint = true;
    loop {
        let is_released = reserve.is_some_and(Reserve::is_released);
        let next = if is_released {
            queue.recv_timeout(RESTORE_AFTER)
        } else if needs_checkpoint {
            queue.recv_timeout(checkpoint_after)
        } else {
            queue.recv().map_err(Into::into)
        };
        let first = match next {
            Ok(first) => Some(first),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if let Some(readers) = readers.upgrade() {
            readers.begin_write();
        }
        let batch = first.is_some().then(|| revisions.begin());
        let publish = |changes: &[Change]| {
            if let Some(readers) = readers.upgrade() {
                readers.end_write();
            }
            revisions.publish(changes);
            if let Some(batch) = batch {
                revisions.end(batch);
            }
        };
        match first {
            Some(first) => {
                commit_batch(&mut tx, first, queue, reserve, &publish);
                needs_checkpoint = true;
            }
            None => {
                let is_complete = tx.checkpoint().unwrap_or_else(|error| {
                    tracing::warn!(%error, "checkpoint failed; retried after the next write");
                    true
                });
                needs_checkpoint = !is_complete;
                publish(&[]);
            }
        }
        if let Some(reserve) = reserve.filter(|_| is_released)
            && let Err(error) = reserve.restore()
        {
            tracing::warn!(%error, "reserve file not allocated; retried");
        }
    }
}

fn commit_batch(
    tx: &mut SqliteTx,
    first: Job,
    queue: &Receiver<Job>,
    reserve: Option<&Reserve>,
    publish: &dyn Fn(&[Change]),
) {
    if let Err(error) = begin(tx) {
        publish(&[]);
        return send_reply(first.reply, Err(error));
    }
    // The batch is closed here: writes that arrive from now on go into the next one. An open batch would
    // collect nearly all clients, and then the writer would idle until their next requests, and they until
    // its commit.
    let queued = queue.len().min(MAX_BATCH - 1);
    let mut replies: Vec<(Reply, Result<(), Error>)> = Vec::with_capacity(queued + 1);
    let (mut frees_space, mut full) = (false, None);
    for job in std::iter::once(first).chain(queue.try_iter().take(queued)) {
        let outcome = in_savepoint(tx, job.write);
        frees_space |= job.frees_space;
        full = outcome.as_ref().err().filter(|error| matches!(error, Error::Full(_))).cloned();
        replies.push((job.reply, outcome));
        // SQLite rolled back the whole transaction by itself, as it does when the disk fails. Another
        // SAVEPOINT would begin a new transaction and its RELEASE commit it, so the rest of the batch stays
        // queued.
        if full.is_some() || !tx.is_open() {
            break;
        }
    }
    let committed = full.map_or_else(|| commit(tx, reserve), Err);
    if let Err(error) = &committed {
        tracing::error!(%error, writes = replies.len(), "commit failed; its writes were not acknowledged");
        if let Err(error) = tx.rollback_if_open() {
            tracing::error!(%error, "rollback failed");
        }
    }
    if frees_space && matches!(committed, Err(Error::Full(_))) {
        make_room(tx, reserve);
    }
    // Also after a failed commit, which may have reached the disk: a needless publication costs one read.
    publish(&tx.take_changes());
    for (reply, outcome) in replies {
        // A job that failed may have read what an earlier job of the batch wrote, so its reply waits for the
        // commit too.
        send_reply(reply, committed.clone().and(outcome));
    }
}

/// The send fails only if the caller was cancelled.
fn send_reply(reply: Reply, outcome: Result<(), Error>) {
    drop(reply.send(outcome));
}

fn begin(tx: &SqliteTx) -> Result<(), Error> {
    // Does nothing unless the last rollback failed; nothing in that transaction was acknowledged.
    tx.rollback_if_open()?;
    tx.control("BEGIN IMMEDIATE")
}

/// An error is `Full` only if the transaction is certain not to be found after a crash.
fn commit(tx: &SqliteTx, reserve: Option<&Reserve>) -> Result<(), Error> {
    let Err(error) = tx.commit() else { return Ok(()) };
    let is_full = match extended_code(&error) {
        // SQLite does not tell an exceeded quota from other errors.
        Some(ffi::SQLITE_IOERR_WRITE) => reserve.is_some_and(Reserve::is_no_space),
        // The transaction is in the log, whose index could not grow. A checkpoint empties both.
        Some(ffi::SQLITE_IOERR_SHMSIZE) => {
            tx.rollback_if_open().and_then(|()| tx.checkpoint()).unwrap_or_else(|error| {
                tracing::warn!(%error, "checkpoint on a full disk failed");
                false
            })
        }
        _ => false,
    };
    Err(match Error::from(error) {
        Error::Database(cause) | Error::Unavailable(cause) if is_full => Error::Full(cause),
        error => error,
    })
}

/// Releases the reserve file, and truncates the write-ahead log: its pages occupy space twice once they are
/// in the database.
fn make_room(tx: &SqliteTx, reserve: Option<&Reserve>) {
    if let Some(reserve) = reserve.filter(|reserve| !reserve.is_released()) {
        tracing::error!("disk full; only deletes are accepted");
        if let Err(error) = reserve.release() {
            tracing::error!(%error, "reserve file not released");
        }
    }
    if let Err(error) = tx.checkpoint() {
        tracing::warn!(%error, "checkpoint on a full disk failed");
    }
}

/// Runs a job in a savepoint: if it fails, only its own writes are rolled back.
fn in_savepoint(tx: &mut SqliteTx, write: Write) -> Result<(), Error> {
    tx.control("SAVEPOINT job")?;
    let changes = tx.change_count();
    let outcome = write(tx);
    if outcome.is_err() {
        tx.truncate_changes(changes);
        // SQLite has rolled back the whole transaction by itself: the outcome is the reason.
        if !tx.is_open() {
            return outcome;
        }
        tx.control("ROLLBACK TO job")?;
    }
    tx.control("RELEASE job")?;
    outcome
}

#[cfg(test)]
mod tests;
