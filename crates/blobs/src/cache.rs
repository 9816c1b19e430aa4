//! Finished images on the disk: worth keeping, never worth waiting for, made again when lost.
//!
//! ```text
//! cache/6f/0190a6e2-…-6f/512-webp-3   one folder a photo, one file an image: size, format, revision
//! cache/tmp                           the file that is being written
//! ```
//! One thread counts what is there at the start and writes everything that is added afterwards, so nothing
//! comes in before all is counted, and the bound holds at every moment. Nothing is synced: a file says
//! itself whether it is whole, and one that is not is dropped.

mod complaints;
mod file;
mod index;
mod scan;

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
use model::{CacheCounters, CacheStats, PhotoId, Size};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use crate::Error;
use crate::names::shard;
use complaints::Complaints;
use index::Index;
pub use index::Key;

/// Images that wait to be written. More are not kept: the disk cannot follow, and they would fill the memory.
const WAITING: usize = 64;

#[derive(Debug)]
pub struct Cache {
    shared: Arc<Shared>,
    counted: watch::Receiver<bool>,
    /// Gone when we are being dropped: that ends the thread.
    writes: Option<SyncSender<Write>>,
    writer: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    /// Images of another revision are of no use any more.
    revision: u32,
    max: u64,
    /// Held while files come and go, so only on threads that may block.
    index: Mutex<Index>,
    /// Whether a photo was removed while an image of it was being made. Never held for long.
    making: Mutex<HashMap<PhotoId, Weak<AtomicBool>>>,
    closing: AtomicBool,
    complaints: Complaints,
    bytes: AtomicU64,
    entries: AtomicU64,
    counters: CacheCounters,
}

/// The right to keep an image that is being made, void when its photo is removed meanwhile.
#[derive(Debug)]
pub struct Place {
    key: Key,
    removed: Arc<AtomicBool>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Write {
    place: Place,
    bytes: Bytes,
}

impl Cache {
    /// Opens the cache inside `data_dir`. It may take `max` bytes; with none it keeps nothing, and clears
    /// what is there. What another revision left is cleared as well.
    pub fn open(data_dir: &Path, max: u64, revision: u32) -> Result<Self, Error> {
        let folder = data_dir.join("cache");
        fs::create_dir_all(&folder).map_err(Error::at(&folder))?;
        let shared = Arc::new(Shared {
            revision,
            max,
            index: Mutex::new(Index::new(max)),
            making: Mutex::default(),
            closing: AtomicBool::new(false),
            complaints: Complaints::default(),
            bytes: AtomicU64::new(0),
            entries: AtomicU64::new(0),
            counters: CacheCounters::default(),
            folder,
        });
        let (writes, queue) = sync_channel(WAITING);
        let (is_counted, counted) = watch::channel(false);
        let thread = std::thread::Builder::new().name("cache".into());
        let writer = thread.spawn({
            let shared = shared.clone();
            move || shared.work(&queue, &is_counted)
        });
        let writer = writer.map_err(Error::at(&shared.folder))?;
        Ok(Self { shared, counted, writes: Some(writes), writer: Some(writer) })
    }

    /// The image, if it is there and whole. Trouble with the disk is the same as not being there.
    pub async fn get(&self, key: Key) -> Option<Bytes> {
        if self.shared.max == 0 {
            return None;
        }
        let shared = self.shared.clone();
        match tokio::task::spawn_blocking(move || shared.get(key)).await {
            Ok(found) => found,
            Err(stopped) => {
                self.shared.complaints.about(&Error::Stopped(stopped.to_string()));
                None
            }
        }
    }

    /// Announces that an image is being made. To be called before it is known for sure that its photo lives:
    /// a [`Cache::remove`] that comes later than this call makes the place void.
    pub fn place(&self, key: Key) -> Place {
        let mut making = self.shared.making();
        let known = making.get(&key.photo).and_then(Weak::upgrade);
        let removed = known.unwrap_or_else(|| {
            let new = Arc::default();
            making.insert(key.photo, Arc::downgrade(&new));
            new
        });
        drop(making);
        Place { key, removed, shared: self.shared.clone() }
    }

