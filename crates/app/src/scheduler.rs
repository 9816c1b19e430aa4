//! Fair admission to a bounded resource: queues of jobs that wait for a slot and for memory.
//!
//! The next job is that of the network, and then of the user, with the fewest running jobs. A full queue
//! sheds the newest job of the largest holder, not the job that came last. The queues of one scheduler share
//! its memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use model::Clock;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::shares::Shares;
use crate::{Client, Error};

#[derive(Debug)]
pub(crate) struct Scheduler {
    max_memory: u64,
    state: Mutex<State>,
}

/// The limits of a queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueLimits {
    pub(crate) name: &'static str,
    /// Jobs that run at the same time.
    pub(crate) slots: usize,
    /// Further slots for a network that runs no job yet, so that it does not wait for the long jobs of
    /// another; and for the small job of a user that runs none.
    pub(crate) extra_slots: usize,
    pub(crate) max_waiting: usize,
    /// A stuck job keeps its memory until it ends; the jobs behind it should then fail.
    pub(crate) max_wait: Duration,
    pub(crate) max_memory: u64,
    /// Its jobs start only while no job of another queue waits or runs.
    pub(crate) is_background: bool,
}

/// A handle of one queue of a scheduler.
#[derive(Debug, Clone)]
pub(crate) struct FairQueue {
    scheduler: Arc<Scheduler>,
    index: usize,
    limits: QueueLimits,
}

#[derive(Debug, Default)]
struct State {
    memory: u64,
    queues: Vec<Queue>,
    /// Numbers the grants and the waiting jobs.
    sequence: u64,
    /// When the last job that is not a background job ended.
    last_requested: Option<Instant>,
}

#[derive(Debug)]
struct Queue {
    limits: QueueLimits,
    /// In order of arrival.
    waiting: Vec<QueuedJob>,
    running: usize,
    /// Running jobs that exceeded their time limit.
    stuck: usize,
    memory: u64,
    /// The memory of the job that needs more than `max_memory`, while one runs.
    oversized: u64,
    shares: Shares,
    rejected: u64,
}

#[derive(Debug)]
struct QueuedJob {
    id: u64,
    client: Client,
    memory: u64,
    grant: oneshot::Sender<SlotPermit>,
}

/// A slot and a memory reservation, released when dropped.
#[derive(Debug)]
pub(crate) struct SlotPermit {
    queue: FairQueue,
    client: Client,
    has_slot: bool,
    /// Whether its network ran no other job when it was granted.
    is_first: bool,
    memory: u64,
}

/// The rest of a permit after its slot was released.
#[derive(Debug)]
pub(crate) struct MemoryReservation(SlotPermit);

impl Scheduler {
    pub(crate) fn new(max_memory: u64) -> Arc<Self> {
        Arc::new(Self { max_memory, state: Mutex::default() })
    }

    pub(crate) fn add_queue(self: &Arc<Self>, limits: QueueLimits) -> FairQueue {
        let mut state = self.state.lock();
        state.queues.push(Queue::new(limits));
        FairQueue { scheduler: self.clone(), index: state.queues.len() - 1, limits }
    }

    /// Changes the state, and then grants what has become possible.
    fn update<T>(self: &Arc<Self>, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock();
        let outcome = change(&mut state);
        let granted = self.grant_all(&mut state);
        drop(state);
        for (grant, permit) in granted {
            // Fails if the job was cancelled. That drops the permit, which locks the state: so it must be
            // unlocked here.
            drop(grant.send(permit));
        }
        outcome
    }

    fn grant_all(self: &Arc<Self>, state: &mut State) -> Vec<(oneshot::Sender<SlotPermit>, SlotPermit)> {
        let mut granted = Vec::new();
        for index in 0..state.queues.len() {
            while let Some(position) = self.next(state, index) {
                state.sequence += 1;
                let queue = &mut state.queues[index];
                let QueuedJob { client, memory, grant, .. } = queue.waiting.remove(position);
                let is_first = queue.shares.network(client).running == 0;
                queue.running += 1;
                queue.memory += memory;
                queue.shares.update(client, |share| {
                    share.running += 1;
                    share.memory += memory;
                    share.last_grant = state.sequence;
                });
                state.memory += memory;
                if memory > queue.limits.max_memory {
                    queue.oversized = memory;
                }
                let queue = FairQueue { scheduler: self.clone(), index, limits: queue.limits };
                granted.push((grant, SlotPermit { queue, client, has_slot: true, is_first, memory }));
            }
        }
        granted
    }

