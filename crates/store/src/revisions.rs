//! Revisions: the order of publications, and which one has changed a key last.
//!
//! A write publishes the keys of what it has changed before it is acknowledged. A cached value remembers the
//! revision from before it was read, and the keys that it was made from: it is current as long as none of
//! them has changed since. Keys share slots: a collision costs a read, and is never a stale answer.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use crate::changes::{Change, Notice};
use crate::key::{SLOTS, Slot};

pub struct Revisions {
    /// The number of publications that are complete.
    current: AtomicU64,
    /// The last revision in which any key may have changed.
    all_changed: AtomicU64,
    /// The last revision in which a key of the slot has changed.
    changed: Box<[AtomicU64]>,
    /// One publication at a time.
    publishing: Mutex<()>,
    /// How many batches of writes, or checks of the read barrier, have begun.
    begun: AtomicU64,
    /// The last of them whose changes are published, and the same for those who wait for it.
    published: AtomicU64,
    waiters: watch::Sender<u64>,
    /// How many have to begin until one includes what was read: the batch that is open may include it, a
    /// check that has begun may not.
    ahead: u64,
    listeners: RwLock<Vec<NoticeListener>>,
}

/// Called on the writer's thread or a task, which waits for it: it must not block.
pub(crate) type NoticeListener = Box<dyn Fn(&Notice) + Send + Sync>;

/// What has to be published before a value that was read may leave the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u64);

impl Ticket {
    /// Of a value that is published.
    pub const NONE: Self = Self(0);
}

impl Revisions {
    /// Of a process that publishes its own writes, batch by batch.
    pub fn of_batches() -> Self {
        Self::with(0)
    }

    /// Of a node that hears of all writes by the checks of its read barrier.
    pub(crate) fn of_checks() -> Self {
        Self::with(1)
    }

    fn with(ahead: u64) -> Self {
        Self {
            current: AtomicU64::new(0),
            all_changed: AtomicU64::new(0),
            changed: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(),
            publishing: Mutex::new(()),
            begun: AtomicU64::new(0),
            published: AtomicU64::new(0),
            waiters: watch::Sender::new(0),
            ahead,
            listeners: RwLock::default(),
        }
    }

    /// The revision of what is read from now on, at least.
    pub fn current(&self) -> u64 {
        self.current.load(Ordering::Acquire)
    }

    /// Whether none of the keys has changed since this revision.
    pub fn is_unchanged(&self, slots: &[Slot], since: u64) -> bool {
        let is_older = |changed: &AtomicU64| changed.load(Ordering::Relaxed) <= since;
        is_older(&self.all_changed) && slots.iter().all(|slot| is_older(&self.changed[*slot as usize]))
    }

    /// Publishes changes: what was made from their keys before is stale when this returns.
    pub fn publish(&self, changes: &[Change]) {
        if changes.is_empty() {
            return;
        }
        let _publishing = self.publishing.lock();
        let revision = self.current.load(Ordering::Relaxed) + 1;
        for change in changes {
            match change {
                Change::Everything => self.all_changed.store(revision, Ordering::Relaxed),
                Change::Key(key) => {
                    self.changed[key.slot() as usize].store(revision, Ordering::Relaxed);
                }
                Change::Notice(notice) => {
                    for listener in &*self.listeners.read() {
                        listener(notice);
                    }
                }
            }
        }
        self.current.store(revision, Ordering::Release);
    }

    /// Calls `listener` with each notice that is published from now on.
    pub fn on_notice(&self, listener: impl Fn(&Notice) + Send + Sync + 'static) {
        self.listeners.write().push(Box::new(listener));
    }

    /// Called before a batch of writes or a check; returns its number.
    pub(crate) fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Called after the changes of a batch or a check are published.
    pub(crate) fn end(&self, number: u64) {
        self.published.store(number, Ordering::Release);
        self.waiters.send_replace(number);
    }

    /// The ticket of what has been read until now.
    pub fn ticket(&self) -> Ticket {
        Ticket(self.begun.load(Ordering::Acquire) + self.ahead)
    }

    pub fn is_published(&self, ticket: Ticket) -> bool {
        self.published.load(Ordering::Acquire) >= ticket.0
    }

    /// Waits until a batch is published that may include what was read.
    pub(crate) async fn await_batch(&self, ticket: Ticket) {
        if !self.is_published(ticket) {
            // The sender is a field, so the channel is open.
            drop(self.waiters.subscribe().wait_for(|published| *published >= ticket.0).await);
        }
    }
}

impl fmt::Debug for Revisions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Revisions").field("current", &self.current()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use model::{PostId, UserId};

    use super::*;
    use crate::key::Key;

    #[test]
    fn a_value_is_current_until_one_of_its_keys_changes() {
        let revisions = Revisions::of_batches();
        let slots = [Key::post(PostId(1)).slot(), Key::POSTS.slot()];
        revisions.publish(&[Change::Key(Key::post(PostId(1)))]);
        let since = revisions.current();
        assert!(revisions.is_unchanged(&slots, since) && !revisions.is_unchanged(&slots, since - 1));
        revisions.publish(&[Change::Key(Key::post(PostId(2))), Change::Key(Key::user(UserId(1)))]);
        assert!(revisions.is_unchanged(&slots, since));
        revisions.publish(&[Change::Key(Key::user(UserId(1))), Change::Key(Key::POSTS)]);
        assert!(!revisions.is_unchanged(&slots, since) && revisions.is_unchanged(&slots[..1], since));
        revisions.publish(&[Change::Everything]);
        assert!(!revisions.is_unchanged(&[], since) && revisions.is_unchanged(&slots, revisions.current()));
    }
}
