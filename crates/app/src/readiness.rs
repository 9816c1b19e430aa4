//! The cached outcome of the readiness check.

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use model::Clock;
use parking_lot::Mutex;

use crate::Error;

/// A check commits, writes a file, and with a bucket sends four requests, while probes are open to strangers.
const MIN_INTERVAL: Duration = Duration::from_secs(1);

/// The last check, or the one that is running: all probes share it.
#[derive(Debug, Default)]
pub(crate) struct Readiness(Mutex<Option<Check>>);

#[derive(Debug)]
struct Check {
    began: Instant,
    outcome: Shared<BoxFuture<'static, Result<(), Error>>>,
}

impl Check {
    fn is_current(&self) -> bool {
        self.began.elapsed() < MIN_INTERVAL || self.outcome.peek().is_none()
    }
}

impl Readiness {
    /// The outcome of a check that began within the last second, or is running; otherwise of a new one.
    pub(crate) async fn outcome(
        &self,
        check: impl FnOnce() -> BoxFuture<'static, Result<(), Error>>,
    ) -> Result<(), Error> {
        let outcome = {
            let mut last = self.0.lock();
            last.take_if(|check| !check.is_current());
            let begin = || Check { began: Clock::monotonic(), outcome: check().shared() };
            last.get_or_insert_with(begin).outcome.clone()
        };
        outcome.await
    }
}
