//! The reserve file: disk space that only writes which free space may use.
//!
//! Also a delete needs space, for its pages in the write-ahead log. When the disk is full, the file is
//! truncated to make room for deletes, and all other writes are rejected until it is allocated again.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FallocateFlags, fallocate, fstatvfs};
use rustix::io::Errno;

/// The pages of some hundred deletes, or of the delete of a post with thousands of likes.
const MAX_BYTES: u64 = 16 << 20;

/// The largest share of a small disk, as a divisor.
const DISK_SHARE: u64 = 16;

/// The space that must remain beside the file, as a divisor of its size: a start needs some.
const MARGIN: u64 = 16;

/// More than a commit that failed would have needed for its next page.
const PROBE_BYTES: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Reserve {
    file: File,
    bytes: u64,
    is_released: AtomicBool,
}

impl Reserve {
    /// Allocates the file beside the database. If the disk is too full for that, the reserve is released.
    /// `None` where space cannot be reserved; the reason is logged.
    pub(super) fn open(database: &Path) -> Option<Self> {
        let open = || {
            let path = database.with_file_name("reserve");
            let file = File::options().create(true).write(true).truncate(false).open(path)?;
            let disk = fstatvfs(&file)?;
            let bytes = (disk.f_blocks.saturating_mul(disk.f_frsize) / DISK_SHARE).min(MAX_BYTES);
            if bytes == 0 {
                return Err(io::Error::other("the file system does not report its size"));
            }
            let reserve = Self { file, bytes, is_released: AtomicBool::new(true) };
            reserve.restore()?;
            if reserve.is_released() {
                reserve.release()?;
            }
            Ok(reserve)
        };
        let failed = |error: &io::Error| {
            tracing::warn!(%error, "no reserve file; deletes may fail when the disk is full");
        };
        open().inspect_err(failed).ok()
    }

    pub(super) fn is_released(&self) -> bool {
        self.is_released.load(Ordering::Relaxed)
    }

    pub(super) fn release(&self) -> io::Result<()> {
        self.is_released.store(true, Ordering::Relaxed);
        self.file.set_len(0)?;
        // Some file systems reuse the blocks only after the truncation is durable.
        self.file.sync_all()
    }

    /// Whether the disk is full or a quota used up: appends to the file, and cuts that off again.
    pub(super) fn is_no_space(&self) -> bool {
        let end = if self.is_released() { 0 } else { self.bytes };
        let appended = self.file.write_all_at(&[0; PROBE_BYTES], end);
        if let Err(error) = self.file.set_len(end) {
            tracing::warn!(%error, "reserve file not truncated");
        }
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        appended.is_err_and(|error| matches!(error.kind(), QuotaExceeded | StorageFull))
    }

    /// Allocates the file again, if enough space is free.
    pub(super) fn restore(&self) -> io::Result<()> {
        let disk = fstatvfs(&self.file)?;
        let allocated = self.file.metadata()?.blocks().saturating_mul(512);
        let free = disk.f_bavail.saturating_mul(disk.f_frsize).saturating_add(allocated);
        if free < self.bytes + self.bytes / MARGIN {
            return Ok(());
        }
        match fallocate(&self.file, FallocateFlags::empty(), 0, self.bytes) {
            Ok(()) => self.is_released.store(false, Ordering::Relaxed),
            // Another process was faster, or a quota is less than the disk; what was allocated is given back.
            Err(Errno::NOSPC | Errno::DQUOT) => self.file.set_len(0)?,
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_released_reserve_occupies_nothing_until_it_is_restored() {
        let folder = tempfile::tempdir().unwrap();
        let reserve = Reserve::open(&folder.path().join("pinhole.db")).unwrap();
        let allocated = || folder.path().join("reserve").metadata().unwrap().blocks() * 512;
        assert!(!reserve.is_released() && allocated() >= reserve.bytes);
        assert!(!reserve.is_no_space());
        assert_eq!(reserve.file.metadata().unwrap().len(), reserve.bytes, "the probe must be cut off again");
        reserve.release().unwrap();
        assert!(reserve.is_released() && allocated() == 0);
        reserve.restore().unwrap();
        assert!(!reserve.is_released() && allocated() >= reserve.bytes);
    }
}
