//! Memos: bounded caches that are exact, because each value remembers what it was made from.
//!
//! A fill takes the revision before it reads, and names the keys of what it reads. Its value is current until
//! one of them changes, see [`Revisions`]. A read may see a commit a moment before that is published, so what
//! was read leaves the service only once it is, see [`App::settle`](crate::App::settle).

use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use model::{CacheCounters, CacheStats};
use parking_lot::{Mutex, MutexGuard};
use quick_cache::unsync::Cache;
use quick_cache::{DefaultHashBuilder, Lifecycle, Weighter};
use store::{Key, Revisions, Slot, Ticket};

/// Each shard has its own lock, which reduces contention.
const SHARDS: usize = 16;

/// The estimated size of an entry without what its key and its value point to.
const ENTRY_BYTES: u64 = 160;

/// What a response, or a value of a memo, is made from.
#[derive(Debug)]
pub struct Sources {
    revisions: Arc<Revisions>,
    /// From before anything was read.
    revision: AtomicU64,
    /// The largest ticket of what was read.
    ticket: AtomicU64,
    /// The number of memoised values.
    values: AtomicUsize,
    /// The keys of what was read; `None` for a response, which is not kept.
    slots: Option<Mutex<Vec<Slot>>>,
    /// The keys of memoised values that a fill has used beside its own reads.
    parts: Mutex<Vec<Slot>>,
}

impl Sources {
    /// Of a response.
    pub(crate) fn new(revisions: &Arc<Revisions>) -> Self {
        let revision = AtomicU64::new(revisions.current());
        let (ticket, values) = (AtomicU64::new(0), AtomicUsize::new(0));
        Self { revisions: revisions.clone(), revision, ticket, values, slots: None, parts: Mutex::default() }
    }

    fn of_fill(revisions: &Arc<Revisions>) -> Self {
        Self { slots: Some(Mutex::default()), ..Self::new(revisions) }
    }

    /// Names a key of what is read.
    pub fn add(&self, key: Key) {
        if let Some(slots) = &self.slots {
            slots.lock().push(key.slot());
        }
    }

    /// Counts what was read from the store until now.
    pub(crate) fn add_read(&self) {
        self.add_ticket(self.revisions.ticket());
    }

    fn add_ticket(&self, ticket: Ticket) {
        if ticket > self.ticket() {
            self.ticket.fetch_max(ticket.0, Ordering::Relaxed);
        }
    }

    pub(crate) fn ticket(&self) -> Ticket {
        Ticket(self.ticket.load(Ordering::Relaxed))
    }

    /// Adds a memoised value with its keys; `parts` are those of the values that it was just filled with.
    fn add_value(&self, ticket: Ticket, slots: &[Slot], parts: &[Slot]) {
        self.values.fetch_add(1, Ordering::Relaxed);
        self.add_ticket(ticket);
        match &self.slots {
            Some(own) => {
                own.lock().extend_from_slice(slots);
                self.parts.lock().extend_from_slice(slots);
            }
            None if parts.is_empty() => {}
            None => self.parts.lock().extend_from_slice(parts),
        }
    }

    /// Whether all that was read is of one moment: nothing was published since then, or there is one value,
    /// whose parts have not changed while the rest of it was read.
    pub(crate) fn are_of_one_moment(&self) -> bool {
        let revision = self.revision.load(Ordering::Relaxed);
        self.revisions.current() == revision
            || self.values.load(Ordering::Relaxed) <= 1
                && self.revisions.is_unchanged(&self.parts.lock(), revision)
    }

    /// Begins again, for a response that is composed again.
    pub(crate) fn renew(&self) {
        self.values.store(0, Ordering::Relaxed);
        self.parts.lock().clear();
        self.revision.store(self.revisions.current(), Ordering::Relaxed);
    }
}

#[derive(Debug)]
pub struct Memo<K, V> {
    name: &'static str,
    revisions: Arc<Revisions>,
    shards: Box<[Mutex<Shard<K, V>>]>,
    hasher: DefaultHashBuilder,
    counters: Arc<CacheCounters>,
}

type Shard<K, V> = Cache<K, Entry<V>, EntryWeight<K, V>, DefaultHashBuilder, CountEvictions>;

#[derive(Debug, Clone)]
struct Entry<V> {
    value: V,
    /// The value is current unless one of the keys has changed since.
    revision: u64,
    slots: Box<[Slot]>,
    ticket: Ticket,
}

#[derive(Debug)]
struct EntryWeight<K, V>(fn(&K, &V) -> u64);

impl<K, V> Clone for EntryWeight<K, V> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

