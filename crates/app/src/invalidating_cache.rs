//! A bounded cache whose entries are never older than the last acknowledged write.
//!
//! The store publishes every change, and the change invalidates the entry. A fill that started before its
//! shard's last invalidation is discarded, so a slow reader cannot cache a stale value.

use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use model::{CacheCounters, CacheStats};
use parking_lot::{Mutex, MutexGuard};
use quick_cache::unsync::Cache;
use quick_cache::{DefaultHashBuilder, Lifecycle, Weighter};

/// Each shard has its own lock, which reduces contention.
const SHARDS: usize = 16;

/// The estimated size of an entry without what its key and its value point to.
const ENTRY_BYTES: u64 = 128;

#[derive(Debug)]
pub struct InvalidatingCache<K, V> {
    name: &'static str,
    shards: Box<[Mutex<Shard<K, V>>]>,
    hasher: DefaultHashBuilder,
    counters: Arc<CacheCounters>,
}

#[derive(Debug)]
struct Shard<K, V> {
    entries: Cache<K, V, EntryWeight<K, V>, DefaultHashBuilder, CountEvictions>,
    /// The number of invalidations.
    epoch: u64,
}

/// A fill in flight. Its value is not cached if its shard is invalidated before it is done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fill {
    epoch: u64,
}

#[derive(Debug, Clone)]
struct EntryWeight<K, V>(fn(&K, &V) -> u64);

impl<K, V> Weighter<K, V> for EntryWeight<K, V> {
    fn weight(&self, key: &K, value: &V) -> u64 {
        (self.0)(key, value) + ENTRY_BYTES
    }
}

#[derive(Debug, Clone)]
struct CountEvictions(Arc<CacheCounters>);

impl<K, V> Lifecycle<K, V> for CountEvictions {
    type RequestState = ();

    fn on_evict(&self, (): &mut (), _: K, _: V) {
        self.0.evict();
    }
}

impl<K: Hash + Eq, V: Clone> InvalidatingCache<K, V> {
    /// A cache of `max_bytes`; `weigh` returns the bytes that a key and its value point to.
    pub fn new(name: &'static str, max_bytes: u64, weigh: fn(&K, &V) -> u64) -> Self {
        Self::with_shards(name, SHARDS, max_bytes, weigh)
    }

    /// The same with fewer shards, for entries that are large or invalidated together.
    pub fn with_shards(name: &'static str, shards: usize, max_bytes: u64, weigh: fn(&K, &V) -> u64) -> Self {
        let shards = shards.clamp(1, SHARDS);
        let counters = Arc::<CacheCounters>::default();
        let max_bytes = max_bytes / shards as u64;
        // An estimate, which only determines the initial capacity.
        let estimated_entries =
            usize::try_from(max_bytes / (4 * ENTRY_BYTES)).unwrap_or(usize::MAX).min(1 << 14);
        let shard = |_| {
            let lifecycle = CountEvictions(counters.clone());
            let entries = Cache::with(
                estimated_entries,
                max_bytes,
                EntryWeight(weigh),
                DefaultHashBuilder::default(),
                lifecycle,
            );
            Mutex::new(Shard { entries, epoch: 0 })
        };
        Self {
            name,
            shards: (0..shards).map(shard).collect(),
            hasher: DefaultHashBuilder::default(),
            counters,
        }
    }

    /// The cached value, or else the result of `fill`, which is cached unless its shard was invalidated
    /// meanwhile.
    pub async fn get_or_fill<E>(&self, key: K, fill: impl AsyncFnOnce() -> Result<V, E>) -> Result<V, E> {
        let in_flight = match self.get_or_begin(&key) {
            Ok(value) => return Ok(value),
            Err(in_flight) => in_flight,
        };
        // Boxed, so that the future of a hit does not contain that of the fill.
        let value = Box::pin(fill()).await?;
        self.complete(in_flight, key, value.clone());
        Ok(value)
    }

    /// The cached value, or else a fill to complete with the value.
    pub(crate) fn get_or_begin(&self, key: &K) -> Result<V, Fill> {
        let shard = self.shard(key);
        match shard.entries.get(key) {
            Some(value) => {
                self.counters.hit();
                Ok(value.clone())
            }
            None => {
                self.counters.miss();
                Err(Fill { epoch: shard.epoch })
            }
        }
    }

