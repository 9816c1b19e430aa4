//! A small file system of its own, which a test can fill.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// A tmpfs, unmounted when dropped. Mounting needs root, or `sudo` without a password.
pub struct SmallDisk {
    folder: TempDir,
}

impl SmallDisk {
    pub fn mount(mebibytes: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = format!("size={mebibytes}m,mode=0777");
        let arguments = ["mount", "-t", "tmpfs", "-o", &options, "tmpfs", folder.path().to_str().unwrap()];
        assert!(as_root(&arguments), "a full disk is tested on a tmpfs: run this as root, or allow `sudo`");
        Self { folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn free(&self) -> u64 {
        let disk = rustix::fs::statvfs(self.path()).unwrap();
        disk.f_bavail * disk.f_frsize
    }

    /// Fills the disk to the last byte with a file that is not the service's.
    pub fn fill(&self) {
        self.fill_leaving(0);
    }

    /// Fills the disk until at most `bytes` are free.
    pub fn fill_leaving(&self, bytes: u64) {
        let mut file = File::options().create(true).append(true).open(self.path().join("foreign")).unwrap();
        while self.free() > bytes {
            match file.write(&[7; 4096]) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => return,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Removes the file of `fill`.
    pub fn clear(&self) {
        std::fs::remove_file(self.path().join("foreign")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazy: a service that a failed test leaves behind may still use it.
        let is_unmounted = as_root(&["umount", "--lazy", self.path().to_str().unwrap()]);
        assert!(is_unmounted || std::thread::panicking(), "{} is still mounted", self.path().display());
    }
}

/// Runs a command, with `sudo` if it fails without.
fn as_root(command: &[&str]) -> bool {
    let run = |words: &[&str]| Command::new(words[0]).args(&words[1..]).status().is_ok_and(|it| it.success());
    run(command) || run(&[&["sudo", "--non-interactive"], command].concat())
}
