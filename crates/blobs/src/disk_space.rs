//! The space of a disk, and how much of it stays free.

use std::io;
use std::path::Path;

use rustix::fs::statvfs;

use crate::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpace {
    /// The size of the file system.
    pub bytes: u64,
    /// What this user can still write.
    pub free: u64,
}

impl DiskSpace {
    /// The space of the file system of `path`.
    pub fn of(path: &Path) -> Result<Self, Error> {
        let disk = statvfs(path).map_err(io::Error::from).map_err(Error::at(path))?;
        let bytes = disk.f_blocks.saturating_mul(disk.f_frsize);
        // A file system that does not report its size, as some network file systems, counts as unlimited.
        let free = if bytes == 0 { u64::MAX } else { disk.f_bavail.saturating_mul(disk.f_frsize) };
        Ok(Self { bytes, free })
    }
}

/// The space that the disk cache leaves free, in bytes; by default a twentieth of the disk, but at least
/// 1 GiB. Never more than a quarter of the disk, so that a small disk has a cache too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheMinFree(pub Option<u64>);

impl CacheMinFree {
    pub fn on(self, disk: DiskSpace) -> u64 {
        self.0.unwrap_or_else(|| (disk.bytes / 20).max(1 << 30)).min(disk.bytes / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_leaves_a_twentieth_or_1_gib_free_but_at_most_a_quarter() {
        let on = |min_free: Option<u64>, bytes| CacheMinFree(min_free).on(DiskSpace { bytes, free: 0 });
        assert_eq!(on(None, 100 << 30), 5 << 30);
        assert_eq!(on(None, 10 << 30), 1 << 30);
        assert_eq!(on(None, 24 << 20), 6 << 20);
        assert_eq!(on(Some(3 << 30), 100 << 30), 3 << 30);
        assert_eq!(on(Some(0), 100 << 30), 0);
        assert_eq!(on(Some(90 << 30), 100 << 30), 25 << 30);
    }
}
