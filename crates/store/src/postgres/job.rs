//! A write that waits for its commit.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use crate::holds::Holds;
use crate::tx::Tx;
use crate::{Error, Work};

/// Can be run any number of times, as long as each time but the last is rolled back.
pub(super) trait Job: Send {
    fn holds(&self) -> &Holds;

    /// Runs in the open transaction and keeps what came of it.
    fn run<'t>(&'t mut self, tx: &'t mut Tx) -> BoxFuture<'t, Result<(), Error>>;

    /// Answers the caller: with what came of it, or with why nothing did.
    fn settle(self: Box<Self>, fate: Result<(), Error>);
}

pub(super) struct Waiting<T, W> {
    holds: Holds,
    work: W,
    outcome: Option<T>,
    reply: oneshot::Sender<Result<T, Error>>,
}

impl<T, W: Work<T>> Waiting<T, W> {
    pub(super) fn new(holds: Holds, work: W, reply: oneshot::Sender<Result<T, Error>>) -> Self {
        Self { holds, work, outcome: None, reply }
    }
}

impl<T: Send, W: Work<T>> Job for Waiting<T, W> {
    fn holds(&self) -> &Holds {
        &self.holds
    }

    fn run<'t>(&'t mut self, tx: &'t mut Tx) -> BoxFuture<'t, Result<(), Error>> {
        let (work, outcome) = (self.work.clone(), &mut self.outcome);
        async move {
            *outcome = None;
            let done = AssertUnwindSafe(async { work(tx).await }).catch_unwind().await;
            *outcome = Some(done.unwrap_or(Err(Error::Panicked))?);
            Ok(())
        }
        .boxed()
    }

    fn settle(self: Box<Self>, fate: Result<(), Error>) {
        // Every job of a committed group has run to its end.
        let Self { outcome, reply, .. } = *self;
        let answer = fate.and_then(|()| outcome.ok_or(Error::Closed));
        // A caller that went away needs no answer.
        drop(reply.send(answer));
    }
}
