//! The readiness check.

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::Mutex;

use crate::detached::detached;
use crate::{App, Error};

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

impl App {
    /// Fails unless the database and the blob store responded within the last second, and no error has
    /// reported damage.
    pub async fn ready(&self) -> Result<(), Error> {
        let outcome = {
            let mut last = self.0.readiness.0.lock();
            last.take_if(|check| !check.is_current());
            last.get_or_insert_with(|| self.begin_check()).outcome.clone()
        };
        outcome.await
    }

    fn begin_check(&self) -> Check {
        let app = self.clone();
        let outcome = detached(async move { app.check_readiness().await }).boxed().shared();
        Check { began: Instant::now(), outcome }
    }

    async fn check_readiness(&self) -> Result<(), Error> {
        if self.0.store.recheck_damage().await {
            return Err(Error::Damaged("an earlier request met the damage; see the log".into()));
        }
        self.0.store.ping().await?;
        Ok(self.0.blobs.ping().await?)
    }
}
