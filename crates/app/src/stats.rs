//! Statistics for the metrics endpoint.

use std::sync::atomic::Ordering;
use std::time::Duration;

use model::CacheStats;
use store::{PhotoTotals, ReadBarrierStats};

use crate::avif_queue::AvifStats;
use crate::{App, Error};

#[derive(Debug, Clone)]
pub struct Stats {
    pub queues: Vec<QueueStats>,
    pub caches: Vec<CacheStats>,
    /// `None` on SQLite.
    pub read_barrier: Option<ReadBarrierStats>,
    /// The number of images rendered.
    pub renders: u64,
    pub avif: AvifStats,
    /// The number of damaged or lost files that were rebuilt.
    pub rebuilt_files: u64,
    /// Whether an error has reported damage of the database.
    pub is_database_damaged: bool,
    /// `None` if the database does not answer.
    pub photos: Option<PhotoTotals>,
    pub disk: DiskStats,
}

/// The state of the data folder's disk.
#[derive(Debug, Clone)]
pub struct DiskStats {
    pub bytes: u64,
    pub free: u64,
    /// Uploads are rejected below this free space.
    pub upload_min_free: u64,
    /// Whether only writes that free space are accepted.
    pub is_full: bool,
}

/// The state of a bounded queue.
#[derive(Debug, Clone)]
pub struct QueueStats {
    pub name: &'static str,
    pub depth: usize,
    /// Jobs rejected because the queue was full.
    pub rejected: u64,
    /// Jobs that exceeded their time limit.
    pub timed_out: u64,
}

/// The query scans the table of photos, so its result is cached for this long.
const TOTALS_TTL: Duration = Duration::from_secs(60);

impl App {
    pub async fn stats(&self) -> Stats {
        let inner = &self.0;
        let pools = [inner.passwords.pool(), &inner.ingest, &inner.render];
        let mut queues: Vec<QueueStats> = pools
            .map(|pool| (pool, pool.queue().depth()))
            .into_iter()
            .chain(inner.avif.pool().map(|pool| (pool, inner.avif.depth())))
            .map(|(pool, depth)| QueueStats {
                name: pool.queue().name(),
                depth,
                rejected: pool.queue().rejected(),
                timed_out: pool.timed_out(),
            })
            .collect();
        queues.push(QueueStats {
            name: inner.long_reads.name(),
            depth: inner.long_reads.depth(),
            rejected: inner.long_reads.rejected(),
            timed_out: 0,
        });
        queues.push(QueueStats {
            name: "write",
            depth: inner.store.queued_writes(),
            rejected: inner.store.rejected_writes(),
            timed_out: 0,
        });
        let mut caches = inner.caches.stats();
        caches.extend([inner.variants.stats(), inner.cache.stats()]);
        let photos = match self.totals().await {
            Ok(totals) => Some(totals),
            Err(error) => {
                tracing::warn!(%error, "photos not counted for the metrics");
                None
            }
        };
        let disk = self.disk_space();
        Stats {
            queues,
            caches,
            read_barrier: inner.store.read_barrier_stats(),
            renders: inner.renders.load(Ordering::Relaxed),
            avif: inner.avif.stats(),
            rebuilt_files: inner.rebuilt_files.load(Ordering::Relaxed),
            is_database_damaged: inner.store.is_damaged(),
            photos,
            disk: DiskStats {
                bytes: disk.bytes,
                free: disk.free,
                upload_min_free: self.upload_min_free(),
                is_full: inner.store.is_full(),
            },
        }
    }

    /// The number of photos and the size of their files, up to date. Scans the table of photos.
    pub async fn photo_totals(&self) -> Result<PhotoTotals, Error> {
        Ok(self.0.store.photo_totals().await?)
    }

    async fn totals(&self) -> Result<PhotoTotals, Error> {
        let now = self.0.clock.now();
        let mut cached = self.0.totals.lock().await;
        match *cached {
            Some((counted_at, totals)) if now.since(counted_at) < TOTALS_TTL => Ok(totals),
            _ => {
                let totals = self.0.store.photo_totals().await?;
                *cached = Some((now, totals));
                Ok(totals)
            }
        }
    }
}
