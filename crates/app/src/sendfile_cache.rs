//! Frequently requested images as unlinked temporary files, which the server sends by `sendfile(2)` without a
//! copy through user space. Sending a 512² image from memory spent two fifths of the time on that copy.
//!
//! The files are on the data folder's file system, in practice in its page cache. On tmpfs `sendfile` was a
//! fifth slower: it looks up and locks every 4 KiB page, where a disk file system keeps one write in one
//! large folio.
//!
//! The files come on top of the memory of the image cache, so their total size is limited.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use blobs::{CacheMinFree, DiskSpace};
use bytes::Bytes;
use model::{CacheCounters, CacheStats};

/// An image gets a file at this many hits. If the budget is exhausted then, it is tried again after as many
/// more.
const PROMOTE_AFTER: usize = 32;

/// Smaller images are sent faster by one `write` than by two system calls.
const MIN_BYTES: usize = 16 << 10;

/// The budget of all files together.
const MAX_BYTES: usize = 32 << 20;
const MAX_FILES: usize = 256;

/// An image in memory, with its hits and its file.
#[derive(Debug)]
pub(crate) struct CachedImage {
    pub(crate) bytes: Bytes,
    pub(crate) etag: Bytes,
    hits: AtomicUsize,
    file: OnceLock<Arc<ImageFile>>,
}

impl CachedImage {
    pub(crate) fn new(bytes: Bytes, etag: Bytes) -> Self {
        Self { bytes, etag, hits: AtomicUsize::new(0), file: OnceLock::new() }
    }

    /// Counts a hit, and returns the file if there is one. Every [`PROMOTE_AFTER`] hits without a file, one
    /// is written in the background if the budget allows.
    pub(crate) fn record_hit(self: &Arc<Self>, cache: &Arc<SendfileCache>) -> Option<Arc<ImageFile>> {
        let file = self.file.get();
        if file.is_some() {
            cache.counters.hit();
        } else {
            cache.counters.miss();
        }
        if file.is_none()
            && self.should_promote()
            && let Some(reservation) = cache.try_reserve(self.bytes.len())
        {
            let image = self.clone();
            // Not awaited: the response does not need the file.
            drop(tokio::task::spawn_blocking(move || image.promote(reservation)));
        }
        file.cloned()
    }

    fn should_promote(&self) -> bool {
        let hits = || self.hits.fetch_add(1, Ordering::Relaxed) + 1;
        ImageFile::SUPPORTED && self.bytes.len() >= MIN_BYTES && hits().is_multiple_of(PROMOTE_AFTER)
    }

    fn promote(&self, reservation: Reservation) {
        match ImageFile::create(&self.bytes, reservation) {
            // A slow earlier promotion may have set a file already, which is equal: this one is dropped.
            Ok(file) => drop(self.file.set(Arc::new(file))),
            Err(error) => tracing::debug!(%error, "sendfile cache write failed; image is sent from memory"),
        }
    }
}

/// The folder of the files and their budget.
#[derive(Debug)]
pub(crate) struct SendfileCache {
    folder: PathBuf,
    min_free: CacheMinFree,
    files: AtomicUsize,
    bytes: AtomicUsize,
    counters: CacheCounters,
}

/// An unlinked file with the bytes of an image, deleted when dropped.
#[derive(Debug)]
pub struct ImageFile {
    file: File,
    _reservation: Reservation,
}

/// A file's share of the budget, released when dropped.
#[derive(Debug)]
struct Reservation {
    bytes: usize,
    cache: Arc<SendfileCache>,
}

impl ImageFile {
    /// The server uses `sendfile` on Linux only.
    const SUPPORTED: bool = cfg!(target_os = "linux");

    fn create(bytes: &Bytes, reservation: Reservation) -> io::Result<Self> {
        let disk = DiskSpace::of(&reservation.cache.folder).map_err(io::Error::other)?;
        if disk.free < reservation.cache.min_free.on(disk) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let mut file = tempfile::tempfile_in(&reservation.cache.folder)?;
        // In one write, so that the page cache holds it in large folios.
        file.write_all(bytes)?;
        Ok(Self { file, _reservation: reservation })
    }
}

impl AsFd for ImageFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.cache.files.fetch_sub(1, Ordering::Relaxed);
        self.cache.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl SendfileCache {
    pub(crate) fn new(folder: PathBuf, min_free: CacheMinFree) -> Self {
        let (files, bytes, counters) = Default::default();
        Self { folder, min_free, files, bytes, counters }
    }

    fn try_reserve(self: &Arc<Self>, bytes: usize) -> Option<Reservation> {
        let files = self.files.fetch_add(1, Ordering::Relaxed);
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        // Beyond the budget, the drop of the reservation takes both additions back.
        let reservation = Reservation { bytes, cache: self.clone() };
        (files < MAX_FILES && before + bytes <= MAX_BYTES).then_some(reservation)
    }

    pub(crate) fn stats(&self) -> CacheStats {
        let (entries, bytes) = (self.files.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed));
        self.counters.stats("image_file", entries as u64, bytes as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[tokio::test]
    async fn a_frequently_hit_image_gets_a_file_and_releases_its_budget_when_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Arc::new(SendfileCache::new(folder.path().into(), CacheMinFree(Some(0))));
        let image = |length| Arc::new(CachedImage::new(vec![7; length].into(), Bytes::new()));
        let (large, small) = (image(MIN_BYTES), image(MIN_BYTES - 1));
        for _ in 1..PROMOTE_AFTER {
            assert!(large.record_hit(&cache).is_none() && small.record_hit(&cache).is_none());
        }
        assert_eq!(Arc::strong_count(&large), 1, "no promotion must be in progress");
        let file = async {
            loop {
                match large.record_hit(&cache) {
                    Some(file) => return file,
                    None => tokio::task::yield_now().await,
                }
            }
        };
        if !ImageFile::SUPPORTED {
            return;
        }
        let file = tokio::time::timeout(std::time::Duration::from_secs(60), file).await.unwrap();
        let mut bytes = vec![0; MIN_BYTES + 1];
        assert_eq!(file.file.read_at(&mut bytes, 0).unwrap(), MIN_BYTES);
        assert_eq!(bytes[..MIN_BYTES], large.bytes);
        assert!(
            (0..2 * PROMOTE_AFTER).all(|_| small.record_hit(&cache).is_none())
                && Arc::strong_count(&small) == 1,
            "a small image must not be promoted"
        );
        assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "the file must be unlinked");
        let emptied = async {
            drop((large, file));
            // A second promotion may still have to drop its file.
            while cache.stats().entries > 0 || cache.stats().bytes > 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(60), emptied).await.unwrap();
    }

    #[test]
    fn reservations_stay_within_the_budget_and_return_to_it() {
        let cache = Arc::new(SendfileCache::new(PathBuf::new(), CacheMinFree::default()));
        let mut large: Vec<_> = (0..6).filter_map(|_| cache.try_reserve(MAX_BYTES / 4 + 1)).collect();
        assert_eq!((large.len(), cache.stats().entries), (3, 3));
        large.pop();
        assert!(cache.try_reserve(MAX_BYTES / 4 + 1).is_some());
        let small: Vec<_> = (0..MAX_FILES).filter_map(|_| cache.try_reserve(1)).collect();
        assert_eq!(small.len() + large.len(), MAX_FILES);
    }
}
