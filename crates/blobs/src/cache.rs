//! The disk cache of rendered images. A lost image is rendered again, so the cache never delays or fails a
//! request.
//!
//! ```text
//! cache/6f/0190a6e2-…-6f/512-webp-3      a folder per photo, a file per image: size, format, revision
//! cache/6f/0190a6e2-…-6f/fit512-webp-3   the whole photo
//! cache/tmp                              the file being written
//! ```
//! One thread scans the folder at the start and then writes all new images, so the size limit holds at all
//! times. Files are not synced: each has a checksum, and a corrupt one is deleted when it is read.

mod eviction;
mod file;
mod index;
mod scan;
mod throttled_log;

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use model::{CacheCounters, CacheStats, ImageSize, PhotoId};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use crate::names::shard;
use crate::{CacheMinFree, Error};
pub use index::CacheKey;
use index::Index;
use throttled_log::ThrottledLog;

/// The bound of the write queue. An image that arrives when it is full is not cached: the disk is too slow,
/// and more images would exhaust memory.
const WRITE_QUEUE: usize = 64;

#[derive(Debug)]
pub struct Cache {
    shared: Arc<Shared>,
    scanned: watch::Receiver<bool>,
    /// `None` during drop, which ends the thread.
    writes: Option<SyncSender<QueuedWrite>>,
    writer: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    /// The revision of the renderer. Images of other revisions are deleted by the scan.
    revision: u32,
    max_bytes: u64,
    min_free: CacheMinFree,
    /// Locked during file operations, so only on threads that may block.
    index: Mutex<Index>,
    /// The photos with pending inserts, and the flag that cancels them. Never locked during I/O.
    pending: Mutex<HashMap<PhotoId, Weak<AtomicBool>>>,
    closing: AtomicBool,
    error_log: ThrottledLog,
    bytes: AtomicU64,
    entries: AtomicU64,
    counters: CacheCounters,
}

/// An insert begun before its image is rendered. [`Cache::remove`] of its photo cancels it.
#[derive(Debug)]
pub struct PendingInsert {
    key: CacheKey,
    cancelled: Arc<AtomicBool>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct QueuedWrite {
    insert: PendingInsert,
    bytes: Bytes,
}

impl Cache {
    /// Opens the cache inside `data_dir`. A limit of 0 bytes disables it and deletes its images. Images of
    /// another revision are deleted as well.
    pub fn open(
        data_dir: &Path,
        max_bytes: u64,
        min_free: CacheMinFree,
        revision: u32,
    ) -> Result<Self, Error> {
        let folder = data_dir.join("cache");
        fs::create_dir_all(&folder).map_err(Error::at(&folder))?;
        let shared = Arc::new(Shared {
            revision,
            max_bytes,
            min_free,
            index: Mutex::new(Index::new(max_bytes)),
            pending: Mutex::default(),
            closing: AtomicBool::new(false),
            error_log: ThrottledLog::default(),
            bytes: AtomicU64::new(0),
            entries: AtomicU64::new(0),
            counters: CacheCounters::default(),
            folder,
        });
        let (writes, queue) = sync_channel(WRITE_QUEUE);
        let (set_scanned, scanned) = watch::channel(false);
        let thread = std::thread::Builder::new().name("cache".into());
        let writer = thread.spawn({
            let shared = shared.clone();
            move || shared.run_writer(&queue, &set_scanned)
        });
        let writer = writer.map_err(Error::at(&shared.folder))?;
        Ok(Self { shared, scanned, writes: Some(writes), writer: Some(writer) })
    }

    /// The image, if it is cached and intact. A disk error is logged and counts as a miss.
    pub async fn get(&self, key: CacheKey) -> Option<Bytes> {
        if self.shared.max_bytes == 0 {
            return None;
        }
        let shared = self.shared.clone();
        match tokio::task::spawn_blocking(move || shared.get(key)).await {
            Ok(image) => image,
            Err(stopped) => {
                self.shared.error_log.warn(&Error::Stopped(stopped.to_string()));
                None
            }
        }
    }

