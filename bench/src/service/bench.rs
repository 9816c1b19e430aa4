//! State shared by all sections about the service: folders, programs, cores, rounds.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::process::Cores;
use crate::error::{Error, create_folder};

/// Connections of the load, the same for every candidate.
pub(super) const CONNECTIONS: usize = 64;

/// Posts in sections that write: such a database is copied for every run.
pub(super) const SMALL: u64 = 100_000;
/// Posts in sections that only read.
pub(super) const LARGE: u64 = 1_000_000;

/// The number and length of rounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    pub(super) rounds: usize,
    pub(super) warm_up: Duration,
    pub(super) window: Duration,
}

impl Pace {
    /// For slow work: half as many rounds, each twice as long.
    pub(super) fn in_longer_turns(self) -> Self {
        Self { rounds: self.rounds.div_ceil(2), warm_up: self.warm_up * 2, window: self.window * 2 }
    }
}

#[derive(Clone)]
pub(super) struct Bench {
    pub(super) home: PathBuf,
    pub(super) photos: PathBuf,
    pub(super) binary: PathBuf,
    /// Builds to compare it with, by name.
    pub(super) against: Vec<(String, PathBuf)>,
    pub(super) cores: Cores,
    pub(super) pace: Pace,
    pub(super) full: bool,
    pub(super) has_pictrs: bool,
    pub(super) posts: u64,
    /// Added to every sync of the disk.
    pub(super) sync_delay: Option<Duration>,
}

impl Bench {
    pub(super) fn photo(&self, name: &str) -> PathBuf {
        self.photos.join(format!("{name}.jpg"))
    }

    pub(super) fn logs(&self) -> PathBuf {
        self.home.join("logs")
    }

    /// An empty folder for this run.
    pub(super) fn fresh(&self, name: &str) -> Result<PathBuf, Error> {
        let folder = self.home.join("run").join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(Error::system(folder.display()))?;
        }
        create_folder(&folder)?;
        Ok(folder)
    }

    /// This program, for candidates that it serves itself.
    pub(super) fn own_program(&self) -> Result<Command, Error> {
        let program = std::env::current_exe().map_err(Error::system("the benchmark's own path"))?;
        Ok(self.program(&program))
    }

    /// The same on a slower disk.
    pub(super) fn with_syncs_longer_by(&self, delay: Duration) -> Self {
        Self { sync_delay: Some(delay), ..self.clone() }
    }

    pub(super) fn program(&self, path: &Path) -> Command {
        let Some(delay) = self.sync_delay else { return Command::new(path) };
        let mut command = Command::new("strace");
        // As a daemon it leaves the program where it would be without it, and it stops it at syncs only.
        command.args(["--daemonize", "--follow-forks", "--seccomp-bpf", "--quiet=all", "--output=/dev/null"]);
        command.args([
            "--trace=fsync,fdatasync",
            &format!("--inject=fsync,fdatasync:delay_exit={}", delay.as_micros()),
        ]);
        command.arg(path);
        command
    }
}
