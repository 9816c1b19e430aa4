//! A connection that writes. It commits in batches: all queued writes share one transaction and one sync of
//! the server's disk, and each is acknowledged after it.
//!
//! Writes hardly ever fail, so a batch has no savepoints. If one does fail, or conflicts with another node's
//! writes, the whole batch is rolled back and each write is run again in a transaction of its own. A write is
//! only run again if the server has rolled it back or was never asked to commit it; a commit without an
//! answer is reported as such.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::Receiver;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::connector::{Connector, RECONNECT_TIMEOUT, Reconnector};
use super::job::Job;
use super::tx::{CommitOutcome, LockMode, PostgresTx};
use crate::changes::Listener;
use crate::error::Error;
use crate::lock_key::LockKey;

/// Writes that share one commit at most: it bounds how long their locks are held.
const BATCH: usize = 256;

/// How often a write is run that conflicts with others.
const ATTEMPTS: usize = 4;

/// For the writes of a batch that run one by one; the rest of them are rejected.
const RETRY_TIMEOUT: Duration = Duration::from_secs(10);

/// For one write. More than the statement timeout, so that as a rule the server ends it.
const WRITE_TIMEOUT: Duration = Duration::from_secs(20);

pub(super) struct BatchWriter {
    reconnector: Reconnector,
    tx: Option<PostgresTx>,
    /// A commit that was not answered in time, on an open connection: the server may be waiting for its
    /// standby. A new connection for every batch meanwhile would use up the server's connections.
    unanswered: Option<JoinHandle<()>>,
    listener: Arc<Listener>,
}

impl BatchWriter {
    pub(super) fn new(connector: Arc<Connector>, listener: Arc<Listener>) -> Self {
        let reconnector = Reconnector::new(connector, RECONNECT_TIMEOUT);
        Self { reconnector, tx: None, unanswered: None, listener }
    }

    pub(super) async fn run(mut self, mut queue: Receiver<Job>) {
        let mut batch = Vec::new();
        while queue.recv_many(&mut batch, BATCH).await > 0 {
            batch.sort_by(|a, b| a.lock_key().cmp(b.lock_key()));
            // Likes lock their posts' rows last of all, other writes in the middle: in one transaction they
            // would be out of order.
            let likes = batch.partition_point(|job| job.lock_key().is_like());
            let others = batch.split_off(likes);
            self.write(std::mem::take(&mut batch)).await;
            self.write(others).await;
        }
    }

    async fn write(&mut self, mut batch: Vec<Job>) {
        if batch.is_empty() {
            return;
        }
        if self.unanswered.as_ref().is_some_and(|commit| !commit.is_finished()) {
            let error = Error::Unavailable("an earlier commit is still not answered".into());
            return complete(batch, &Err(error));
        }
        let mut outcome = self.attempt(&mut batch).await;
        // Lost before the commit was sent: it is run again on a new connection.
        if let CommitOutcome::RolledBack(Error::Unavailable(cause)) = &outcome {
            tracing::warn!(%cause, writes = batch.len(), "write batch lost; it is run again");
            outcome = self.attempt(&mut batch).await;
        }
        match outcome {
            CommitOutcome::Committed => complete(batch, &Ok(())),
            CommitOutcome::RolledBack(error @ Error::Unavailable(_)) => complete(batch, &Err(error)),
            CommitOutcome::Unknown(error) => {
                tracing::error!(%error, writes = batch.len(), "commit not answered; none of its writes was acknowledged");
                complete(batch, &Err(error));
            }
            CommitOutcome::RolledBack(error @ Error::Conflict(_)) => {
                tracing::info!(%error, writes = batch.len(), "write batch conflicted with another");
                self.write_each(batch).await;
            }
            CommitOutcome::RolledBack(error) if batch.len() == 1 => complete(batch, &Err(error)),
            CommitOutcome::RolledBack(_) => self.write_each(batch).await,
        }
    }

