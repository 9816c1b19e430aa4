//! The search for a linearization: an order of the operations that keeps the order of those that do not
//! overlap, and in which every response is the one of the sequential specification.
//!
//! It is the search of Wing and Gong in Lowe's just-in-time form: events are processed in the order of time,
//! and every pair of a state and a set of linearized operations is visited once. An operation is linearized
//! no earlier than the next return requires. After each event the set of configurations is thus an exact
//! summary of the past, and the first event that leaves none is the violation.

use std::collections::{BTreeSet, HashSet};

use super::history::Operation;
use super::post::{Outcome, Post};

/// The search gives up beyond this many configurations; a round has far fewer.
const MAX_CONFIGURATIONS: usize = 200_000;

/// How many writes and how many reads a report lists from before the violation.
const REPORTED_WRITES: usize = 6;
const REPORTED_READS: usize = 8;

/// A possible past: the state of the post, and which of the pending operations have led to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Configuration {
    post: Post,
    linearized: BTreeSet<usize>,
}

/// Succeeds with the largest number of configurations at a time. The error is a report of the violation.
pub(super) fn check(operations: &[Operation]) -> Result<usize, String> {
    let mut search = Search {
        operations,
        pending: BTreeSet::new(),
        configurations: HashSet::from([Configuration { post: Post::Absent, linearized: BTreeSet::new() }]),
    };
    let mut largest = 1;
    for event in events(operations) {
        match event {
            Event::Call(operation) => search.call(operation),
            Event::Return(operation) => search.return_(operation)?,
        }
        largest = largest.max(search.configurations.len());
    }
    Ok(largest)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Call(usize),
    Return(usize),
}

/// At equal times the calls come first, so that the operations overlap. An operation with an unknown outcome
/// never returns.
fn events(operations: &[Operation]) -> Vec<Event> {
    let calls = operations.iter().enumerate().map(|(n, operation)| (operation.call, Event::Call(n)));
    let returned =
        operations.iter().enumerate().filter(|(_, operation)| operation.outcome != Outcome::Unknown);
    let returns = returned.map(|(n, operation)| (operation.return_, Event::Return(n)));
    let mut events: Vec<_> = calls.chain(returns).collect();
    events.sort_unstable();
    events.into_iter().map(|(_, event)| event).collect()
}

struct Search<'h> {
    operations: &'h [Operation],
    /// Called and not returned.
    pending: BTreeSet<usize>,
    configurations: HashSet<Configuration>,
}

impl Search<'_> {
    fn call(&mut self, operation: usize) {
        self.pending.insert(operation);
        let configurations = std::mem::take(&mut self.configurations);
        self.configurations = configurations.into_iter().map(|past| self.with_reads(past)).collect();
    }

    /// Keeps the pasts that contain the operation, and extends the others until they do.
    fn return_(&mut self, returned: usize) -> Result<(), String> {
        let before = std::mem::take(&mut self.configurations);
        let mut visited = before.clone();
        let mut to_visit: Vec<Configuration> = before.iter().cloned().collect();
        while let Some(mut past) = to_visit.pop() {
            if past.linearized.remove(&returned) {
                self.configurations.insert(past);
                continue;
            }
            for next in self.pending.iter().filter_map(|n| self.linearize(&past, *n)) {
                if visited.insert(next.clone()) {
                    to_visit.push(next);
                }
            }
            assert!(visited.len() < MAX_CONFIGURATIONS, "too many operations with unknown outcomes");
        }
        if self.configurations.is_empty() {
            return Err(self.report(returned, &before));
        }
        self.pending.remove(&returned);
        Ok(())
    }

    /// The configuration after one more write, if its outcome is possible.
    fn linearize(&self, past: &Configuration, n: usize) -> Option<Configuration> {
        let operation = &self.operations[n];
        if operation.is_read_only() || past.linearized.contains(&n) {
            return None;
        }
        let (post, expected) = past.post.execute(operation.user, operation.action);
        let is_allowed = match operation.outcome {
            // Without an effect it need not be executed at all.
            Outcome::Unknown => post != past.post,
            outcome => outcome == expected,
        };
        let linearized = past.linearized.iter().copied().chain([n]).collect();
        is_allowed.then(|| self.with_reads(Configuration { post, linearized }))
    }

    /// Linearizes at once what only reads and is possible in this state: to delay it never allows more.
    fn with_reads(&self, mut past: Configuration) -> Configuration {
        for n in &self.pending {
            let operation = &self.operations[*n];
            if operation.is_read_only()
                && past.post.execute(operation.user, operation.action) == (past.post, operation.outcome)
            {
                past.linearized.insert(*n);
            }
        }
        past
    }

    /// The states before the violation, and the operations that overlap with it or came just before.
    fn report(&self, violation: usize, before: &HashSet<Configuration>) -> String {
        let Operation { call, return_, .. } = self.operations[violation];
        let states: BTreeSet<Post> = before.iter().map(|past| past.post).collect();
        let states: Vec<String> = states.iter().map(ToString::to_string).collect();
        let is_earlier =
            |operation: &Operation| operation.outcome != Outcome::Unknown && operation.return_ < call;
        let mut earlier: Vec<usize> =
            (0..self.operations.len()).filter(|n| is_earlier(&self.operations[*n])).collect();
        earlier.sort_by_key(|n| std::cmp::Reverse(self.operations[*n].return_));
        let (reads, writes): (Vec<usize>, Vec<usize>) =
            earlier.into_iter().partition(|n| self.operations[*n].is_read_only());
        let omitted: HashSet<usize> =
            reads.into_iter().skip(REPORTED_READS).chain(writes.into_iter().skip(REPORTED_WRITES)).collect();
        let mut report = format!(
            "No order of the operations explains the one marked with >. When it returned, the others \
             allowed only these states of the post:\n    {}\n",
            states.join("\n    ")
        );
        for (n, operation) in self.operations.iter().enumerate() {
            if operation.call <= return_ && !omitted.contains(&n) {
                report += &format!("{} {operation}\n", if n == violation { '>' } else { ' ' });
            }
        }
        report
    }
}
