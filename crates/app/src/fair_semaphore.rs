//! A semaphore whose permits can be revoked: if all are taken, a holder of the largest share loses one to a
//! client with less.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::Client;
use crate::shares::Shares;

#[derive(Debug)]
pub struct FairSemaphore {
    limits: PermitLimits,
    epoch: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy)]
pub struct PermitLimits {
    pub max: usize,
    pub max_per_network: usize,
    pub max_per_user: usize,
    pub revocation: Revocation,
}

/// Which permits a newcomer may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revocation {
    /// Those of every idle holder: it loses nothing.
    Idle,
    /// Those of holders that are not busy and have a larger share than the newcomer would have.
    LargerShares,
}

#[derive(Debug, Default)]
struct State {
    shares: Shares,
    holders: HashMap<u64, Arc<Holder>>,
    next_id: u64,
}

/// The holder of a permit. Its activity decides whether it may lose it.
#[derive(Debug)]
pub struct Holder {
    client: Client,
    is_exempt: bool,
    epoch: Instant,
    is_busy: AtomicBool,
    /// In milliseconds since `epoch`.
    last_progress: AtomicU64,
    revoked: Notify,
    is_revoked: AtomicBool,
}

/// Released when dropped.
#[derive(Debug)]
pub struct FairPermit {
    semaphore: Arc<FairSemaphore>,
    id: u64,
    holder: Arc<Holder>,
}

impl FairSemaphore {
    pub fn new(limits: PermitLimits) -> Arc<Self> {
        Arc::new(Self { limits, epoch: Instant::now(), state: Mutex::default() })
    }

    /// A permit, unless a limit of the client is reached, or all permits are taken and none can be revoked.
    pub fn try_acquire(self: &Arc<Self>, client: Client) -> Option<FairPermit> {
        self.acquire(client, false)
    }

    /// A permit for a client that acts for many others: without limits of its own, and never revoked.
    pub fn try_acquire_exempt(self: &Arc<Self>, client: Client) -> Option<FairPermit> {
        self.acquire(client, true)
    }

    fn acquire(self: &Arc<Self>, client: Client, is_exempt: bool) -> Option<FairPermit> {
        let mut state = self.state.lock();
        let (network, user) = (state.shares.network(client), state.shares.user(client));
        let is_at_limit =
            network.held >= self.limits.max_per_network || user.held >= self.limits.max_per_user;
        if !is_exempt && is_at_limit {
            return None;
        }
        if state.holders.len() >= self.limits.max {
            let id = self.next_to_revoke(&state, client)?;
            state.remove(id);
        }
        state.next_id += 1;
        let id = state.next_id;
        let holder = Arc::new(Holder {
            client,
            is_exempt,
            epoch: self.epoch,
            is_busy: AtomicBool::new(false),
            last_progress: AtomicU64::new(millis_between(self.epoch, Instant::now())),
            revoked: Notify::new(),
            is_revoked: AtomicBool::new(false),
        });
        state.holders.insert(id, holder.clone());
        state.shares.update(client, |share| share.held += 1);
        Some(FairPermit { semaphore: self.clone(), id, holder })
    }

    /// Of the holders that may lose their permit, the one of the network and user with the largest shares
    /// that has been without progress for the longest time.
    fn next_to_revoke(&self, state: &State, newcomer: Client) -> Option<u64> {
        let share = |client| (state.shares.network(client).held, state.shares.user(client).held);
        let (own_network, own_user) = share(newcomer);
        let is_revocable = |holder: &Holder| {
            let (network, user) = share(holder.client);
            let has_more = match holder.client.network == newcomer.network {
                true => user > own_user + 1,
                false => network > own_network + 1,
            };
            let is_idle = !holder.is_exempt && !holder.is_busy.load(Ordering::Acquire);
            is_idle && (has_more || self.limits.revocation == Revocation::Idle)
        };
        let holders = state.holders.iter().filter(|(_, holder)| is_revocable(holder));
        let largest = holders.max_by_key(|(_, holder)| {
            let idle_since = holder.last_progress.load(Ordering::Relaxed);
            (share(holder.client), std::cmp::Reverse(idle_since))
        });
        largest.map(|(id, _)| *id)
    }
}

