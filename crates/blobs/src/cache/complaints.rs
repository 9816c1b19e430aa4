//! A disk that fails does so a thousand times a second; once a minute is enough to hear of it.

use std::time::{Duration, Instant};

use model::Clock;
use parking_lot::Mutex;

use crate::Error;

const PAUSE: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct Complaints(Mutex<Said>);

#[derive(Debug, Default)]
struct Said {
    last: Option<Instant>,
    kept_quiet: u64,
}

impl Complaints {
    pub(super) fn about(&self, error: &Error) {
        let mut said = self.0.lock();
        if said.last.is_some_and(|last| last.elapsed() < PAUSE) {
            said.kept_quiet += 1;
            return;
        }
        let kept_quiet = std::mem::take(&mut said.kept_quiet);
        said.last = Some(Clock::monotonic());
        drop(said);
        tracing::warn!(%error, kept_quiet, "the image cache on the disk has trouble; images are made anew");
    }
}
