//! A task that writes on its own connection. It commits in batches (group commit): queued writes share one
//! transaction and one sync of the server's disk, and each is acknowledged after it.
//!
//! A batch is either of likes or of other writes. Writes rarely fail, so a batch has no savepoints. If one
//! fails, or conflicts with a write of another node, the whole batch is rolled back and each write is retried
//! in its own transaction. A write is retried only if the server has rolled it back, or COMMIT was never
//! sent; if COMMIT was sent and not answered, the write fails as unavailable.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::Receiver;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::connector::{Connector, RECONNECT_TIMEOUT, Reconnector};
use super::job::Job;
use super::likes;
use super::tx::{AdvisoryLocks, CommitError, PostgresTx};
use crate::error::Error;
use crate::lock_key::LockKey;

/// Writes in one batch at most, which bounds how long their locks are held.
const MAX_BATCH: usize = 256;

/// Attempts of a write that conflicts with others or loses its connection.
const MAX_ATTEMPTS: usize = 4;

/// For retrying the writes of a batch one by one; those that remain then fail as busy.
const RETRY_TIMEOUT: Duration = Duration::from_secs(5);

/// For one write. Longer than the statement timeout, so that normally the server cancels it first.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct BatchWriter {
    reconnector: Reconnector,
    tx: Option<PostgresTx>,
    /// Waits for a commit that was not answered in time, because the server may be waiting for its standby.
    /// No batch starts until it is answered: a new connection for each would exhaust the server's
    /// connections.
    unresolved_commit: Option<JoinHandle<()>>,
}

impl BatchWriter {
    pub(super) fn new(connector: Arc<Connector>) -> Self {
        let reconnector = Reconnector::new(connector, RECONNECT_TIMEOUT);
        Self { reconnector, tx: None, unresolved_commit: None }
    }

    pub(super) async fn run(mut self, mut queue: Receiver<Job>) {
        let mut batch = Vec::new();
        while queue.recv_many(&mut batch, MAX_BATCH).await > 0 {
            batch.sort_by(|a, b| a.lock_key().cmp(b.lock_key()));
            self.write(std::mem::take(&mut batch)).await;
        }
    }

    async fn write(&mut self, mut batch: Vec<Job>) {
        if self.unresolved_commit.as_ref().is_some_and(|commit| !commit.is_finished()) {
            let error = Error::Unavailable("the server has not answered an earlier commit".into());
            return complete(batch, &Err(error));
        }
        let began = Instant::now();
        let mut committed = self.attempt(&mut batch, began).await;
        // COMMIT was not sent, so the batch can be retried on a new connection.
        if let Err(CommitError::RolledBack(Error::Unavailable(cause))) = &committed {
            tracing::warn!(%cause, writes = batch.len(), "write batch failed before commit; retried");
            committed = self.attempt(&mut batch, began).await;
        }
        match committed {
            Ok(()) => complete(batch, &Ok(())),
            Err(CommitError::RolledBack(error @ Error::Unavailable(_))) => complete(batch, &Err(error)),
            Err(CommitError::Unknown(error)) => {
                tracing::error!(%error, writes = batch.len(), "commit outcome unknown; its writes were not acknowledged");
                complete(batch, &Err(error));
            }
            Err(CommitError::RolledBack(error @ Error::Conflict(_))) => {
                tracing::info!(%error, writes = batch.len(), "write batch conflict; writes retried one by one");
                self.write_each(batch).await;
            }
            Err(CommitError::RolledBack(error)) if batch.len() == 1 => complete(batch, &Err(error)),
            Err(CommitError::RolledBack(_)) => self.write_each(batch).await,
        }
    }

