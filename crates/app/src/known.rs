//! Facts kept in memory that are never older than the last acknowledged write.
//!
//! The store tells of every change before it is acknowledged, and what changed is forgotten. A reader that looked just
//! before the change and comes back after it must not put the old fact in again: each shelf counts what it forgot, and
//! takes nothing from before the last time.

use std::hash::{BuildHasher, Hash};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use model::Clock;
use parking_lot::{Mutex, MutexGuard};
use quick_cache::unsync::Cache;
use quick_cache::{DefaultHashBuilder, Weighter};

use crate::Facts;

/// So many can look at once without waiting for each other.
const SHELVES: usize = 16;

#[derive(Debug)]
pub(crate) struct Known<K, V> {
    kind: &'static str,
    shelves: [Mutex<Shelf<K, V>>; SHELVES],
    /// How long a fact may be believed; `None` for as long as nobody says otherwise.
    life: Option<Duration>,
    hasher: DefaultHashBuilder,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Debug)]
struct Shelf<K, V> {
    /// With the moment before they were read, if that matters.
    facts: Cache<K, Fact<V>, Weight<V>>,
    forgotten: u64,
}

type Fact<V> = (V, Option<Instant>);

/// What a fact takes of the room there is.
#[derive(Debug, Clone)]
struct Weight<V>(fn(&V) -> u64);

impl<K, V> Weighter<K, Fact<V>> for Weight<V> {
    fn weight(&self, _: &K, (fact, _): &Fact<V>) -> u64 {
        (self.0)(fact)
    }
}

impl<K: Hash + Eq, V: Clone> Known<K, V> {
    /// Keeps some `capacity` facts; those used least make room.
    pub(crate) fn new(kind: &'static str, capacity: usize) -> Self {
        Self::with(kind, capacity, capacity as u64, |_| 1, None)
    }

    /// Keeps as many facts as go into `bytes`.
    pub(crate) fn weighed(kind: &'static str, bytes: u64, weigh: fn(&V) -> u64) -> Self {
        // How many there will be is only a guess.
        Self::with(kind, (bytes / 512) as usize, bytes, weigh, None)
    }

    /// Keeps facts that may become untrue without our hearing of it, and believes each for `life` at most.
    pub(crate) fn for_a_while(kind: &'static str, capacity: usize, life: Duration) -> Self {
        Self::with(kind, capacity, capacity as u64, |_| 1, Some(life))
    }

    /// Keeps none: every fact is read anew.
    pub(crate) fn nothing(kind: &'static str) -> Self {
        Self::with(kind, 0, 0, |_| 1, Some(Duration::ZERO))
    }

