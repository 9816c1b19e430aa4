//! A queued write.

use tokio::sync::oneshot;

use super::tx::PostgresTx;
use crate::error::Error;
use crate::like_write::{LikeOutcome, LikeWrite};
use crate::lock_key::LockKey;
use crate::work::{ErasedWork, ResultSlot, run_on_postgres};

/// May run several times, if every run but the last is rolled back.
pub(super) struct Job {
    lock_key: LockKey,
    work: JobWork,
    reply: oneshot::Sender<Result<(), Error>>,
}

pub(super) enum JobWork {
    Closure(Box<dyn ErasedWork>),
    /// The likes of a batch are written together.
    Like(LikeWrite, ResultSlot<LikeOutcome>),
}

impl Job {
    pub(super) fn new(lock_key: LockKey, work: JobWork, reply: oneshot::Sender<Result<(), Error>>) -> Self {
        Self { lock_key, work, reply }
    }

    pub(super) fn lock_key(&self) -> &LockKey {
        &self.lock_key
    }

    /// The like, and where its outcome goes.
    pub(super) fn like(&self) -> Option<(LikeWrite, &ResultSlot<LikeOutcome>)> {
        match &self.work {
            JobWork::Like(like, outcome) => Some((*like, outcome)),
            JobWork::Closure(_) => None,
        }
    }

    /// Runs the write in the open transaction. A like is written with the others of its batch instead.
    pub(super) async fn run(&mut self, tx: &mut PostgresTx) -> Result<(), Error> {
        match &mut self.work {
            JobWork::Closure(work) => run_on_postgres(tx, &mut **work).await,
            JobWork::Like(..) => Ok(()),
        }
    }

    /// Sends the outcome of the transaction to the caller.
    pub(super) fn complete(self, committed: Result<(), Error>) {
        // The send fails only if the caller was cancelled.
        drop(self.reply.send(committed));
    }
}
