//! Free disk space: uploads stop before the disk is full, so that everything small still works, and the
//! operator is told earlier.

use std::time::Duration;

use blobs::DiskSpace;

use crate::{App, Error};

/// How often the free space is read. Requests use the last reading.
const READ_INTERVAL: Duration = Duration::from_secs(1);

/// The largest share of the disk that uploads leave free, as a divisor.
const MAX_UPLOAD_SHARE: u64 = 20;

/// Disk space is low when it is less than this many times what uploads leave free.
const LOW: u64 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DiskLevel {
    Sufficient,
    Low,
    UploadsStopped,
}

impl App {
    /// Fails when an upload would use what uploads have to leave free.
    pub fn check_upload_space(&self) -> Result<(), Error> {
        let free = self.disk_space().free;
        if free >= self.upload_min_free() {
            return Ok(());
        }
        Err(Error::NoSpace("photos", format!("{free} bytes are free on the disk of the data folder").into()))
    }

    pub(crate) fn disk_space(&self) -> DiskSpace {
        *self.0.disk_space.lock()
    }

    /// At most a twentieth of the disk, so that a small disk accepts uploads.
    pub(crate) fn upload_min_free(&self) -> u64 {
        self.0.settings.upload_min_free.min(self.disk_space().bytes / MAX_UPLOAD_SHARE)
    }

    pub(crate) async fn watch_disk_periodically(&self) {
        let mut tick = tokio::time::interval(READ_INTERVAL);
        let mut logged = DiskLevel::Sufficient;
        loop {
            tick.tick().await;
            let app = self.clone();
            match tokio::task::spawn_blocking(move || app.read_disk()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::warn!(%error, "free disk space not read, or image cache not shrunk");
                }
                Err(stopped) => tracing::warn!(error = %stopped, "free disk space not read"),
            }
            let level = self.disk_level();
            if level != logged {
                self.log_disk_level(level);
                logged = level;
            }
        }
    }

    fn read_disk(&self) -> Result<(), Error> {
        let disk = DiskSpace::of(&self.0.settings.data_dir)?;
        *self.0.disk_space.lock() = disk;
        Ok(self.0.cache.shrink()?)
    }

    fn disk_level(&self) -> DiskLevel {
        let (free, min_free) = (self.disk_space().free, self.upload_min_free());
        if free < min_free {
            DiskLevel::UploadsStopped
        } else if free < LOW.saturating_mul(min_free) {
            DiskLevel::Low
        } else {
            DiskLevel::Sufficient
        }
    }

    fn log_disk_level(&self, level: DiskLevel) {
        let (free_bytes, upload_min_free) = (self.disk_space().free, self.upload_min_free());
        match level {
            DiskLevel::Sufficient => tracing::info!(free_bytes, "disk space sufficient again"),
            DiskLevel::Low => tracing::warn!(free_bytes, upload_min_free, "disk space low"),
            DiskLevel::UploadsStopped => {
                tracing::error!(free_bytes, upload_min_free, "disk space too low; uploads are rejected");
            }
        }
    }
}
