//! Checks of the host: permissions of the data folder, and free disk space.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::{Examination, Finding};
use crate::humanize::size;

/// With less free space uploads fail.
const MIN_FREE: u64 = 512 << 20;

impl Examination<'_> {
    /// Empty where the instance keeps nothing on this machine and no node has run here.
    pub(super) fn host(&self) -> Vec<Finding> {
        let mut folders: Vec<&Path> =
            self.instance.location().folders().into_iter().map(PathBuf::as_path).collect();
        if !folders.contains(&self.data_dir) && self.data_dir.exists() {
            folders.push(self.data_dir);
        }
        let examine = |folder: &Path| {
            let examined = || Ok::<_, io::Error>([permissions(folder)?, self.free_space(folder)?]);
            examined().map_or_else(|error| vec![unreadable(folder, &error)], Vec::from)
        };
        folders.into_iter().flat_map(examine).collect()
    }

    fn free_space(&self, folder: &Path) -> io::Result<Finding> {
        let disk = rustix::fs::statvfs(folder)?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        let what = format!("{} are free for {}", size(free), folder.display());
        if free < MIN_FREE {
            return Ok(Finding::problem("disk", what)
                .advice("Make room, or move to a larger disk: uploads will fail."));
        }
        if free < self.cache_disk {
            let what = format!("{what}, less than `cache_disk` may take ({})", size(self.cache_disk));
            return Ok(Finding::note("disk", what).advice("Make room, or give the cache less."));
        }
        Ok(Finding::ok("disk", what))
    }
}

fn permissions(folder: &Path) -> io::Result<Finding> {
    let about = folder.metadata()?;
    let name = folder.display();
    if let Some(open) = open_to_others(folder)? {
        let what = format!("every user of this machine may read {}", open.display());
        return Ok(Finding::problem("folder", what).advice(format!("Run: chmod -R go= {name}")));
    }
    let user = rustix::process::geteuid().as_raw();
    if about.uid() != user {
        let what = format!("{name} belongs to the user {}, and this command runs as {user}", about.uid());
        return Ok(Finding::note("folder", what)
            .advice("Run it as that user, so that the files it writes have the same owner."));
    }
    Ok(Finding::ok("folder", format!("{name} is not accessible to others")))
}

/// The first path that other users can read, if any: the folder's own mode protects everything in it.
fn open_to_others(folder: &Path) -> io::Result<Option<PathBuf>> {
    let is_open = |about: fs::Metadata| about.mode() & 0o007 != 0;
    if !is_open(folder.metadata()?) {
        return Ok(None);
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if is_open(entry.metadata()?) {
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}

fn unreadable(folder: &Path, error: &io::Error) -> Finding {
    Finding::problem("folder", format!("{} cannot be examined: {error}", folder.display()))
        .advice("See that this user may read it.")
}
