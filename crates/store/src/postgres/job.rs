//! A queued write.

use tokio::sync::oneshot;

use super::tx::PostgresTx;
use crate::error::Error;
use crate::lock_key::LockKey;
use crate::work::{ErasedWork, run_on_postgres};

/// May run several times, if every run but the last is rolled back.
pub(super) struct Job {
    lock_key: LockKey,
    work: Box<dyn ErasedWork>,
    reply: oneshot::Sender<Result<(), Error>>,
}

impl Job {
    pub(super) fn new(
        lock_key: LockKey,
        work: Box<dyn ErasedWork>,
        reply: oneshot::Sender<Result<(), Error>>,
    ) -> Self {
        Self { lock_key, work, reply }
    }

    pub(super) fn lock_key(&self) -> &LockKey {
        &self.lock_key
    }

    /// Runs the write in the open transaction.
    pub(super) async fn run(&mut self, tx: &PostgresTx) -> Result<(), Error> {
        run_on_postgres(tx, &mut *self.work).await
    }

    /// Sends the outcome of the transaction to the caller.
    pub(super) fn complete(self, committed: Result<(), Error>) {
        // The send fails only if the caller was cancelled.
        drop(self.reply.send(committed));
    }
}
