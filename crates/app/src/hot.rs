//! Images asked for again and again, in files without a name: the kernel sends them from there as they are,
//! where bytes of ours would be copied first. Of a 512² that was two fifths of the time of a server that does
//! nothing else.
//!
//! The files lie on the disk's file system, and in its memory. A file of a file system in memory was slower
//! to send by a fifth: there every 4 KiB are looked up and locked by themselves, while the disk's keeps what
//! is written at once in one piece.
//!
//! They come on top of the memory that images are kept in, so they are few.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use model::{CacheCounters, CacheStats};

/// Asked for so often, an image gets a file. If there is no room for it then, it may get one after as many
/// times more.
const OFTEN: usize = 32;

/// Shorter ones are copied faster than two calls are made.
const WORTH_IT: usize = 16 << 10;

/// What all files may take together.
const MAX_BYTES: usize = 32 << 20;
const MAX_FILES: usize = 256;

/// An image in memory, and how often it was asked for.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) bytes: Bytes,
    pub(crate) tag: Bytes,
    asked: AtomicUsize,
    file: OnceLock<Arc<ImageFile>>,
}

impl Kept {
    pub(crate) fn new(bytes: Bytes, tag: Bytes) -> Self {
        Self { bytes, tag, asked: AtomicUsize::new(0), file: OnceLock::new() }
    }

    /// Counts a request. From some number on there is a file, as soon as it is written and if there is room
    /// for it.
    pub(crate) fn ask(self: &Arc<Self>, room: &Arc<Room>) -> Option<Arc<ImageFile>> {
        let file = self.file.get();
        if file.is_some() {
            room.counters.hit();
        } else {
            room.counters.miss();
        }
        if file.is_none()
            && self.is_worth_it()
            && let Some(taken) = room.take(self.bytes.len())
        {
            let kept = self.clone();
            // A disk may take its time, and nobody waits for this.
            drop(tokio::task::spawn_blocking(move || kept.write(taken)));
        }
        file.cloned()
    }

    /// Every so many times.
    fn is_worth_it(&self) -> bool {
        let asked = || self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        ImageFile::MAY_BE && self.bytes.len() >= WORTH_IT && asked().is_multiple_of(OFTEN)
    }

    fn write(&self, taken: Taken) {
        match ImageFile::make(&self.bytes, taken) {
            // Where the last one took its time there may be one by now: it will do.
            Ok(file) => drop(self.file.set(Arc::new(file))),
            Err(error) => tracing::debug!(%error, "an image asked for often is copied all the same"),
        }
    }
}

/// Where the files are made, and what they take.
#[derive(Debug)]
pub(crate) struct Room {
    folder: PathBuf,
    files: AtomicUsize,
    bytes: AtomicUsize,
    counters: CacheCounters,
}

/// The bytes of an image in a file without a name, gone with it.
#[derive(Debug)]
pub struct ImageFile {
    file: File,
    _taken: Taken,
}

/// Room that a file takes as long as it is there.
#[derive(Debug)]
struct Taken {
    bytes: usize,
    room: Arc<Room>,
}

impl ImageFile {
    /// Where nothing is sent from files, none are made.
    const MAY_BE: bool = cfg!(target_os = "linux");

    fn make(bytes: &Bytes, taken: Taken) -> io::Result<Self> {
        let mut file = tempfile::tempfile_in(&taken.room.folder)?;
        // At once, which keeps it in one piece.
        file.write_all(bytes)?;
        Ok(Self { file, _taken: taken })
    }
}

impl AsFd for ImageFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.room.files.fetch_sub(1, Ordering::Relaxed);
        self.room.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Room {
    /// For files in this folder.
    pub(crate) fn new(folder: PathBuf) -> Self {
        let (files, bytes, counters) = Default::default();
        Self { folder, files, bytes, counters }
    }

    fn take(self: &Arc<Self>, bytes: usize) -> Option<Taken> {
        let files = self.files.fetch_add(1, Ordering::Relaxed);
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        // Given back at once if it is too much.
        let taken = Taken { bytes, room: self.clone() };
        (files < MAX_FILES && before + bytes <= MAX_BYTES).then_some(taken)
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
    async fn a_picture_asked_for_often_gets_a_file_and_gives_its_room_back() {
        let folder = tempfile::tempdir().unwrap();
        let room = Arc::new(Room::new(folder.path().into()));
        let kept = |length| Arc::new(Kept::new(vec![7; length].into(), Bytes::new()));
        let (large, small) = (kept(WORTH_IT), kept(WORTH_IT - 1));
        for _ in 1..OFTEN {
            assert!(large.ask(&room).is_none() && small.ask(&room).is_none());
        }
        assert_eq!(Arc::strong_count(&large), 1, "nobody is at work on it");
        let file = async {
            loop {
                match large.ask(&room) {
                    Some(file) => return file,
                    None => tokio::task::yield_now().await,
                }
            }
        };
        if !ImageFile::MAY_BE {
            return;
        }
        let file = tokio::time::timeout(std::time::Duration::from_secs(60), file).await.unwrap();
        let mut bytes = vec![0; WORTH_IT + 1];
        assert_eq!(file.file.read_at(&mut bytes, 0).unwrap(), WORTH_IT);
        assert_eq!(bytes[..WORTH_IT], large.bytes);
        assert!(
            (0..2 * OFTEN).all(|_| small.ask(&room).is_none()) && Arc::strong_count(&small) == 1,
            "not worth it"
        );
        assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "it has no name");
        let emptied = async {
            drop((large, file));
            // One that came too late may still be on its way out.
            while room.stats().entries > 0 || room.stats().bytes > 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(60), emptied).await.unwrap();
    }

    #[test]
    fn files_have_a_bound_and_room_is_found_again() {
        let room = Arc::new(Room::new(PathBuf::new()));
        let mut taken: Vec<_> = (0..6).filter_map(|_| room.take(MAX_BYTES / 4 + 1)).collect();
        assert_eq!((taken.len(), room.stats().entries), (3, 3));
        taken.pop();
        assert!(room.take(MAX_BYTES / 4 + 1).is_some());
        let few: Vec<_> = (0..MAX_FILES).filter_map(|_| room.take(1)).collect();
        assert_eq!(few.len() + taken.len(), MAX_FILES);
    }
}