impl State {
    fn remove(&mut self, id: u64) {
        // Absent if it was revoked before it was dropped.
        if let Some(holder) = self.holders.remove(&id) {
            holder.is_revoked.store(true, Ordering::Release);
            holder.revoked.notify_waiters();
            self.shares.update(holder.client, |share| share.held -= 1);
        }
    }
}

impl Holder {
    /// A busy holder does not lose its permit.
    pub fn set_busy(&self, is_busy: bool) {
        self.is_busy.store(is_busy, Ordering::Release);
    }

    pub fn record_progress(&self, now: Instant) {
        self.last_progress.store(millis_between(self.epoch, now), Ordering::Relaxed);
    }

    /// Completes when the permit is revoked.
    pub async fn revoked(&self) {
        let mut revoked = std::pin::pin!(self.revoked.notified());
        // Registered before the check, so that a revocation in between is not missed.
        revoked.as_mut().enable();
        if !self.is_revoked.load(Ordering::Acquire) {
            revoked.await;
        }
    }
}

impl FairPermit {
    pub fn holder(&self) -> &Arc<Holder> {
        &self.holder
    }
}

impl Drop for FairPermit {
    fn drop(&mut self) {
        self.semaphore.state.lock().remove(self.id);
    }
}

fn millis_between(epoch: Instant, now: Instant) -> u64 {
    u64::try_from(now.saturating_duration_since(epoch).as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::time::Duration;

    use model::UserId;

    use super::*;

    const LIMITS: PermitLimits =
        PermitLimits { max: 4, max_per_network: 4, max_per_user: 3, revocation: Revocation::LargerShares };

    fn client(host: u8, user: i64) -> Client {
        Client::anonymous(IpAddr::from([10, 0, 0, host])).with_user(UserId(user))
    }

    async fn is_revoked(permit: &FairPermit) -> bool {
        futures_util::poll!(std::pin::pin!(permit.holder().revoked())).is_ready()
    }

    #[tokio::test]
    async fn the_holder_with_the_largest_share_loses_the_permit_without_progress() {
        let semaphore = FairSemaphore::new(LIMITS);
        let held: Vec<_> = (0..3).map(|_| semaphore.try_acquire(client(1, 1)).unwrap()).collect();
        assert!(semaphore.try_acquire(client(1, 1)).is_none(), "three per user");
        let second = semaphore.try_acquire(client(1, 2)).unwrap();
        held[0].holder().record_progress(Instant::now() + Duration::from_secs(1));
        held[1].holder().set_busy(true);
        let other = semaphore.try_acquire(client(2, 3)).expect("network 1 has four");
        assert!(is_revoked(&held[2]).await);
        assert!(!is_revoked(&held[0]).await && !is_revoked(&held[1]).await && !is_revoked(&second).await);
        let _more = semaphore.try_acquire(client(3, 4)).expect("network 1 has three");
        assert!(is_revoked(&held[0]).await);
        let _fourth = semaphore.try_acquire(client(4, 5)).expect("network 1 has two");
        assert!(is_revoked(&second).await && !is_revoked(&held[1]).await, "only one of them is not busy");
        assert!(semaphore.try_acquire(client(5, 6)).is_none(), "every network has one");
        drop((held, other, second));
        assert_eq!(semaphore.state.lock().holders.len(), 2, "a revoked permit is released once");
    }

    #[tokio::test]
    async fn idle_holders_are_revoked_whatever_their_share() {
        let semaphore = FairSemaphore::new(PermitLimits { revocation: Revocation::Idle, max: 2, ..LIMITS });
        let proxy = semaphore.try_acquire_exempt(client(9, 9)).unwrap();
        let first = semaphore.try_acquire(client(1, 1)).unwrap();
        let second = semaphore.try_acquire(client(2, 2)).unwrap();
        assert!(is_revoked(&first).await && !is_revoked(&proxy).await);
        second.holder().set_busy(true);
        assert!(semaphore.try_acquire(client(3, 3)).is_none(), "no holder is idle");
    }
}