    /// Begins an insert, which a later [`Cache::remove`] of the photo cancels. The caller must check after
    /// this call that the photo still exists: a delete before that check is seen by it, a later one cancels
    /// the insert.
    pub fn begin_insert(&self, key: CacheKey) -> PendingInsert {
        let mut pending = self.shared.pending();
        let existing = pending.get(&key.photo).and_then(Weak::upgrade);
        let cancelled = existing.unwrap_or_else(|| {
            let new = Arc::default();
            pending.insert(key.photo, Arc::downgrade(&new));
            new
        });
        drop(pending);
        PendingInsert { key, cancelled, shared: self.shared.clone() }
    }

    /// Queues an image for the writer thread and returns at once.
    pub fn insert(&self, insert: PendingInsert, bytes: Bytes) {
        let writes = self.writes.as_ref().filter(|_| self.shared.max_bytes > 0);
        if let Some(Err(_)) = writes.map(|writes| writes.try_send(QueuedWrite { insert, bytes })) {
            tracing::debug!("image cache write queue full; image not cached");
        }
    }

    /// Removes every image of a photo, and cancels its pending inserts: after `Ok`, none is cached and none
    /// will be written.
    pub async fn remove(&self, photo: PhotoId) -> Result<(), Error> {
        let shared = self.shared.clone();
        match tokio::task::spawn_blocking(move || shared.remove(photo)).await {
            Ok(outcome) => outcome,
            Err(stopped) => Err(Error::Stopped(stopped.to_string())),
        }
    }

    /// Every photo with a cached image. Waits for the scan.
    pub async fn photos(&self) -> Result<Vec<PhotoId>, Error> {
        let stopped = |cause: String| Error::Stopped(cause);
        let mut scanned = self.scanned.clone();
        scanned.wait_for(|scanned| *scanned).await.map_err(|error| stopped(error.to_string()))?;
        let shared = self.shared.clone();
        let photos = tokio::task::spawn_blocking(move || shared.index().photos());
        photos.await.map_err(|error| stopped(error.to_string()))
    }

    /// Evicts images until as much of the disk is free as the cache has to leave, for when others fill the
    /// disk. Blocks on file operations.
    pub fn shrink(&self) -> Result<(), Error> {
        self.shared.shrink()
    }

    pub fn stats(&self) -> CacheStats {
        let Shared { bytes, entries, counters, .. } = &*self.shared;
        counters.stats("image_disk", entries.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed))
    }
}

impl Drop for Cache {
    /// Joins the writer thread: the next process must not find it writing in the folder.
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Relaxed);
        drop(self.writes.take());
        if self.writer.take().is_some_and(|writer| writer.join().is_err()) {
            tracing::error!("image cache thread panicked");
        }
    }
}

impl Drop for PendingInsert {
    fn drop(&mut self) {
        let mut pending = self.shared.pending();
        let is_registered =
            pending.get(&self.key.photo).is_some_and(|flag| flag.as_ptr() == Arc::as_ptr(&self.cancelled));
        // Other pending inserts of the photo share the flag; the last one removes it.
        if is_registered && Arc::strong_count(&self.cancelled) == 1 {
            pending.remove(&self.key.photo);
        }
    }
}

impl Shared {
    fn run_writer(&self, queue: &Receiver<QueuedWrite>, scanned: &watch::Sender<bool>) {
        if let Err(error) = self.scan() {
            // Without the size of the cache nothing may be added; existing images are still read.
            if !self.closing.load(Ordering::Relaxed) {
                tracing::warn!(%error, "image cache scan failed; no images are added");
            }
            while queue.recv().is_ok() {}
            return;
        }
        scanned.send_replace(true);
        while let Ok(QueuedWrite { insert, bytes }) = queue.recv() {
            if let Err(error) = self.write(&insert, &bytes) {
                self.error_log.warn(&error);
            }
        }
    }

    fn get(&self, key: CacheKey) -> Option<Bytes> {
        let path = self.path(key.photo, &self.name(key));
        let image = match file::read(&path) {
            Ok(file::ReadOutcome::Intact(bytes)) => {
                self.index().touch(key, now());
                Some(bytes)
            }
            Ok(file::ReadOutcome::Corrupt) => {
                tracing::warn!(path = %path.display(), "image cache entry corrupt; dropped");
                if let Err(error) = self.remove_image(key, &path) {
                    self.error_log.warn(&error);
                }
                None
            }
            Ok(file::ReadOutcome::Missing) => None,
            Err(error) => {
                self.error_log.warn(&error);
                None
            }
        };
        if image.is_some() {
            self.counters.hit();
        } else {
            self.counters.miss();
        }
        image
    }