    pub(crate) fn complete(&self, fill: Fill, key: K, value: V) {
        let mut shard = self.shard(&key);
        if shard.epoch == fill.epoch {
            shard.entries.insert(key, value);
        }
    }

    /// The cached value. A miss is counted by the fill that follows it.
    pub fn get(&self, key: &K) -> Option<V> {
        let shard = self.shard(key);
        let value = shard.entries.get(key)?;
        self.counters.hit();
        Some(value.clone())
    }

    pub fn invalidate(&self, key: &K) {
        let mut shard = self.shard(key);
        shard.epoch += 1;
        shard.entries.remove(key);
    }

    /// Invalidates every entry for which `is_stale` returns true, and every fill in flight.
    pub fn invalidate_where(&self, is_stale: impl Fn(&K, &V) -> bool) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            shard.epoch += 1;
            shard.entries.retain(|key, value| !is_stale(key, value));
        }
    }

    pub fn invalidate_all(&self) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            shard.epoch += 1;
            shard.entries.clear();
        }
    }

    pub fn stats(&self) -> CacheStats {
        let (mut entries, mut bytes) = (0, 0);
        for shard in &self.shards {
            let shard = shard.lock();
            entries += shard.entries.len() as u64;
            bytes += shard.entries.weight();
        }
        self.counters.stats(self.name, entries, bytes)
    }

    fn shard(&self, key: &K) -> MutexGuard<'_, Shard<K, V>> {
        self.shards[(self.hasher.hash_one(key) >> 32) as usize % self.shards.len()].lock()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    const MAX_BYTES: u64 = 64 << 10;

    async fn lookup(cache: &InvalidatingCache<u8, u8>, source: u8) -> u8 {
        cache.get_or_fill(1, async || Ok::<_, Infallible>(source)).await.unwrap()
    }

    #[tokio::test]
    async fn a_fill_that_started_before_an_invalidation_is_not_cached() {
        let cache = InvalidatingCache::new("test", MAX_BYTES, |_, _| 1);
        assert_eq!((lookup(&cache, 1).await, lookup(&cache, 2).await), (1, 1), "the second is a hit");
        cache.invalidate(&1);
        assert_eq!(lookup(&cache, 2).await, 2, "filled again");
        type Invalidate = fn(&InvalidatingCache<u8, u8>);
        let invalidations: [Invalidate; 3] = [
            |cache| cache.invalidate(&1),
            |cache| cache.invalidate_where(|_, _| false),
            |cache| cache.invalidate_all(),
        ];
        for (invalidate, source) in invalidations.into_iter().zip([10, 20, 30]) {
            cache.invalidate_all();
            let overtaken = cache.get_or_fill(1, async || {
                invalidate(&cache);
                Ok::<_, Infallible>(source)
            });
            assert_eq!(overtaken.await, Ok(source), "the caller gets the value it filled");
            assert_eq!(lookup(&cache, source + 1).await, source + 1, "the value must not be cached");
        }
    }

    #[tokio::test]
    async fn invalidate_where_keeps_the_other_entries() {
        let cache = InvalidatingCache::<u8, u8>::with_shards("test", 1, MAX_BYTES, |_, _| 1);
        for key in 0..10 {
            cache.get_or_fill(key, async || Ok::<_, Infallible>(key)).await.unwrap();
        }
        cache.invalidate_where(|_, value| *value >= 7);
        assert_eq!((0..10).filter(|key| cache.get(key).is_some()).count(), 7);
    }

    #[tokio::test]
    async fn entries_stay_within_the_limit_and_evictions_are_counted() {
        let max_bytes = 160 << 10;
        let cache = InvalidatingCache::<u32, Vec<u8>>::new("test", max_bytes, |_, value| value.len() as u64);
        for key in 0..1_000 {
            cache.get_or_fill(key, async || Ok::<_, Infallible>(vec![0; 1 << 10])).await.unwrap();
        }
        let CacheStats { entries, bytes, evictions, .. } = cache.stats();
        assert!((70..=160).contains(&entries) && bytes <= max_bytes, "{entries} entries, {bytes} bytes");
        assert_eq!(entries + evictions, 1_000);
    }
}
