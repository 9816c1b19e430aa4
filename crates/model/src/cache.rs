//! The counters of a cache, shared by all crates that have one.

use std::sync::atomic::{AtomicU64, Ordering};

/// A snapshot of one cache's size and counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheStats {
    pub name: &'static str,
    pub entries: u64,
    pub bytes: u64,
    pub hits: u64,
    pub misses: u64,
    pub evictions: u64,
}

#[derive(Debug, Default)]
pub struct CacheCounters {
    hits: AtomicU64,
    misses: AtomicU64,
    evictions: AtomicU64,
}

impl CacheCounters {
    pub fn hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    pub fn miss(&self) {
        self.misses.fetch_add(1, Ordering::Relaxed);
    }

    pub fn evict(&self) {
        self.evictions.fetch_add(1, Ordering::Relaxed);
    }

    pub fn stats(&self, name: &'static str, entries: u64, bytes: u64) -> CacheStats {
        CacheStats {
            name,
            entries,
            bytes,
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            evictions: self.evictions.load(Ordering::Relaxed),
        }
    }
}
