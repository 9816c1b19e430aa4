//! A PostgreSQL of our own: Debian's, in a temporary folder, with the same posts as a data folder of the
//! service.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::Signal;

use super::Bench;
use super::fill::Filled;
use super::ours::{self, Ours};
use super::process::{Server, free_address, run, settle};
use crate::error::Error;

/// Where everybody may make folders, and where they lie on a disk: in `/tmp`, which may be memory, a sync
/// would cost nothing.
const TEMPORARY: &str = "/var/tmp";

/// All else as it comes, but for the memory, of which it takes little unless told.
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
    /// Filled by the service's own move, once; afterwards from a copy of that.
    pub(super) fn filled(bench: &Bench, filled: &Filled) -> Result<Self, Error> {
        let programs = Programs::find()?;
        let kept = bench.home.join(format!("filled-{}-postgres-{}", filled.posts, programs.major()?));
        let cluster = Self::empty(programs)?;
        if kept.exists() {
            copy(&kept, &cluster.data())?;
        } else {
            cluster.fill(bench, filled)?;
            // Under another name until it is whole.
            let half = kept.with_extension("half");
            if half.exists() {
                std::fs::remove_dir_all(&half).map_err(Error::system(half.display()))?;
            }
            copy(&cluster.data(), &half)?;
            std::fs::rename(&half, &kept).map_err(Error::system(kept.display()))?;
        }
        // What is still on its way to the disk would slow down whoever is measured first.
        settle()?;
        Ok(cluster)
    }

    /// A folder that the server can write to, whoever it runs as.
    fn empty(programs: Programs) -> Result<Self, Error> {
        let folder = run(Command::new("mktemp").args(["-d", "-p", TEMPORARY, "pinhole-bench-XXXXXX"]))?;
        let cluster = Self { programs, folder: folder.into() };
        if cluster.programs.as_nobody {
            run(Command::new("chown").arg("nobody").arg(&cluster.folder))?;
        }
        Ok(cluster)
    }

    fn fill(&self, bench: &Bench, filled: &Filled) -> Result<(), Error> {
        eprintln!("bench: moving a database with {} posts to PostgreSQL", filled.posts);
        // It may have been kept since an older version; a start brings it up to date.
        drop(Ours::start(bench, &filled.folder, None, &[])?);
        let mut init = self.programs.for_server("initdb");
        init.arg("-D").arg(self.data()).current_dir(&self.folder);
        run(init.args(["-U", "pinhole", "--auth=trust", "--encoding=UTF8", "--locale=C"]))?;
        let server = self.start(bench, None)?;
        run(self.client("createdb", &server).arg("pinhole"))?;
        let mut migrate = ours::command(bench);
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
        // The polite signal would have it wait until everybody has gone.
        let server = Server::start("postgres", &command, address, core, &bench.logs())?;
        let mut server = server.ended_by(Signal::SIGINT);
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

    /// Where it keeps what it has.
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

/// As an operator writes it. Nobody listens in on loopback, and most of the others here do not encrypt
/// either.
pub(super) fn url(server: &Server) -> String {
    format!("postgres://pinhole@{}/pinhole?sslmode=disable", server.address)
}

struct Programs {
    folder: PathBuf,
    /// The server refuses to run as root.
    as_nobody: bool,
}

impl Programs {
    /// As `scripts/postgres` finds them: where the variable says, where Debian puts the newest, or on the
    /// path.
    fn find() -> Result<Self, Error> {
        let named = std::env::var_os("PINHOLE_TEST_POSTGRES_BIN").map(PathBuf::from);
        let folder =
            named.or_else(debians).or_else(on_the_path).filter(|folder| folder.join("pgbench").exists());
        let missing = || Error::Peer("PostgreSQL is missing: apt-get install postgresql".into());
        let who = std::fs::metadata("/proc/self").map_err(Error::system("/proc/self"))?;
        Ok(Self { folder: folder.ok_or_else(missing)?, as_nobody: who.uid() == 0 })
    }

    /// One that reads and writes the cluster's files. Whoever changes who it is loses the wish to end with
    /// its parent, so that is said again.
    fn for_server(&self, name: &str) -> Command {
        let program = self.folder.join(name);
        if !self.as_nobody {
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

    /// Files of one are not read by another.
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

/// With owners and all.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    run(Command::new("cp").args(["--reflink=auto", "-a", "-T"]).arg(from).arg(to)).map(drop)
}