    fn remove_image(&self, key: CacheKey, path: &Path) -> Result<(), Error> {
        let mut index = self.index();
        remove_file(path)?;
        index.remove(key.photo, key.size, key.format);
        self.update_gauges(&index);
        Ok(())
    }

    /// Called by the writer thread only, so no other write takes the room that an eviction makes.
    fn write(&self, insert: &PendingInsert, bytes: &[u8]) -> Result<(), Error> {
        match self.try_write(insert, bytes) {
            // Others write too, and a quota may be less than the free space.
            Err(error) if error.is_no_space() => {
                let room = 2 * index::weight(file::length(bytes));
                self.evict_down_to(self.bytes.load(Ordering::Relaxed).saturating_sub(room))?;
                self.try_write(insert, bytes)
            }
            other => other,
        }
    }

    fn try_write(&self, insert: &PendingInsert, bytes: &[u8]) -> Result<(), Error> {
        let key = insert.key;
        let weight = index::weight(file::length(bytes));
        let mut index = self.index();
        let limit = self.limit(&index)?;
        if insert.cancelled.load(Ordering::Relaxed) || !index.fits(weight) || weight > limit {
            return Ok(());
        }
        while let Some(eviction) = index.next_eviction(key, weight, limit) {
            self.evict(&mut index, eviction)?;
        }
        drop(index);

        let (staged, path) = (self.staged(), self.path(key.photo, &self.name(key)));
        if let Err(error) = file::write(&staged, &path, bytes) {
            // What was written of it would occupy a full disk.
            remove_file(&staged)?;
            return Err(error);
        }
        let mut index = self.index();
        // Checked under the lock that `remove` takes after it has set the flag: no image outlives its photo.
        if insert.cancelled.load(Ordering::Relaxed) {
            return remove_file(&staged);
        }
        let folder = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder).map_err(Error::at(folder))?;
        fs::rename(&staged, &path).map_err(Error::at(&path))?;
        index.insert(key.photo, key.size, key.format, weight, now());
        self.update_gauges(&index);
        Ok(())
    }

    fn remove(&self, photo: PhotoId) -> Result<(), Error> {
        if let Some(cancelled) = self.pending().remove(&photo).and_then(|flag| flag.upgrade()) {
            cancelled.store(true, Ordering::Relaxed);
        }
        let mut index = self.index();
        let folder = self.photo_folder(photo);
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::at(&folder)(error)),
            _ => {}
        }
        index.remove_photo(photo);
        self.update_gauges(&index);
        Ok(())
    }

    fn update_gauges(&self, index: &Index) {
        self.bytes.store(index.bytes(), Ordering::Relaxed);
        self.entries.store(index.entries(), Ordering::Relaxed);
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock()
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<PhotoId, Weak<AtomicBool>>> {
        self.pending.lock()
    }

    fn staged(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    fn name(&self, key: CacheKey) -> String {
        file_name(key.size, key.format, self.revision)
    }

    fn path(&self, photo: PhotoId, name: &str) -> PathBuf {
        self.photo_folder(photo).join(name)
    }

    /// In the same shards as the photos themselves.
    fn photo_folder(&self, photo: PhotoId) -> PathBuf {
        self.folder.join(shard(photo)).join(photo.to_string())
    }
}

fn file_name(size: ImageSize, format: &str, revision: u32) -> String {
    format!("{size}-{format}-{revision}")
}

fn remove_file(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::at(path)(error)),
        _ => Ok(()),
    }
}

/// Microseconds since 1970, comparable with the modification times of files from before the start.
#[allow(clippy::disallowed_methods, reason = "compared with the times of files")]
fn now() -> u64 {
    micros(SystemTime::now())
}

fn micros(moment: SystemTime) -> u64 {
    // A time before 1970 counts as the oldest.
    moment.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}