    /// Each in a transaction of its own, so that one that fails fails alone.
    async fn write_each(&mut self, batch: Vec<Job>) {
        let (mut locked, mut lost): (Option<LockKey>, Option<Error>) = (None, None);
        let deadline = Instant::now() + RETRY_TIMEOUT;
        for mut job in batch {
            if let Some(error) = &lost {
                job.complete(Err(error.clone()));
                continue;
            }
            if Instant::now() >= deadline {
                job.complete(Err(Error::Busy));
                continue;
            }
            // The batch is sorted: writes that need a lock which timed out come right behind the one that
            // needed it first.
            if locked.as_ref().is_some_and(|locked| locked.conflicts_with(job.lock_key())) {
                job.complete(Err(Error::Busy));
                continue;
            }
            let committed = self.attempt_again(&mut job).await;
            match &committed {
                Err(Error::Busy) => locked = Some(job.lock_key().clone()),
                Err(error @ Error::Unavailable(_)) => lost = Some(error.clone()),
                _ => {}
            }
            job.complete(committed);
        }
    }

    async fn attempt_again(&mut self, job: &mut Job) -> Result<(), Error> {
        let mut attempt = 1;
        loop {
            match self.attempt(std::slice::from_mut(job)).await {
                CommitOutcome::Committed => return Ok(()),
                CommitOutcome::RolledBack(Error::Conflict(_) | Error::Unavailable(_))
                    if attempt < ATTEMPTS =>
                {
                    attempt += 1;
                }
                CommitOutcome::RolledBack(error) | CommitOutcome::Unknown(error) => return Err(error),
            }
        }
    }

    /// One transaction with all of them; none is answered yet.
    async fn attempt(&mut self, batch: &mut [Job]) -> CommitOutcome {
        let mut tx = match self.tx.take() {
            Some(tx) if !tx.is_closed() => tx,
            _ => match self.reconnector.connect(Instant::now()).await {
                Ok(tx) => tx,
                Err(error) => return CommitOutcome::RolledBack(error),
            },
        };
        if let Err(error) = run(&mut tx, batch).await {
            drop(tx.take_changes());
            // A connection that cannot roll back is dropped, which rolls back as well.
            if !matches!(error, Error::Unavailable(_)) && tx.rollback().await {
                self.tx = Some(tx);
            }
            return CommitOutcome::RolledBack(error);
        }
        let outcome = tx.commit().await;
        let changes = tx.take_changes();
        // After an unanswered commit as well, which may have succeeded: a needless invalidation costs one
        // read.
        if !matches!(outcome, CommitOutcome::RolledBack(_)) && !changes.is_empty() {
            (self.listener)(&changes);
        }
        let is_reusable = match outcome {
            CommitOutcome::Committed => true,
            CommitOutcome::RolledBack(_) => tx.rollback().await,
            CommitOutcome::Unknown(_) => false,
        };
        if is_reusable {
            self.tx = Some(tx);
        } else if matches!(outcome, CommitOutcome::Unknown(_)) && !tx.is_closed() {
            self.unanswered = Some(tokio::spawn(async move { tx.await_commit().await }));
        }
        outcome
    }
}

/// Begins, locks and runs all of them; everything but the commit.
async fn run(tx: &mut PostgresTx, batch: &mut [Job]) -> Result<(), Error> {
    let late = |_| Error::Unavailable("a write was not answered in time".into());
    timeout(WRITE_TIMEOUT, tx.begin()).await.map_err(late)??;
    let mut posts: Vec<i64> = batch.iter().filter_map(|job| Some(job.lock_key().post()?.0)).collect();
    posts.dedup();
    let has_likes = batch.iter().any(|job| job.lock_key().is_like());
    let mode = if has_likes { LockMode::Shared } else { LockMode::Exclusive };
    timeout(WRITE_TIMEOUT, tx.lock_posts(&posts, mode)).await.map_err(late)??;
    for job in batch {
        timeout(WRITE_TIMEOUT, job.run(tx)).await.map_err(late)??;
    }
    timeout(WRITE_TIMEOUT, tx.flush_deltas()).await.map_err(late)?
}

fn complete(batch: Vec<Job>, committed: &Result<(), Error>) {
    for job in batch {
        job.complete(committed.clone());
    }
}
