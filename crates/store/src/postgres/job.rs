//! A queued write.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use super::tx::PostgresTx;
use crate::error::Error;
use crate::lock_key::LockKey;
use crate::tx::{RetryableWork, run_on_postgres};

/// Can be run again, as long as each run but the last is rolled back.
pub(super) trait Job: Send {
    fn lock_key(&self) -> &LockKey;

    /// Runs in the open transaction and keeps the result for the caller.
    fn run<'t>(&'t mut self, tx: &'t mut PostgresTx) -> BoxFuture<'t, Result<(), Error>>;

    /// Answers the caller once the transaction is committed, or has failed.
    fn complete(self: Box<Self>, committed: Result<(), Error>);
}

pub(super) struct Write<T, W> {
    lock_key: LockKey,
    work: W,
    result: Option<T>,
    reply: oneshot::Sender<Result<T, Error>>,
}

impl<T, W: RetryableWork<T>> Write<T, W> {
    pub(super) fn new(lock_key: LockKey, work: W, reply: oneshot::Sender<Result<T, Error>>) -> Self {
        Self { lock_key, work, result: None, reply }
    }
}

impl<T: Send, W: RetryableWork<T>> Job for Write<T, W> {
    fn lock_key(&self) -> &LockKey {
        &self.lock_key
    }

    fn run<'t>(&'t mut self, tx: &'t mut PostgresTx) -> BoxFuture<'t, Result<(), Error>> {
        let (work, result) = (self.work.clone(), &mut self.result);
        async move {
            *result = None;
            *result = Some(run_on_postgres(tx, work).await?);
            Ok(())
        }
        .boxed()
    }

    fn complete(self: Box<Self>, committed: Result<(), Error>) {
        // Every job of a committed batch has a result.
        let Self { result, reply, .. } = *self;
        let answer = committed.and_then(|()| result.ok_or(Error::Closed));
        // The send fails only when the caller has disconnected.
        drop(reply.send(answer));
    }
}
