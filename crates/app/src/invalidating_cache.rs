//! A bounded cache whose entries are never older than the last acknowledged write.
//!
//! The store publishes every change before its write is acknowledged, and the change invalidates the entry. A
//! fill that started before its shard's last invalidation is discarded, so a slow reader cannot cache a stale
//! value.

use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{CacheCounters, CacheStats, Clock};
use parking_lot::{Mutex, MutexGuard};
use quick_cache::unsync::Cache;
use quick_cache::{DefaultHashBuilder, Lifecycle, Weighter};

/// Each shard has its own lock, which reduces contention.
const SHARDS: usize = 16;

/// The estimated size of an entry without its value.
const ENTRY_BYTES: u64 = 128;

#[derive(Debug)]
pub struct InvalidatingCache<K, V> {
    name: &'static str,
    shards: Box<[Mutex<Shard<K, V>>]>,
    mode: Mode,
    hasher: DefaultHashBuilder,
    counters: Arc<CacheCounters>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Every change invalidates the entries it affects, so an entry is valid until then.
    Invalidated,
    /// Other processes change the source without an invalidation, so an entry expires after this time.
    Ttl(Duration),
    Disabled,
}

#[derive(Debug)]
struct Shard<K, V> {
    entries: Cache<K, Entry<V>, EntryWeight<V>, DefaultHashBuilder, CountEvictions>,
    /// The number of invalidations.
    epoch: u64,
}

#[derive(Debug, Clone)]
struct Entry<V> {
    value: V,
    expires: Option<Instant>,
}

#[derive(Debug, Clone)]
struct EntryWeight<V>(fn(&V) -> u64);

impl<K, V> Weighter<K, Entry<V>> for EntryWeight<V> {
    fn weight(&self, _: &K, entry: &Entry<V>) -> u64 {
        (self.0)(&entry.value) + ENTRY_BYTES
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
    /// A cache of `max_bytes`; `weigh` returns the bytes of a value.
    pub fn new(name: &'static str, max_bytes: u64, weigh: fn(&V) -> u64) -> Self {
        Self::with(name, SHARDS, max_bytes, weigh, Mode::Invalidated)
    }

    /// The same with fewer shards, for entries that are large or invalidated together.
    pub fn with_shards(name: &'static str, shards: usize, max_bytes: u64, weigh: fn(&V) -> u64) -> Self {
        Self::with(name, shards.clamp(1, SHARDS), max_bytes, weigh, Mode::Invalidated)
    }

    /// A cache over a source that other processes change without an invalidation.
    pub fn with_ttl(name: &'static str, max_bytes: u64, weigh: fn(&V) -> u64, ttl: Duration) -> Self {
        Self::with(name, SHARDS, max_bytes, weigh, Mode::Ttl(ttl))
    }

    /// Stores nothing: every lookup is a miss.
    pub fn disabled(name: &'static str) -> Self {
        Self::with(name, 1, 0, |_| 0, Mode::Disabled)
    }

    fn with(name: &'static str, shards: usize, max_bytes: u64, weigh: fn(&V) -> u64, mode: Mode) -> Self {
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
            mode,
            hasher: DefaultHashBuilder::default(),
            counters,
        }
    }

    /// The cached value, or else the result of `fill`, which is cached unless its shard was invalidated
    /// meanwhile.
    pub async fn get_or_fill<E>(&self, key: K, fill: impl AsyncFnOnce() -> Result<V, E>) -> Result<V, E> {
        let expires = match self.mode {
            Mode::Invalidated => None,
            Mode::Ttl(ttl) => Some(Clock::monotonic() + ttl),
            Mode::Disabled => {
                self.counters.miss();
                return Box::pin(fill()).await;
            }
        };
        let epoch = {
            let shard = self.shard(&key);
            match shard.entries.get(&key).filter(|entry| entry.is_fresh()) {
                Some(entry) => {
                    self.counters.hit();
                    return Ok(entry.value.clone());
                }
                None => shard.epoch,
            }
        };
        self.counters.miss();
        // Boxed, so that the future of a hit does not contain that of the fill.
        let value = Box::pin(fill()).await?;
        let mut shard = self.shard(&key);
        if shard.epoch == epoch {
            shard.entries.insert(key, Entry { value: value.clone(), expires });
        }
        Ok(value)
    }

    /// The cached value. A miss is counted by the fill that follows it.
    pub fn get(&self, key: &K) -> Option<V> {
        let shard = self.shard(key);
        let entry = shard.entries.get(key).filter(|entry| entry.is_fresh())?;
        self.counters.hit();
        Some(entry.value.clone())
    }

    pub fn invalidate(&self, key: &K) {
        let mut shard = self.shard(key);
        shard.epoch += 1;
        shard.entries.remove(key);
    }

    /// Invalidates the entry if the cache is in TTL mode, where it may be stale.
    pub fn invalidate_if_ttl(&self, key: &K) {
        if let Mode::Ttl(_) = self.mode {
            self.invalidate(key);
        }
    }

    /// Invalidates every entry for which `is_stale` returns true, and every fill in flight.
    pub fn invalidate_where(&self, is_stale: impl Fn(&K, &V) -> bool) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            shard.epoch += 1;
            shard.entries.retain(|key, entry| !is_stale(key, &entry.value));
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

impl<V> Entry<V> {
    fn is_fresh(&self) -> bool {
        self.expires.is_none_or(|expires| Clock::monotonic() < expires)
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
        let cache = InvalidatingCache::new("test", MAX_BYTES, |_| 1);
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
        let cache = InvalidatingCache::<u8, u8>::with_shards("test", 1, MAX_BYTES, |_| 1);
        for key in 0..10 {
            cache.get_or_fill(key, async || Ok::<_, Infallible>(key)).await.unwrap();
        }
        cache.invalidate_where(|_, value| *value >= 7);
        assert_eq!((0..10).filter(|key| cache.get(key).is_some()).count(), 7);
    }

    #[tokio::test]
    async fn an_entry_expires_after_its_ttl() {
        let fresh = InvalidatingCache::with_ttl("test", MAX_BYTES, |_| 1, Duration::from_secs(3600));
        assert_eq!((lookup(&fresh, 1).await, lookup(&fresh, 2).await), (1, 1), "not expired yet");
        fresh.invalidate_if_ttl(&1);
        assert_eq!(lookup(&fresh, 3).await, 3);
        let expired = InvalidatingCache::with_ttl("test", MAX_BYTES, |_| 1, Duration::ZERO);
        assert_eq!((lookup(&expired, 1).await, lookup(&expired, 2).await), (1, 2));
    }

    #[tokio::test]
    async fn a_disabled_cache_misses_every_lookup() {
        let cache = InvalidatingCache::disabled("test");
        assert_eq!((lookup(&cache, 1).await, lookup(&cache, 2).await), (1, 2));
        let CacheStats { entries, hits, misses, .. } = cache.stats();
        assert_eq!((entries, hits, misses), (0, 0, 2));
    }

    #[tokio::test]
    async fn entries_stay_within_the_limit_and_evictions_are_counted() {
        let max_bytes = 160 << 10;
        let cache = InvalidatingCache::<u32, Vec<u8>>::new("test", max_bytes, |value| value.len() as u64);
        for key in 0..1_000 {
            cache.get_or_fill(key, async || Ok::<_, Infallible>(vec![0; 1 << 10])).await.unwrap();
        }
        let CacheStats { entries, bytes, evictions, .. } = cache.stats();
        assert!((70..=160).contains(&entries) && bytes <= max_bytes, "{entries} entries, {bytes} bytes");
        assert_eq!(entries + evictions, 1_000);
    }
}
