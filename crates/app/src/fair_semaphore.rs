//! A semaphore whose permits can be revoked: if all units are taken, a holder of the largest share loses its
//! permit to a client with less.

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
    /// Those of idle holders, which lose nothing, whatever their share; then those of busy ones that have a
    /// larger share than the newcomer would have.
    IdleFirst,
    /// Those of holders that are not busy and have a larger share than the newcomer would have.
    LargerShares,
    /// The same, whether a holder is busy or not: it loses its connection.
    LargerBusyShares,
}

#[derive(Debug, Default)]
struct State {
    shares: Shares,
    permits: HashMap<u64, HeldPermit>,
    units: usize,
    next_id: u64,
}

#[derive(Debug)]
struct HeldPermit {
    holder: Arc<Holder>,
    client: Client,
    units: usize,
    is_exempt: bool,
}

/// The holder of a permit, or of several. Its activity decides whether it may lose them.
#[derive(Debug)]
pub struct Holder {
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
        self.try_acquire_units(client, 1)
    }

    /// The same of several units.
    pub fn try_acquire_units(self: &Arc<Self>, client: Client, units: usize) -> Option<FairPermit> {
        self.acquire(Arc::new(Holder::new(self.epoch)), client, units, false)
    }

    /// A permit for a client that acts for many others: without limits of its own, and never revoked.
    pub fn try_acquire_exempt(self: &Arc<Self>, client: Client) -> Option<FairPermit> {
        self.acquire(Arc::new(Holder::new(self.epoch)), client, 1, true)
    }

    /// A permit of several units for the holder of another permit, which loses both when one is revoked.
    pub fn try_acquire_for(
        self: &Arc<Self>,
        holder: &Arc<Holder>,
        client: Client,
        units: usize,
    ) -> Option<FairPermit> {
        self.acquire(holder.clone(), client, units, false)
    }

    fn acquire(
        self: &Arc<Self>,
        holder: Arc<Holder>,
        client: Client,
        units: usize,
        is_exempt: bool,
    ) -> Option<FairPermit> {
        let mut state = self.state.lock();
        let (network, user) = (state.shares.network(client), state.shares.user(client));
        let is_at_limit = network.held + units > self.limits.max_per_network
            || user.held + units > self.limits.max_per_user;
        if !is_exempt && is_at_limit {
            return None;
        }
        self.make_room(&mut state, client, units)?;
        state.next_id += 1;
        let id = state.next_id;
        holder.record_progress(Instant::now());
        state.hold(id, HeldPermit { holder: holder.clone(), client, units, is_exempt });
        Some(FairPermit { semaphore: self.clone(), id, holder })
    }

    /// Revokes permits until there are so many units. If that is impossible, no holder loses its permit.
    fn make_room(&self, state: &mut State, client: Client, units: usize) -> Option<()> {
        let mut released = Vec::new();
        while state.units + units > self.limits.max {
            let Some(id) = self.next_to_revoke(state, client, units) else {
                for (id, permit) in released {
                    state.hold(id, permit);
                }
                return None;
            };
            released.extend(state.release(id).map(|permit| (id, permit)));
        }
        for (_, permit) in released {
            permit.holder.revoke();
        }
        Some(())
    }

    /// Of the holders that may lose their permit, the one of the network and user with the largest shares
    /// that has been without progress for the longest time.
    fn next_to_revoke(&self, state: &State, newcomer: Client, units: usize) -> Option<u64> {
        let share = |client| (state.shares.network(client).held, state.shares.user(client).held);
        let (own_network, own_user) = share(newcomer);
        let is_revocable = |permit: &HeldPermit| {
            let (network, user) = share(permit.client);
            let has_more = match permit.client.network == newcomer.network {
                true => user > own_user + units,
                false => network > own_network + units,
            };
            let is_idle = !permit.holder.is_busy();
            !permit.is_exempt
                && match self.limits.revocation {
                    Revocation::IdleFirst => is_idle || has_more,
                    Revocation::LargerShares => is_idle && has_more,
                    Revocation::LargerBusyShares => has_more,
                }
        };
        let is_preferred =
            |permit: &HeldPermit| self.limits.revocation == Revocation::IdleFirst && !permit.holder.is_busy();
        let permits = state.permits.iter().filter(|(_, permit)| is_revocable(permit));
        let largest = permits.max_by_key(|(_, permit)| {
            let idle_since = permit.holder.last_progress.load(Ordering::Relaxed);
            (is_preferred(permit), share(permit.client), std::cmp::Reverse(idle_since))
        });
        largest.map(|(id, _)| *id)
    }
}

impl State {
    fn take(&mut self, client: Client, units: usize) {
        self.units += units;
        self.shares.update(client, |share| share.held += units);
    }

    fn hold(&mut self, id: u64, permit: HeldPermit) {
        self.take(permit.client, permit.units);
        self.permits.insert(id, permit);
    }

    /// `None` if it was revoked before.
    fn release(&mut self, id: u64) -> Option<HeldPermit> {
        let permit = self.permits.remove(&id)?;
        self.units -= permit.units;
        self.shares.update(permit.client, |share| share.held -= permit.units);
        Some(permit)
    }
}

impl Holder {
    fn new(epoch: Instant) -> Self {
        Self {
            epoch,
            is_busy: AtomicBool::new(false),
            last_progress: AtomicU64::new(0),
            revoked: Notify::new(),
            is_revoked: AtomicBool::new(false),
        }
    }

    fn is_busy(&self) -> bool {
        self.is_busy.load(Ordering::Acquire)
    }

