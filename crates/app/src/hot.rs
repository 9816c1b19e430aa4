//! Images asked for again and again, in files that live in memory: the kernel sends them from there as they are, where
//! bytes of ours would be copied first. A copy of a 512² costs about as much as everything else about the request.
//!
//! These files come on top of the memory that images are kept in, so they are few.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::CacheLevel;

/// Asked for so often, an image gets a file.
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
    asked: AtomicUsize,
    file: OnceLock<Option<Arc<ImageFile>>>,
}

impl Kept {
    pub(crate) fn new(bytes: Bytes) -> Self {
        Self { bytes, asked: AtomicUsize::new(0), file: OnceLock::new() }
    }

    /// Counts a request; from some number on there is a file, if there is room for one.
    pub(crate) fn ask(&self, room: &Arc<Room>) -> Option<Arc<ImageFile>> {
        let often = || self.asked.fetch_add(1, Ordering::Relaxed) >= OFTEN;
        let make = || ImageFile::make(&self.bytes, room).map(Arc::new);
        let file = (self.bytes.len() >= WORTH_IT && often()).then(|| self.file.get_or_init(make).clone());
        let file = file.flatten();
        let count = if file.is_some() { &room.hits } else { &room.misses };
        count.fetch_add(1, Ordering::Relaxed);
        file
    }
}

/// What the files take.
#[derive(Debug, Default)]
pub(crate) struct Room {
    files: AtomicUsize,
    bytes: AtomicUsize,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// The bytes of an image in a file without a name, gone with it.
#[derive(Debug)]
pub struct ImageFile {
    file: os::File,
    length: usize,
    room: Arc<Room>,
}

impl ImageFile {
    /// `None` where there is no room, or the system has no such files.
    fn make(bytes: &Bytes, room: &Arc<Room>) -> Option<Self> {
        let files = room.files.fetch_add(1, Ordering::Relaxed);
        let taken = room.bytes.fetch_add(bytes.len(), Ordering::Relaxed);
        let fits = files < MAX_FILES && taken + bytes.len() <= MAX_BYTES;
        let made = if fits { os::write(bytes) } else { Err(io::ErrorKind::OutOfMemory.into()) };
        match made {
            Ok(file) => Some(Self { file, length: bytes.len(), room: room.clone() }),
            Err(error) => {
                tracing::debug!(%error, "a picture asked for often is copied all the same");
                room.give_back(bytes.len());
                None
            }
        }
    }
}

impl AsFd for ImageFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for ImageFile {
    fn drop(&mut self) {
        self.room.give_back(self.length);
    }
}

impl Room {
    fn give_back(&self, bytes: usize) {
        self.files.fetch_sub(1, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(crate) fn level(&self) -> CacheLevel {
        CacheLevel {
            name: "file",
            bytes: self.bytes.load(Ordering::Relaxed) as u64,
            entries: self.files.load(Ordering::Relaxed) as u64,
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            evictions: 0,
        }
    }
}

#[cfg(target_os = "linux")]
mod os {
    use std::io::{self, Write};

    pub(super) use std::fs::File;

    use rustix::fs::{MemfdFlags, memfd_create};

    pub(super) fn write(bytes: &[u8]) -> io::Result<File> {
        let mut file = File::from(memfd_create("image", MemfdFlags::CLOEXEC)?);
        file.write_all(bytes)?;
        Ok(file)
    }
}

/// Elsewhere images are copied.
#[cfg(not(target_os = "linux"))]
mod os {
    use std::io;

    pub(super) use std::fs::File;

    pub(super) fn write(_: &[u8]) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_asked_for_often_gets_a_file_and_gives_its_room_back() {
        let room = Arc::new(Room::default());
        let (large, small) = (Kept::new(vec![7; WORTH_IT].into()), Kept::new(vec![7; WORTH_IT - 1].into()));
        for _ in 0..OFTEN {
            assert!(large.ask(&room).is_none());
        }
        let file = large.ask(&room);
        assert_eq!(file.is_some(), cfg!(target_os = "linux"));
        assert!((0..=OFTEN).all(|_| small.ask(&room).is_none()), "not worth it");
        assert_eq!(room.level().bytes, file.as_ref().map_or(0, |_| WORTH_IT as u64));
        drop(large);
        drop(file);
        assert_eq!((room.level().bytes, room.level().entries), (0, 0));
    }

    #[test]
    fn files_have_a_bound() {
        let room = Arc::new(Room::default());
        let bytes = Bytes::from(vec![7; MAX_BYTES / 4 + 1]);
        let files: Vec<_> = (0..6).filter_map(|_| ImageFile::make(&bytes, &room)).collect();
        assert!(files.len() <= 3);
        assert_eq!(room.level().entries, files.len() as u64);
    }
}