    /// The position of the job that runs next, if there is a slot and memory for one.
    fn next(&self, state: &State, index: usize) -> Option<usize> {
        let queue = &state.queues[index];
        if queue.limits.is_background && state.queues.iter().any(Queue::has_requested_work) {
            return None;
        }
        let mut order: Vec<usize> = (0..queue.waiting.len()).collect();
        order.sort_by_cached_key(|position| {
            let waiting = &queue.waiting[*position];
            let (network, user) = (queue.shares.network(waiting.client), queue.shares.user(waiting.client));
            (network.running, user.running, network.last_grant, user.last_grant, waiting.id)
        });
        let oversized = state.queues.iter().map(|queue| queue.oversized).sum::<u64>();
        let mut is_memory_awaited = false;
        order.into_iter().find(|position| {
            let waiting = &queue.waiting[*position];
            let is_small = waiting.memory <= self.small();
            // A large job that waits for memory is not overtaken by other large ones, or it would starve.
            if !queue.may_run(waiting, is_small) || (is_memory_awaited && !is_small) {
                return false;
            }
            let fits = if waiting.memory > queue.limits.max_memory {
                // It runs beside small jobs only.
                oversized == 0 && state.memory <= self.small()
            } else {
                // A small job may take a little more than the queue's memory, if another queue leaves it.
                let reserve = if is_small { self.small() } else { 0 };
                queue.memory - queue.oversized + waiting.memory <= queue.limits.max_memory + reserve
                    && state.memory + waiting.memory <= self.max_memory.max(oversized + reserve)
            };
            is_memory_awaited |= !fits;
            fits
        })
    }

    /// The memory of a job that counts as small: those of thumbnails and small photos.
    fn small(&self) -> u64 {
        self.max_memory / 10
    }
}

impl Queue {
    fn new(limits: QueueLimits) -> Self {
        let shares = Shares::default();
        Self {
            limits,
            waiting: Vec::new(),
            running: 0,
            stuck: 0,
            memory: 0,
            oversized: 0,
            shares,
            rejected: 0,
        }
    }

    /// Whether clients wait for jobs of this queue. A stuck one has failed for its client already.
    fn has_requested_work(&self) -> bool {
        !self.limits.is_background && (!self.waiting.is_empty() || self.running > self.stuck)
    }

    /// A stuck job's slot is replaced, but for at most as many as there are: each stuck job still uses a core
    /// and memory.
    fn slots(&self) -> usize {
        self.limits.slots + self.stuck.min(self.limits.slots)
    }

    /// Whether there is a slot for the job, and its network leaves memory to others: the further large jobs
    /// of a network get three quarters of the memory.
    fn may_run(&self, waiting: &QueuedJob, is_small: bool) -> bool {
        let (network, user) = (self.shares.network(waiting.client), self.shares.user(waiting.client));
        let is_first = network.running == 0 || (is_small && user.running == 0);
        let slots = self.slots() + if is_first { self.limits.extra_slots } else { 0 };
        let leaves_memory =
            is_first || is_small || network.memory + waiting.memory <= self.limits.max_memory / 4 * 3;
        self.running < slots && leaves_memory
    }

    /// Adds a job; a full queue sheds one of the largest holder, which may be this one.
    fn push(&mut self, waiting: QueuedJob) -> Result<(), Error> {
        let client = waiting.client;
        self.shares.update(client, |share| share.held += 1);
        self.waiting.push(waiting);
        // A job that can run at once waits for no other: only the jobs beyond the free slots count.
        let free_slots = self.slots().saturating_sub(self.running);
        if self.waiting.len() <= self.limits.max_waiting + free_slots {
            return Ok(());
        }
        self.rejected += 1;
        let largest = self.shares.largest_holder(client);
        // The newest waiting job of that user, or of another user of its network if all of them run.
        let newest = |is_of: &dyn Fn(Client) -> bool| self.waiting.iter().rposition(|job| is_of(job.client));
        let shed = newest(&|client| client == largest)
            .or_else(|| newest(&|client| client.network == largest.network))
            .unwrap_or(self.waiting.len() - 1);
        let is_newcomer = shed == self.waiting.len() - 1;
        let shed = self.waiting.remove(shed);
        self.shares.update(shed.client, |share| share.held -= 1);
        if is_newcomer { Err(Error::Busy(self.limits.name)) } else { Ok(()) }
    }