    /// Keeps an image, some time soon. Whoever has it need not wait.
    pub fn keep(&self, place: Place, bytes: Bytes) {
        let room = self.writes.as_ref().filter(|_| self.shared.max > 0);
        if let Some(Err(_)) = room.map(|writes| writes.try_send(Write { place, bytes })) {
            tracing::debug!("the disk cannot follow: an image is not kept in the cache");
        }
    }

    /// Removes every image of a photo, also those still on their way to the disk. When this returns `Ok`,
    /// none is there and none will come.
    pub async fn remove(&self, photo: PhotoId) -> Result<(), Error> {
        let shared = self.shared.clone();
        match tokio::task::spawn_blocking(move || shared.remove(photo)).await {
            Ok(outcome) => outcome,
            Err(stopped) => Err(Error::Stopped(stopped.to_string())),
        }
    }

    /// Every photo of which there is an image, once all have been counted.
    pub async fn photos(&self) -> Result<Vec<PhotoId>, Error> {
        let stopped = |cause: String| Error::Stopped(cause);
        let mut counted = self.counted.clone();
        counted.wait_for(|counted| *counted).await.map_err(|error| stopped(error.to_string()))?;
        let shared = self.shared.clone();
        let photos = tokio::task::spawn_blocking(move || shared.index().photos());
        photos.await.map_err(|error| stopped(error.to_string()))
    }

    pub fn stats(&self) -> CacheStats {
        let Shared { bytes, entries, counters, .. } = &*self.shared;
        counters.stats("image_disk", entries.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed))
    }
}

impl Drop for Cache {
    /// Waits for what is being written: nobody may find us at work in a folder we have let go of.
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Relaxed);
        drop(self.writes.take());
        if self.writer.take().is_some_and(|writer| writer.join().is_err()) {
            tracing::error!("the cache's thread had panicked");
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut making = self.shared.making();
        let ours =
            making.get(&self.key.photo).is_some_and(|known| known.as_ptr() == Arc::as_ptr(&self.removed));
        // Others may be making images of the same photo.
        if ours && Arc::strong_count(&self.removed) == 1 {
            making.remove(&self.key.photo);
        }
    }
}

impl Shared {
    fn work(&self, queue: &Receiver<Write>, counted: &watch::Sender<bool>) {
        if let Err(error) = self.scan() {
            // What is there could not be counted, so nothing can be added; what is found is still of use.
            if !self.closing.load(Ordering::Relaxed) {
                tracing::warn!(%error, "the image cache on the disk cannot be counted; nothing is added to it");
            }
            while queue.recv().is_ok() {}
            return;
        }
        counted.send_replace(true);
        while let Ok(Write { place, bytes }) = queue.recv() {
            if let Err(error) = self.write(&place, &bytes) {
                self.complaints.about(&error);
            }
        }
    }

    fn get(&self, key: Key) -> Option<Bytes> {
        let path = self.path(key.photo, &self.name(key));
        let found = match file::read(&path) {
            Ok(file::Found::Whole(bytes)) => {
                self.index().touch(key, now());
                Some(bytes)
            }
            Ok(file::Found::Damaged) => {
                tracing::warn!(path = %path.display(), "a damaged file was dropped from the image cache");
                if let Err(error) = self.drop_file(key, &path) {
                    self.complaints.about(&error);
                }
                None
            }
            Ok(file::Found::Nothing) => None,
            Err(error) => {
                self.complaints.about(&error);
                None
            }
        };
        if found.is_some() {
            self.counters.hit();
        } else {
            self.counters.miss();
        }
        found
    }

