//! Checks of the host: permissions of the data folder, and free disk space.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::{ConsistencyCheck, Finding};
use crate::humanize::size;

/// Less free space is an error, before uploads stop at `upload_min_free`.
const MIN_FREE: u64 = 512 << 20;

impl ConsistencyCheck<'_> {
    /// Empty if the instance has no folder on this machine and no node has run here.
    pub(super) fn host(&self) -> Vec<Finding> {
        let mut folders: Vec<&Path> =
            self.instance.location().folders().into_iter().map(PathBuf::as_path).collect();
        if !folders.contains(&self.data_dir) && self.data_dir.exists() {
            folders.push(self.data_dir);
        }
        let check = |folder: &Path| {
            let findings = || Ok::<_, io::Error>([permissions(folder)?, self.free_space(folder)?]);
            findings().map_or_else(|error| vec![unreadable(folder, &error)], Vec::from)
        };
        folders.into_iter().flat_map(check).collect()
    }

    fn free_space(&self, folder: &Path) -> io::Result<Finding> {
        let disk = rustix::fs::statvfs(folder)?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        let what = format!("{} free on the disk of {}", size(free), folder.display());
        if free < MIN_FREE {
            return Ok(Finding::error("disk", what)
                .advice("Free some space, or migrate to a larger disk: uploads will fail."));
        }
        if free < self.cache_disk {
            let what =
                format!("{what}, less than `cache_disk` allows the image cache ({})", size(self.cache_disk));
            return Ok(Finding::note("disk", what).advice("Free some space, or lower `cache_disk`."));
        }
        Ok(Finding::ok("disk", what))
    }
}

fn permissions(folder: &Path) -> io::Result<Finding> {
    let metadata = folder.metadata()?;
    let name = folder.display();
    if let Some(path) = accessible_to_others(folder)? {
        let what = format!("{} is accessible to every user of this machine", path.display());
        return Ok(Finding::error("folder", what).advice(format!("Run: chmod -R go= {name}")));
    }
    let user = rustix::process::geteuid().as_raw();
    if metadata.uid() != user {
        let what =
            format!("{name} is owned by user {}, but this command runs as user {user}", metadata.uid());
        return Ok(Finding::note("folder", what)
            .advice("Run it as the owner, so that the service can write the files it creates."));
    }
    Ok(Finding::ok("folder", format!("{name} is not accessible to other users")))
}

/// The first path that other users can access. A folder that they cannot access protects everything in it.
fn accessible_to_others(folder: &Path) -> io::Result<Option<PathBuf>> {
    let is_accessible = |metadata: fs::Metadata| metadata.mode() & 0o007 != 0;
    if !is_accessible(folder.metadata()?) {
        return Ok(None);
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if is_accessible(entry.metadata()?) {
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}

fn unreadable(folder: &Path, error: &io::Error) -> Finding {
    Finding::error("folder", format!("{} cannot be read: {error}", folder.display()))
        .advice("Check that this user may read it.")
}
