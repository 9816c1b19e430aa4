//! The operations of a round, recorded with their call and return times.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::post::{Action, Outcome};

/// One request as it concerns one post.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operation {
    pub(super) client: usize,
    pub(super) user: usize,
    pub(super) node: usize,
    /// Since the start of the round, on a clock that all clients share.
    pub(super) call: Duration,
    pub(super) return_: Duration,
    pub(super) action: Action,
    pub(super) outcome: Outcome,
}

pub(super) struct History {
    start: Instant,
    /// By the number of the post.
    operations: Mutex<BTreeMap<usize, Vec<Operation>>>,
}

impl History {
    pub(super) fn new() -> Self {
        Self { start: Instant::now(), operations: Mutex::default() }
    }

    pub(super) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// A read without a response is left out: it shows nothing and changes nothing.
    pub(super) fn record(&self, post: usize, operation: Operation) {
        if !(operation.action.is_read() && operation.outcome == Outcome::Unknown) {
            self.operations.lock().unwrap().entry(post).or_default().push(operation);
        }
    }

    /// The operations on each post, in the order of their calls.
    pub(super) fn into_operations(self) -> BTreeMap<usize, Vec<Operation>> {
        let mut posts = self.operations.into_inner().unwrap();
        for operations in posts.values_mut() {
            operations.sort_by_key(|operation| operation.call);
        }
        posts
    }
}

impl Operation {
    /// Whether the operation leaves the post as it is, in every state that allows its outcome.
    pub(super) fn is_read_only(&self) -> bool {
        self.action.is_read() || matches!(self.outcome, Outcome::NotFound | Outcome::Conflict)
    }
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
        write!(
            f,
            "{:>9.1} to {:>9.1} ms   node {}   client {} (user {})   {:<18} {}",
            milliseconds(self.call),
            milliseconds(self.return_),
            self.node,
            self.client,
            self.user,
            format!("{:?}", self.action),
            self.outcome,
        )
    }
}