    fn cancel(&mut self, id: u64) {
        if let Some(position) = self.waiting.iter().position(|waiting| waiting.id == id) {
            let cancelled = self.waiting.remove(position);
            self.shares.update(cancelled.client, |share| share.held -= 1);
        }
    }
}

impl FairQueue {
    /// Waits for a slot and for `memory` bytes; a job that needs more than the queue has runs beside small
    /// jobs only. Fails with [`Error::Busy`] if the job is shed.
    pub(crate) async fn acquire(&self, client: Client, memory: u64) -> Result<SlotPermit, Error> {
        let (grant, granted) = oneshot::channel();
        let id = self.scheduler.update(|state| {
            state.sequence += 1;
            let id = state.sequence;
            state.queues[self.index].push(QueuedJob { id, client, memory, grant }).map(|()| id)
        })?;
        let _cancel_on_drop = CancelOnDrop { queue: self, id };
        match tokio::time::timeout(self.limits.max_wait, granted).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) => Err(Error::Busy(self.limits.name)),
            Err(_) => {
                self.update(|queue| queue.rejected += 1);
                Err(Error::Busy(self.limits.name))
            }
        }
    }

    /// How long ago the last job ended that a client waited for.
    pub(crate) fn idle_time(&self) -> Duration {
        let last = self.scheduler.state.lock().last_requested;
        last.map_or(Duration::MAX, |last| last.elapsed())
    }

    pub(crate) fn name(&self) -> &'static str {
        self.limits.name
    }

    /// QueuedJob and running jobs.
    pub(crate) fn depth(&self) -> usize {
        let state = self.scheduler.state.lock();
        let queue = &state.queues[self.index];
        queue.waiting.len() + queue.running
    }

    /// Jobs that were shed, or waited too long.
    pub(crate) fn rejected(&self) -> u64 {
        self.scheduler.state.lock().queues[self.index].rejected
    }

    /// Records that a running job is stuck, which frees its slot, or that a stuck job has ended.
    pub(crate) fn set_stuck(&self, is_stuck: bool) {
        self.update(|queue| if is_stuck { queue.stuck += 1 } else { queue.stuck -= 1 });
    }

    fn update<T>(&self, change: impl FnOnce(&mut Queue) -> T) -> T {
        self.scheduler.update(|state| change(&mut state.queues[self.index]))
    }
}

/// Removes a job from its queue when the caller is cancelled or done. After a grant there is nothing to
/// remove.
struct CancelOnDrop<'a> {
    queue: &'a FairQueue,
    id: u64,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.queue.update(|queue| queue.cancel(self.id));
    }
}

impl SlotPermit {
    pub(crate) fn is_first(&self) -> bool {
        self.is_first
    }

    /// Releases the slot and keeps the memory.
    pub(crate) fn into_memory(mut self) -> MemoryReservation {
        self.release(true, 0);
        MemoryReservation(self)
    }

    fn release(&mut self, slot: bool, memory: u64) {
        let (client, reserved) = (self.client, self.memory);
        let slot = slot && std::mem::take(&mut self.has_slot);
        self.memory -= memory;
        let max_memory = self.queue.limits.max_memory;
        let fits_now = reserved > max_memory && self.memory <= max_memory;
        self.queue.scheduler.update(|state| {
            state.memory -= memory;
            let queue = &mut state.queues[self.queue.index];
            if fits_now {
                queue.oversized = 0;
            }
            queue.memory -= memory;
            if slot {
                if !queue.limits.is_background {
                    state.last_requested = Some(Clock::monotonic());
                }
                queue.running -= 1;
                queue.shares.update(client, |share| {
                    share.running -= 1;
                    share.held -= 1;
                    share.memory -= reserved;
                });
            }
        });
    }
}

impl Drop for SlotPermit {
    fn drop(&mut self) {
        self.release(true, self.memory);
    }
}

impl MemoryReservation {
    /// Releases all but `bytes`.
    pub(crate) fn shrink_to(&mut self, bytes: u64) {
        self.0.release(false, self.0.memory.saturating_sub(bytes));
    }
}

#[cfg(test)]
mod tests;
