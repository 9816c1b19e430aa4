//! A PostgreSQL server from Debian's package in a temporary folder, with the posts of a data folder of the
//! service.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::Signal;

use super::Bench;
use super::fill::Filled;
use super::pinhole::{self, Pinhole};
use super::process::{Server, free_address, run, sync_disk};
use crate::error::Error;

/// World-writable and on a disk: `/tmp` may be in memory, where a sync costs nothing.
const TEMPORARY: &str = "/var/tmp";

/// Default settings, except for memory sizes.
const SETTINGS: [&str; 6] = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "shared_buffers=512MB",
    "max_wal_size=4GB",
    "fsync=on",
    "synchronous_commit=on",
];

pub(super) struct Cluster {
    programs: Programs,
    folder: PathBuf,
}

impl Cluster {
    /// Filled once by `pinhole migrate`; later runs copy the result.
    pub(super) fn filled(bench: &Bench, filled: &Filled) -> Result<Self, Error> {
        let programs = Programs::find()?;
        let snapshot = bench.home.join(format!("filled-{}-postgres-{}", filled.posts, programs.major()?));
        let cluster = Self::empty(programs)?;
        if snapshot.exists() {
            copy(&snapshot, &cluster.data())?;
        } else {
            cluster.fill(bench, filled)?;
            // Renamed when complete, so that an interrupted copy is never used.
            let partial = snapshot.with_extension("partial");
            if partial.exists() {
                std::fs::remove_dir_all(&partial).map_err(Error::system(partial.display()))?;
            }
            copy(&cluster.data(), &partial)?;
            std::fs::rename(&partial, &snapshot).map_err(Error::system(snapshot.display()))?;
        }
        // Pending writeback would slow down the candidate measured first.
        sync_disk()?;
        Ok(cluster)
    }

    /// An empty folder that the server user can write to.
    fn empty(programs: Programs) -> Result<Self, Error> {
        let folder = run(Command::new("mktemp").args(["-d", "-p", TEMPORARY, "pinhole-bench-XXXXXX"]))?;
        let cluster = Self { programs, folder: folder.into() };
        if cluster.programs.drops_root {
            run(Command::new("chown").arg("nobody").arg(&cluster.folder))?;
        }
        Ok(cluster)
    }

    fn fill(&self, bench: &Bench, filled: &Filled) -> Result<(), Error> {
        eprintln!("bench: moving a database with {} posts to PostgreSQL", filled.posts);
        // The data folder may be from an older version; starting the service migrates it.
        drop(Pinhole::start(bench, &filled.folder, None, &[])?);
        let mut init = self.programs.for_server("initdb");
        init.arg("-D").arg(self.data()).current_dir(&self.folder);
        run(init.args(["-U", "pinhole", "--auth=trust", "--encoding=UTF8", "--locale=C"]))?;
        let server = self.start(bench, None)?;
        run(self.client("createdb", &server).arg("pinhole"))?;
        let mut migrate = pinhole::command(bench);
        migrate.arg("migrate").arg("--data-dir").arg(&filled.folder).args(["--to-database", &url(&server)]);
        run(migrate.arg("--finish"))?;
        run(self.client("vacuumdb", &server).args(["--quiet", "--analyze", "pinhole"]))?;
        run(self.client("psql", &server).args(["-q", "-c", "CHECKPOINT", "pinhole"]))?;
        Ok(())
    }

    /// On one core, if that is named, with all its processes.
    pub(super) fn start(&self, bench: &Bench, core: Option<usize>) -> Result<Server, Error> {
        let address = free_address()?;
        let mut command = self.programs.for_server("postgres");
        command.arg("-D").arg(self.data()).current_dir(&self.folder);
        command.args(["-c", &format!("port={}", address.port())]);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        // SIGTERM waits for clients to disconnect; SIGINT is a fast shutdown.
        let server = Server::start("postgres", &command, address, core, &bench.logs())?;
        let mut server = server.stopped_by(Signal::SIGINT);
        let mut ask = self.client("pg_isready", &server);
        ask.args(["-q", "-d", "postgres"]);
        server.ready_when(|| ask.status().is_ok_and(|status| status.success()))?;
        Ok(server)
    }

    pub(super) fn pgbench(&self) -> PathBuf {
        self.programs.folder.join("pgbench")
    }

    pub(super) fn version(&self) -> Result<String, Error> {
        self.programs.version()
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn client(&self, name: &str, server: &Server) -> Command {
        let (host, port) = (server.address.ip().to_string(), server.address.port().to_string());
        let mut command = Command::new(self.programs.folder.join(name));
        command.args(["-h", &host, "-p", &port, "-U", "pinhole"]);
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            eprintln!("bench: {} is left behind: {error}", self.folder.display());
        }
    }
}

/// Without TLS: the connection is on loopback, and most peers here do not encrypt either.
pub(super) fn url(server: &Server) -> String {
    format!("postgres://pinhole@{}/pinhole?sslmode=disable", server.address)
}

struct Programs {
    folder: PathBuf,
    /// The server refuses to run as root.
    drops_root: bool,
}

impl Programs {
    /// As `scripts/postgres` finds them: where the variable says, where Debian puts the newest, or on the
    /// path.
    fn find() -> Result<Self, Error> {
        let named = std::env::var_os("PINHOLE_TEST_POSTGRES_BIN").map(PathBuf::from);
        let folder =
            named.or_else(debians).or_else(on_the_path).filter(|folder| folder.join("pgbench").exists());
        let missing = || Error::Peer("PostgreSQL is missing: apt-get install postgresql".into());
        let process = std::fs::metadata("/proc/self").map_err(Error::system("/proc/self"))?;
        Ok(Self { folder: folder.ok_or_else(missing)?, drops_root: process.uid() == 0 })
    }

    /// A program that reads and writes the cluster's files. Changing the user clears the parent-death signal,
    /// so it is set again.
    fn for_server(&self, name: &str) -> Command {
        let program = self.folder.join(name);
        if !self.drops_root {
            return Command::new(program);
        }
        let mut command = Command::new("setpriv");
        command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups", "--pdeathsig", "KILL"]);
        command.arg(program);
        command
    }

    fn version(&self) -> Result<String, Error> {
        let words = run(Command::new(self.folder.join("postgres")).arg("--version"))?;
        Ok(words.replace("postgres (PostgreSQL) ", ""))
    }

    /// Data files are not compatible across major versions.
    fn major(&self) -> Result<String, Error> {
        Ok(self.version()?.chars().take_while(char::is_ascii_digit).collect())
    }
}

fn on_the_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).find(|folder| folder.join("initdb").exists())
}

fn debians() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?.filter_map(Result::ok);
    let versions = versions.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    Some(Path::new("/usr/lib/postgresql").join(versions.max()?.to_string()).join("bin"))
}

/// Preserves owners and modes.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    run(Command::new("cp").args(["--reflink=auto", "-a", "-T"]).arg(from).arg(to)).map(drop)
}