    /// Runs each write in its own transaction, so that a failing one does not fail the others.
    async fn write_each(&mut self, batch: Vec<Job>) {
        let (mut locked, mut unavailable): (Option<LockKey>, Option<Error>) = (None, None);
        let deadline = Instant::now() + RETRY_TIMEOUT;
        for mut job in batch {
            if let Some(error) = &unavailable {
                job.complete(Err(error.clone()));
                continue;
            }
            if Instant::now() >= deadline {
                job.complete(Err(Error::Busy));
                continue;
            }
            // The batch is sorted by lock key, so the writes that need a lock which timed out are adjacent.
            // They fail without waiting for it again.
            if locked.as_ref().is_some_and(|locked| locked.conflicts_with(job.lock_key())) {
                job.complete(Err(Error::Busy));
                continue;
            }
            let committed = self.attempt_with_retries(&mut job).await;
            match &committed {
                Err(Error::Busy) => locked = Some(job.lock_key().clone()),
                Err(error @ Error::Unavailable(_)) => unavailable = Some(error.clone()),
                _ => {}
            }
            job.complete(committed);
        }
    }

    async fn attempt_with_retries(&mut self, job: &mut Job) -> Result<(), Error> {
        let (mut attempt, began) = (1, Instant::now());
        loop {
            match self.attempt(std::slice::from_mut(job), began).await {
                Ok(()) => return Ok(()),
                Err(CommitError::RolledBack(Error::Conflict(_) | Error::Unavailable(_)))
                    if attempt < MAX_ATTEMPTS =>
                {
                    attempt += 1;
                }
                Err(CommitError::RolledBack(error) | CommitError::Unknown(error)) => return Err(error),
            }
        }
    }

    /// Runs and commits all writes in one transaction; replies are sent by the caller. `began` is the time of
    /// the first attempt, so that a second one does not wait for a server again.
    async fn attempt(&mut self, batch: &mut [Job], began: Instant) -> Result<(), CommitError> {
        let mut tx = match self.tx.take() {
            Some(tx) if !tx.is_closed() => tx,
            _ => self.reconnector.connect(began).await.map_err(CommitError::RolledBack)?,
        };
        let committed = run(&mut tx, batch).await;
        let is_reusable = match &committed {
            Ok(()) => true,
            // Dropping a connection that cannot roll back makes the server roll back.
            Err(CommitError::RolledBack(Error::Unavailable(_)) | CommitError::Unknown(_)) => false,
            Err(CommitError::RolledBack(_)) => tx.rollback().await,
        };
        if is_reusable {
            self.tx = Some(tx);
        } else if matches!(committed, Err(CommitError::Unknown(_))) && !tx.is_closed() {
            self.unresolved_commit = Some(tokio::spawn(async move { tx.await_commit().await }));
        }
        committed
    }
}

/// Runs and commits all writes: either likes, or others.
async fn run(tx: &mut PostgresTx, batch: &mut [Job]) -> Result<(), CommitError> {
    let locks = AdvisoryLocks::of(batch.iter().map(Job::lock_key));
    let likes: Vec<_> = batch.iter().filter_map(Job::like).collect();
    if likes.is_empty() {
        execute(tx, &locks, batch).await.map_err(CommitError::RolledBack)?;
        tx.commit().await
    } else {
        likes::write(tx, &locks, &likes).await
    }
}

/// Begins the transaction, takes the locks and runs all writes; does not commit.
async fn execute(tx: &mut PostgresTx, locks: &AdvisoryLocks, batch: &mut [Job]) -> Result<(), Error> {
    let timed_out = |_| Error::Unavailable("the server did not answer a write in time".into());
    timeout(WRITE_TIMEOUT, tx.begin(locks)).await.map_err(timed_out)??;
    for job in batch {
        timeout(WRITE_TIMEOUT, job.run(tx)).await.map_err(timed_out)??;
    }
    timeout(WRITE_TIMEOUT, tx.flush_changes()).await.map_err(timed_out)?
}

fn complete(batch: Vec<Job>, committed: &Result<(), Error>) {
    for job in batch {
        job.complete(committed.clone());
    }
}
