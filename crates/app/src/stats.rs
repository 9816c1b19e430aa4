//! Figures for operators.

use std::sync::atomic::Ordering;
use std::time::Duration;

use model::CacheStats;
use store::Totals;

use crate::{App, Error};

#[derive(Debug, Clone)]
pub struct Stats {
    pub queues: Vec<Queue>,
    pub caches: Vec<CacheStats>,
    /// Images that were drawn.
    pub renders: u64,
    pub photos: u64,
    pub stored_bytes: u64,
}

/// A bounded queue: how full it is, and whom it sent away.
#[derive(Debug, Clone)]
pub struct Queue {
    pub name: &'static str,
    pub depth: usize,
    pub shed: u64,
    /// Jobs that took too long.
    pub abandoned: u64,
}

/// Counting every photo scans the table, so a count is reused for a while.
const COUNT_EVERY: Duration = Duration::from_secs(60);

impl App {
    pub async fn stats(&self) -> Result<Stats, Error> {
        let parts = &self.0;
        let pools = [parts.passwords.workers(), &parts.ingest, &parts.render];
        let mut queues: Vec<Queue> = pools
            .map(|pool| Queue {
                name: pool.name(),
                depth: pool.depth(),
                shed: pool.shed(),
                abandoned: pool.abandoned(),
            })
            .into();
        queues.push(Queue {
            name: "write",
            depth: parts.store.queued_writes(),
            shed: parts.store.rejected_writes(),
            abandoned: 0,
        });
        let mut caches = parts.caches.stats();
        caches.extend(parts.variants.stats());
        caches.push(parts.cache.stats());
        let totals = self.totals().await?;
        Ok(Stats {
            queues,
            caches,
            renders: parts.renders.load(Ordering::Relaxed),
            photos: totals.photos,
            stored_bytes: totals.bytes,
        })
    }

    async fn totals(&self) -> Result<Totals, Error> {
        let now = self.0.clock.now();
        let mut cached = self.0.totals.lock().await;
        match *cached {
            Some((counted_at, totals)) if now.since(counted_at) < COUNT_EVERY => Ok(totals),
            _ => {
                let totals = self.0.store.totals().await?;
                *cached = Some((now, totals));
                Ok(totals)
            }
        }
    }
}
