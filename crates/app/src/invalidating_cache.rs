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

/// Lookups of different shards do not wait for each other.
const SHARDS: usize = 16;

/// What an entry takes besides its value's own bytes.
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
    /// Every change invalidates what it touches, so an entry is valid until then.
    Invalidated,
    /// Other processes change the source unheard, so an entry is valid for this long at most.
    Ttl(Duration),
    Disabled,
}

#[derive(Debug)]
struct Shard<K, V> {
    entries: Cache<K, Entry<V>, EntryWeight<V>, DefaultHashBuilder, CountEvictions>,
    /// Counts invalidations.
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
    /// A cache of `max_bytes`; `weigh` says what a value takes beside its entry.
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

    /// Keeps nothing: every lookup fills.
    pub fn disabled(name: &'static str) -> Self {
        Self::with(name, 1, 0, |_| 0, Mode::Disabled)
    }

    fn with(name: &'static str, shards: usize, max_bytes: u64, weigh: fn(&V) -> u64, mode: Mode) -> Self {
        let counters = Arc::<CacheCounters>::default();
        let max_bytes = max_bytes / shards as u64;
        // Only the room that is reserved at first depends on this estimate.
        let expected = usize::try_from(max_bytes / (4 * ENTRY_BYTES)).unwrap_or(usize::MAX).min(1 << 14);
        let shard = |_| {
            let lifecycle = CountEvictions(counters.clone());
            let entries = Cache::with(
                expected,
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

    /// The cached value, or else what `fill` returns, which is cached unless it was invalidated meanwhile.
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
        // Boxed, so that a hit does not carry the future of a fill around.
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

    /// Invalidates an entry that is only valid by its TTL.
    pub fn invalidate_if_ttl(&self, key: &K) {
        if let Mode::Ttl(_) = self.mode {
            self.invalidate(key);
        }
    }

    /// Invalidates every entry that `stale` names, and every fill in flight.
    pub fn invalidate_where(&self, stale: impl Fn(&K, &V) -> bool) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            shard.epoch += 1;
            shard.entries.retain(|key, entry| !stale(key, &entry.value));
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

    const ROOM: u64 = 64 << 10;

    async fn ask(cache: &InvalidatingCache<u8, u8>, source: u8) -> u8 {
        cache.get_or_fill(1, async || Ok::<_, Infallible>(source)).await.unwrap()
    }

    #[tokio::test]
    async fn a_fill_that_an_invalidation_overtook_is_discarded() {
        let cache = InvalidatingCache::new("test", ROOM, |_| 1);
        assert_eq!((ask(&cache, 1).await, ask(&cache, 2).await), (1, 1), "the second is a hit");
        cache.invalidate(&1);
        assert_eq!(ask(&cache, 2).await, 2, "filled again");
        type Invalidate = fn(&InvalidatingCache<u8, u8>);
        let ways: [Invalidate; 3] = [
            |cache| cache.invalidate(&1),
            |cache| cache.invalidate_where(|_, _| false),
            |cache| cache.invalidate_all(),
        ];
        for (invalidate, source) in ways.into_iter().zip([10, 20, 30]) {
            cache.invalidate_all();
            let overtaken = cache.get_or_fill(1, async || {
                invalidate(&cache);
                Ok::<_, Infallible>(source)
            });
            assert_eq!(overtaken.await, Ok(source), "right when it was asked for");
            assert_eq!(ask(&cache, source + 1).await, source + 1, "but not cached");
        }
    }

    #[tokio::test]
    async fn only_what_is_named_is_invalidated() {
        let cache = InvalidatingCache::<u8, u8>::with_shards("test", 1, ROOM, |_| 1);
        for key in 0..10 {
            cache.get_or_fill(key, async || Ok::<_, Infallible>(key)).await.unwrap();
        }
        cache.invalidate_where(|_, value| *value >= 7);
        assert_eq!((0..10).filter(|key| cache.get(key).is_some()).count(), 7);
    }

    #[tokio::test]
    async fn a_ttl_ends_an_entry_without_an_invalidation() {
        let lasting = InvalidatingCache::with_ttl("test", ROOM, |_| 1, Duration::from_secs(3600));
        assert_eq!((ask(&lasting, 1).await, ask(&lasting, 2).await), (1, 1), "not expired yet");
        lasting.invalidate_if_ttl(&1);
        assert_eq!(ask(&lasting, 3).await, 3);
        let expired = InvalidatingCache::with_ttl("test", ROOM, |_| 1, Duration::ZERO);
        assert_eq!((ask(&expired, 1).await, ask(&expired, 2).await), (1, 2));
    }

    #[tokio::test]
    async fn a_disabled_cache_fills_every_time() {
        let cache = InvalidatingCache::disabled("test");
        assert_eq!((ask(&cache, 1).await, ask(&cache, 2).await), (1, 2));
        let CacheStats { entries, hits, misses, .. } = cache.stats();
        assert_eq!((entries, hits, misses), (0, 0, 2));
    }

    #[tokio::test]
    async fn entries_stay_within_the_bound_and_evictions_are_counted() {
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