impl<K, V> Weighter<K, Entry<V>> for EntryWeight<K, V> {
    fn weight(&self, key: &K, entry: &Entry<V>) -> u64 {
        (self.0)(key, &entry.value) + size_of_val(&*entry.slots) as u64 + ENTRY_BYTES
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

impl<K: Hash + Eq, V: Clone> Memo<K, V> {
    /// A memo of `max_bytes`; `weigh` returns the bytes that a key and its value point to.
    pub fn new(
        name: &'static str,
        revisions: &Arc<Revisions>,
        max_bytes: u64,
        weigh: fn(&K, &V) -> u64,
    ) -> Self {
        Self::with_shards(name, revisions, SHARDS, max_bytes, weigh)
    }

    /// The same with fewer shards, for large values.
    pub fn with_shards(
        name: &'static str,
        revisions: &Arc<Revisions>,
        shards: usize,
        max_bytes: u64,
        weigh: fn(&K, &V) -> u64,
    ) -> Self {
        let shards = shards.clamp(1, SHARDS);
        let counters = Arc::<CacheCounters>::default();
        let max_bytes = max_bytes / shards as u64;
        // An estimate, which only determines the initial capacity.
        let estimated_entries =
            usize::try_from(max_bytes / (4 * ENTRY_BYTES)).unwrap_or(usize::MAX).min(1 << 14);
        let shard = |_| {
            let lifecycle = CountEvictions(counters.clone());
            Mutex::new(Cache::with(
                estimated_entries,
                max_bytes,
                EntryWeight(weigh),
                DefaultHashBuilder::default(),
                lifecycle,
            ))
        };
        Self {
            name,
            revisions: revisions.clone(),
            shards: (0..shards).map(shard).collect(),
            hasher: DefaultHashBuilder::default(),
            counters,
        }
    }

    /// The value if it is current, or else that of `fill`, which names the keys of what it reads in the
    /// sources that it is given. What the value is made from is added to `sources`.
    pub async fn get<E>(
        &self,
        sources: &Sources,
        key: K,
        fill: impl AsyncFnOnce(Arc<Sources>) -> Result<V, E>,
    ) -> Result<V, E> {
        if let Some(value) = self.cached(sources, &key) {
            return Ok(value);
        }
        self.counters.miss();
        let own = Arc::new(Sources::of_fill(&self.revisions));
        // Boxed, so that the future of a hit does not contain that of the fill.
        let filled = Box::pin(fill(own.clone())).await;
        own.add_read();
        // Also for an error: that something is missing may be news as well.
        sources.add_ticket(own.ticket());
        let value = filled?;
        let revision = own.revision.load(Ordering::Relaxed);
        let slots: Box<[Slot]> =
            own.slots.as_ref().map(|slots| slots.lock().as_slice().into()).unwrap_or_default();
        sources.add_value(own.ticket(), &slots, &own.parts.lock());
        self.insert_entry(key, Entry { value: value.clone(), revision, slots, ticket: own.ticket() });
        Ok(value)
    }

    /// The value if it is current. A miss is counted by the fill that follows it.
    pub fn cached(&self, sources: &Sources, key: &K) -> Option<V> {
        let shard = self.shard(key);
        let entry = shard.get(key).filter(|entry| self.is_current(entry))?;
        self.counters.hit();
        sources.add_value(entry.ticket, &entry.slots, &[]);
        Some(entry.value.clone())
    }

    /// The same without sources, for a value that is the same whenever it is read.
    pub(crate) fn peek(&self, key: &K) -> Option<V> {
        let shard = self.shard(key);
        let entry = shard.get(key).filter(|entry| self.is_current(entry))?;
        self.counters.hit();
        Some(entry.value.clone())
    }

    /// The revision for values that are read from now on.
    pub(crate) fn revision(&self) -> u64 {
        self.revisions.current()
    }

    /// Inserts a value that was read after `revision` was taken, and is made from `made_from`.
    pub(crate) fn insert(&self, sources: &Sources, revision: u64, made_from: Key, key: K, value: V) {
        self.counters.miss();
        let (slots, ticket) = (Box::new([made_from.slot()]), self.revisions.ticket());
        sources.add_value(ticket, &*slots, &[]);
        self.insert_entry(key, Entry { value, revision, slots, ticket });
    }

    /// A fill that was overtaken by a change is dropped, so that it does not replace a newer one.
    fn insert_entry(&self, key: K, entry: Entry<V>) {
        let mut shard = self.shard(&key);
        if self.is_current(&entry) {
            shard.insert(key, entry);
        }
    }

    fn is_current(&self, entry: &Entry<V>) -> bool {
        self.revisions.is_unchanged(&entry.slots, entry.revision)
    }

    /// Frees the memory of entries that are not asked for any more.
    pub fn remove_where(&self, is_removed: impl Fn(&K) -> bool) {
        for shard in &self.shards {
            shard.lock().retain(|key, _| !is_removed(key));
        }
    }

    pub fn stats(&self) -> CacheStats {
        let (mut entries, mut bytes) = (0, 0);
        for shard in &self.shards {
            let shard = shard.lock();
            entries += shard.len() as u64;
            bytes += shard.weight();
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

    use model::PostId;
    use store::Change;

    use super::*;

    const MAX_BYTES: u64 = 64 << 10;
    const KEY: Key = Key::POSTS;

    fn memo<V: Clone>(max_bytes: u64, weigh: fn(&u32, &V) -> u64) -> (Arc<Revisions>, Memo<u32, V>) {
        let revisions = Arc::new(Revisions::of_batches());
        let memo = Memo::new("test", &revisions, max_bytes, weigh);
        (revisions, memo)
    }

    async fn lookup(memo: &Memo<u32, u8>, source: u8) -> u8 {
        lookup_in(&Sources::new(&memo.revisions), memo, source).await
    }

    async fn lookup_in(sources: &Sources, memo: &Memo<u32, u8>, source: u8) -> u8 {
        let fill = async |sources: Arc<Sources>| {
            sources.add(KEY);
            Ok::<_, Infallible>(source)
        };
        memo.get(sources, 1, fill).await.unwrap()
    }

    #[tokio::test]
    async fn a_value_is_cached_until_a_key_changes_that_it_is_made_from() {
        let (revisions, memo) = memo(MAX_BYTES, |_, _| 1);
        assert_eq!((lookup(&memo, 1).await, lookup(&memo, 2).await), (1, 1), "the second is a hit");
        revisions.publish(&[Key::post(PostId(1)).into()]);
        assert_eq!(lookup(&memo, 3).await, 1, "made from other keys");
        revisions.publish(&[KEY.into()]);
        assert_eq!(lookup(&memo, 4).await, 4);
        revisions.publish(&[Change::Everything]);
        assert_eq!(lookup(&memo, 5).await, 5);
    }

    #[tokio::test]
    async fn a_fill_that_is_overtaken_by_a_change_is_not_cached() {
        let (revisions, memo) = memo(MAX_BYTES, |_, _| 1);
        let sources = Sources::new(&revisions);
        let overtaken = memo.get(&sources, 1, async |sources: Arc<Sources>| {
            sources.add(KEY);
            // Another fill ends while this one reads.
            revisions.publish(&[KEY.into()]);
            assert_eq!(lookup(&memo, 20).await, 20);
            Ok::<_, Infallible>(10)
        });
        assert_eq!(overtaken.await, Ok(10), "the caller gets the value it filled");
        assert_eq!(lookup(&memo, 30).await, 20, "the newer one stays");
    }

    #[tokio::test]
    async fn a_value_is_made_from_all_that_its_parts_are_made_from() {
        let (revisions, parts) = memo(MAX_BYTES, |_, _| 1);
        let whole = Memo::<u32, u8>::new("test", &revisions, MAX_BYTES, |_, _| 1);
        let compose = async |part: u8| {
            let fill = async |sources: Arc<Sources>| {
                let named = async |sources: Arc<Sources>| {
                    sources.add(KEY);
                    Ok::<_, Infallible>(part)
                };
                parts.get(&sources, 1, named).await
            };
            whole.get(&Sources::new(&revisions), 1, fill).await.unwrap()
        };
        assert_eq!((compose(1).await, compose(2).await), (1, 1));
        revisions.publish(&[KEY.into()]);
        // The part is filled by another request first, so that the whole is made from a hit.
        assert_eq!((lookup(&parts, 3).await, compose(4).await), (3, 3));
        revisions.publish(&[KEY.into()]);
        assert_eq!(compose(5).await, 5);
    }

    #[tokio::test]
    async fn values_are_of_one_moment_unless_something_was_published_between_them() {
        let (revisions, memo) = memo(MAX_BYTES, |_, _| 1);
        let sources = Sources::new(&revisions);
        lookup_in(&sources, &memo, 1).await;
        revisions.publish(&[KEY.into()]);
        assert!(sources.are_of_one_moment(), "one value");
        lookup_in(&sources, &memo, 2).await;
        assert!(!sources.are_of_one_moment());
        sources.renew();
        for source in [3, 4] {
            lookup_in(&sources, &memo, source).await;
        }
        assert!(sources.are_of_one_moment());

        // One value whose part has changed before the rest of it was read.
        let whole = Memo::<u32, u8>::new("test", &revisions, MAX_BYTES, |_, _| 1);
        let sources = Sources::new(&revisions);
        let fill = async |own: Arc<Sources>| {
            let part = lookup_in(&own, &memo, 5).await;
            revisions.publish(&[KEY.into()]);
            Ok::<_, Infallible>(part)
        };
        whole.get(&sources, 1, fill).await.unwrap();
        assert!(!sources.are_of_one_moment());
    }

    #[tokio::test]
    async fn entries_stay_within_the_limit_and_evictions_are_counted() {
        let max_bytes = 160 << 10;
        let (revisions, memo) = memo::<Vec<u8>>(max_bytes, |_, value| value.len() as u64);
        for key in 0..1_000 {
            let fill = async |_| Ok::<_, Infallible>(vec![0; 1 << 10]);
            memo.get(&Sources::new(&revisions), key, fill).await.unwrap();
        }
        let CacheStats { entries, bytes, evictions, .. } = memo.stats();
        assert!((70..=160).contains(&entries) && bytes <= max_bytes, "{entries} entries, {bytes} bytes");
        assert_eq!(entries + evictions, 1_000);
    }
}