    fn drop_file(&self, key: Key, path: &Path) -> Result<(), Error> {
        let mut index = self.index();
        remove_file(path)?;
        index.remove(key.photo, key.size, key.format);
        self.note(&index);
        Ok(())
    }

    /// Only the one thread writes, so the room that is made stays free until it is filled.
    fn write(&self, place: &Place, bytes: &[u8]) -> Result<(), Error> {
        let key = place.key;
        let weight = index::weight(file::length(bytes));
        let mut index = self.index();
        if place.removed.load(Ordering::Relaxed) || !index.would_keep(weight) {
            return Ok(());
        }
        while let Some(victim) = index.in_the_way(key, weight) {
            self.evict(&mut index, victim)?;
        }
        drop(index);

        let (staged, path) = (self.staged(), self.path(key.photo, &self.name(key)));
        file::write(&staged, &path, bytes)?;
        let mut index = self.index();
        // Told under the lock that a removal takes after it has said so: no image outlives its photo.
        if place.removed.load(Ordering::Relaxed) {
            return remove_file(&staged);
        }
        let folder = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder).map_err(Error::at(folder))?;
        fs::rename(&staged, &path).map_err(Error::at(&path))?;
        index.insert(key.photo, key.size, key.format, weight, now());
        self.note(&index);
        Ok(())
    }

    /// A file that cannot be removed stays counted: rather no new images than more than allowed.
    fn evict(&self, index: &mut Index, victim: index::Victim) -> Result<(), Error> {
        let name = file_name(victim.size, &victim.format, self.revision);
        remove_file(&self.path(victim.photo, &name))?;
        if index.remove(victim.photo, victim.size, &victim.format).was_last {
            self.remove_folder(victim.photo)?;
        }
        self.counters.evict();
        self.note(index);
        Ok(())
    }

    fn remove(&self, photo: PhotoId) -> Result<(), Error> {
        if let Some(removed) = self.making().remove(&photo).and_then(|known| known.upgrade()) {
            removed.store(true, Ordering::Relaxed);
        }
        let mut index = self.index();
        let folder = self.photo_folder(photo);
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::at(&folder)(error)),
            _ => {}
        }
        index.remove_photo(photo);
        self.note(&index);
        Ok(())
    }

    /// An empty folder. One that is not is somebody's.
    fn remove_folder(&self, photo: PhotoId) -> Result<(), Error> {
        let folder = self.photo_folder(photo);
        match fs::remove_dir(&folder) {
            Err(error)
                if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) =>
            {
                Err(Error::at(&folder)(error))
            }
            _ => Ok(()),
        }
    }

    fn note(&self, index: &Index) {
        self.bytes.store(index.bytes(), Ordering::Relaxed);
        self.entries.store(index.entries(), Ordering::Relaxed);
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock()
    }

    fn making(&self) -> MutexGuard<'_, HashMap<PhotoId, Weak<AtomicBool>>> {
        self.making.lock()
    }

    fn staged(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    fn name(&self, key: Key) -> String {
        file_name(key.size, key.format, self.revision)
    }

    fn path(&self, photo: PhotoId, name: &str) -> PathBuf {
        self.photo_folder(photo).join(name)
    }

    /// Spread over shards like the photos themselves.
    fn photo_folder(&self, photo: PhotoId) -> PathBuf {
        self.folder.join(shard(photo)).join(photo.to_string())
    }
}

fn file_name(size: Size, format: &str, revision: u32) -> String {
    format!("{}-{format}-{revision}", size.side())
}

fn remove_file(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::at(path)(error)),
        _ => Ok(()),
    }
}

/// Microseconds since 1970: the order of use has to agree with the times of files from before the start.
#[allow(clippy::disallowed_methods, reason = "compared with the times of files")]
fn now() -> u64 {
    micros(SystemTime::now())
}

fn micros(moment: SystemTime) -> u64 {
    // A clock before 1970 makes a file look old, which is all that is asked of it.
    moment.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}