    /// A busy holder does not lose its permit, or only to one with a smaller share.
    pub fn set_busy(&self, is_busy: bool) {
        self.is_busy.store(is_busy, Ordering::Release);
    }

    pub fn record_progress(&self, now: Instant) {
        self.last_progress.store(millis_between(self.epoch, now), Ordering::Relaxed);
    }

    fn revoke(&self) {
        self.is_revoked.store(true, Ordering::Release);
        self.revoked.notify_waiters();
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

    /// Adds units to the permit; `false` if there are none, or it was revoked.
    pub fn try_grow(&mut self, units: usize) -> bool {
        let mut state = self.semaphore.state.lock();
        let Some(client) = state.permits.get(&self.id).map(|permit| permit.client) else { return false };
        if self.semaphore.make_room(&mut state, client, units).is_none() {
            return false;
        }
        let Some(permit) = state.permits.get_mut(&self.id) else { return false };
        permit.units += units;
        state.take(client, units);
        true
    }
}

impl Drop for FairPermit {
    fn drop(&mut self) {
        self.semaphore.state.lock().release(self.id);
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
        assert_eq!(semaphore.state.lock().permits.len(), 2, "a revoked permit is released once");
    }

    #[tokio::test]
    async fn idle_holders_are_revoked_whatever_their_share_and_busy_ones_of_larger_shares() {
        let limits = PermitLimits { revocation: Revocation::IdleFirst, max: 2, ..LIMITS };
        let semaphore = FairSemaphore::new(limits);
        let proxy = semaphore.try_acquire_exempt(client(9, 9)).unwrap();
        let first = semaphore.try_acquire(client(1, 1)).unwrap();
        let second = semaphore.try_acquire(client(2, 2)).unwrap();
        assert!(is_revoked(&first).await && !is_revoked(&proxy).await);
        second.holder().set_busy(true);
        assert!(semaphore.try_acquire(client(3, 3)).is_none(), "no holder is idle or has more");
        drop((proxy, second));

        let semaphore = FairSemaphore::new(PermitLimits { max: 4, ..limits });
        let held = [1, 1, 1, 2].map(|host| semaphore.try_acquire(client(host, host.into())).unwrap());
        for (permit, progress) in held.iter().zip([2, 1, 3, 0]) {
            permit.holder().set_busy(true);
            permit.holder().record_progress(Instant::now() + Duration::from_secs(progress));
        }
        let newcomer = semaphore.try_acquire(client(3, 3)).expect("network 1 has three");
        newcomer.holder().set_busy(true);
        assert!(is_revoked(&held[1]).await && !is_revoked(&held[0]).await && !is_revoked(&held[3]).await);
        held[3].holder().set_busy(false);
        let _another = semaphore.try_acquire(client(4, 4)).expect("network 2 is idle");
        assert!(is_revoked(&held[3]).await && !is_revoked(&held[0]).await);
        drop(newcomer);
    }

    #[tokio::test]
    async fn units_are_revoked_from_the_largest_share_however_busy_it_is() {
        let limits = PermitLimits {
            max: 100,
            max_per_network: 100,
            max_per_user: 100,
            revocation: Revocation::LargerBusyShares,
        };
        let (memory, connections) = (FairSemaphore::new(limits), FairSemaphore::new(LIMITS));
        let [first, second, other] =
            [(1, 1), (1, 1), (2, 2)].map(|(host, user)| connections.try_acquire(client(host, user)).unwrap());
        first.holder().set_busy(true);
        let mut held = memory.try_acquire_for(first.holder(), client(1, 1), 50).unwrap();
        assert!(held.try_grow(10) && !held.try_grow(41), "the largest share is its own");
        let small = memory.try_acquire_for(second.holder(), client(1, 1), 10).unwrap();
        second.holder().record_progress(Instant::now() + Duration::from_secs(1));
        assert!(
            memory.try_acquire_for(other.holder(), client(2, 2), 70).is_none(),
            "it would have the largest share"
        );
        let newcomer = memory.try_acquire_for(other.holder(), client(2, 2), 40).unwrap();
        assert!(is_revoked(&first).await && !is_revoked(&second).await, "the connection loses its memory");
        assert!(!held.try_grow(1), "a revoked permit does not grow");
        drop((held, small, newcomer));
        assert_eq!(memory.state.lock().units, 0);
    }

    #[tokio::test]
    async fn no_permit_is_revoked_if_the_newcomer_does_not_fit_anyway() {
        let limits = PermitLimits {
            max: 100,
            max_per_network: 100,
            max_per_user: 100,
            revocation: Revocation::LargerBusyShares,
        };
        let semaphore = FairSemaphore::new(limits);
        let acquire = |host, units| {
            let holder = Arc::new(Holder::new(semaphore.epoch));
            semaphore.try_acquire_for(&holder, client(host, host.into()), units)
        };
        let held = [(1, 30), (1, 20), (2, 40), (3, 10)].map(|(host, units)| acquire(host, units).unwrap());
        held[1].holder().record_progress(Instant::now() + Duration::from_secs(1));
        assert!(acquire(4, 45).is_none(), "without the first permit, there would be 30");
        for permit in &held {
            assert!(!is_revoked(permit).await);
        }
        assert_eq!(semaphore.state.lock().units, 100);
        let newcomer = acquire(4, 30).expect("network 1 has more");
        assert!(is_revoked(&held[0]).await && !is_revoked(&held[1]).await);
        drop((held, newcomer));
        assert_eq!(semaphore.state.lock().units, 0);
    }
}