    fn with(
        kind: &'static str,
        expected: usize,
        room: u64,
        weigh: fn(&V) -> u64,
        life: Option<Duration>,
    ) -> Self {
        let facts = || Cache::with_weighter(expected / SHELVES, room / SHELVES as u64, Weight(weigh));
        let shelf = |_| Mutex::new(Shelf { facts: facts(), forgotten: 0 });
        Self {
            kind,
            shelves: std::array::from_fn(shelf),
            life,
            hasher: DefaultHashBuilder::default(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// The fact from memory, or else as it is read now.
    pub(crate) async fn get<E>(
        &self,
        key: K,
        read: impl AsyncFnOnce() -> Result<Option<V>, E>,
    ) -> Result<Option<V>, E> {
        self.get_if(key, |_| true, read).await
    }

    /// The fact from memory if it will do, or else as it is read now.
    pub(crate) async fn get_if<E>(
        &self,
        key: K,
        will_do: impl Fn(&V) -> bool,
        read: impl AsyncFnOnce() -> Result<Option<V>, E>,
    ) -> Result<Option<V>, E> {
        if self.life == Some(Duration::ZERO) {
            self.misses.fetch_add(1, Ordering::Relaxed);
            return Box::pin(read()).await;
        }
        let asked_at = self.life.map(|_| Clock::monotonic());
        let before = {
            let shelf = self.shelf(&key);
            match shelf.facts.get(&key).filter(|(fact, read_at)| self.is_fresh(*read_at) && will_do(fact)) {
                Some((fact, _)) => {
                    self.hits.fetch_add(1, Ordering::Relaxed);
                    return Ok(Some(fact.clone()));
                }
                None => shelf.forgotten,
            }
        };
        self.misses.fetch_add(1, Ordering::Relaxed);
        // In a box, so that who finds it in memory does not carry around what it takes to read it.
        let fact = Box::pin(read()).await?;
        if let Some(fact) = &fact {
            let mut shelf = self.shelf(&key);
            if shelf.forgotten == before {
                shelf.facts.insert(key, (fact.clone(), asked_at));
            }
        }
        Ok(fact)
    }

    /// The fact, if it is in memory. Who does not find it asks for it.
    pub(crate) fn find(&self, key: &K) -> Option<V> {
        let shelf = self.shelf(key);
        let (fact, _) = shelf.facts.get(key).filter(|(_, read_at)| self.is_fresh(*read_at))?;
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(fact.clone())
    }

    fn is_fresh(&self, read_at: Option<Instant>) -> bool {
        match (self.life, read_at) {
            (Some(life), Some(read_at)) => read_at.elapsed() < life,
            _ => true,
        }
    }

    pub(crate) fn forget(&self, key: &K) {
        let mut shelf = self.shelf(key);
        shelf.forgotten += 1;
        shelf.facts.remove(key);
    }

    /// Forgets what is only believed; what is known stays.
    pub(crate) fn doubt(&self, key: &K) {
        if self.life.is_some() {
            self.forget(key);
        }
    }

    pub(crate) fn forget_all(&self) {
        for shelf in &self.shelves {
            let mut shelf = lock(shelf);
            shelf.forgotten += 1;
            shelf.facts.clear();
        }
    }

    pub(crate) fn figures(&self) -> Facts {
        Facts {
            kind: self.kind,
            entries: self.shelves.iter().map(|shelf| lock(shelf).facts.len() as u64).sum(),
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
        }
    }

    fn shelf(&self, key: &K) -> MutexGuard<'_, Shelf<K, V>> {
        lock(&self.shelves[(self.hasher.hash_one(key) >> 32) as usize % SHELVES])
    }
}

fn lock<T>(shelf: &Mutex<T>) -> MutexGuard<'_, T> {
    shelf.lock()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    async fn ask(known: &Known<u8, u8>, fresh: u8) -> u8 {
        known.get(1, async || Ok::<_, Infallible>(Some(fresh))).await.unwrap().unwrap()
    }

    #[tokio::test]
    async fn what_was_read_before_a_change_is_not_kept_after_it() {
        let known = Known::new("test", 64);
        assert_eq!((ask(&known, 1).await, ask(&known, 2).await), (1, 1), "kept");
        known.forget(&1);
        assert_eq!(ask(&known, 2).await, 2, "read anew");
        known.forget(&1);

        // Somebody reads the old fact, the change is told, and then they come back with it.
        let late = known.get(1, async || {
            known.forget(&1);
            Ok::<_, Infallible>(Some(2))
        });
        assert_eq!(late.await, Ok(Some(2)), "right when it was asked");
        assert_eq!(ask(&known, 3).await, 3, "but not kept");
        known.forget_all();
        assert_eq!(ask(&known, 4).await, 4);
    }

    #[tokio::test]
    async fn what_others_may_change_is_believed_for_a_while_or_not_at_all() {
        let known = Known::for_a_while("test", 64, Duration::from_millis(200));
        assert_eq!((ask(&known, 1).await, ask(&known, 2).await), (1, 1), "believed");
        tokio::time::sleep(Duration::from_millis(250)).await;
        assert_eq!(ask(&known, 3).await, 3, "not any more");
        known.forget(&1);
        assert_eq!(ask(&known, 4).await, 4, "we heard of a change");

        let known = Known::nothing("test");
        assert_eq!((ask(&known, 1).await, ask(&known, 2).await), (1, 2));
        assert_eq!(known.figures().entries, 0);
    }

    #[tokio::test]
    async fn a_fact_that_will_not_do_is_read_anew() {
        let known = Known::new("test", 64);
        assert_eq!(ask(&known, 1).await, 1);
        let better = known.get_if(1, |fact| *fact > 1, async || Ok::<_, Infallible>(Some(5)));
        assert_eq!(better.await, Ok(Some(5)));
        assert_eq!(ask(&known, 6).await, 5);
    }

    #[tokio::test]
    async fn facts_take_no_more_than_their_room() {
        let known = Known::<u32, Vec<u8>>::weighed("test", 160 << 10, |fact| fact.len() as u64);
        for key in 0..1_000 {
            known.get(key, async || Ok::<_, Infallible>(Some(vec![0; 1 << 10]))).await.unwrap();
        }
        let entries = known.figures().entries;
        assert!((80..=160).contains(&entries), "{entries}");
    }
}
