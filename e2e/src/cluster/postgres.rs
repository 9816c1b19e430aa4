//! PostgreSQL on this machine, alone or as a synchronous pair. It waits for its disk, as it would in earnest.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;

use crate::eventually;

use super::house::{free_port, on_loopback, run};
use super::papers::Papers;
use super::{Daemon, House};

const START: Duration = Duration::from_secs(60);

pub struct Postgres {
    name: &'static str,
    port: u16,
    /// Its certificate and key, if it has any.
    papers: Option<Papers>,
    process: Option<Daemon>,
    house: Arc<House>,
}

/// A primary, and a standby without which it acknowledges nothing.
pub struct Pair {
    pub primary: Postgres,
    pub standby: Postgres,
}

impl Postgres {
    /// A server with an empty database.
    pub fn alone() -> Self {
        let mut server = Self::new("one", Arc::new(House::for_ordinary_people()));
        let initdb = ["--username=pinhole", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"];
        run(server.tool("initdb").args(initdb).arg("-D").arg(server.data()));
        server.start();
        server.ask("CREATE DATABASE pinhole");
        server
    }

    /// The same, which can prove with a certificate that it is `localhost`, and speaks with nobody
    /// unencrypted.
    pub fn encrypted() -> Self {
        let mut server = Self::alone();
        server.stop();
        server.papers = Some(Papers::made_in(&server.house));
        std::fs::write(server.data().join("pg_hba.conf"), "hostssl all all 127.0.0.1/32 trust\n").unwrap();
        server.start();
        server
    }

    fn new(name: &'static str, house: Arc<House>) -> Self {
        Self { name, port: free_port(), papers: None, process: None, house }
    }

    /// The authority that vouches for it.
    pub fn authority(&self) -> &Path {
        &self.papers.as_ref().expect("it is encrypted").certificate
    }

    pub fn address(&self) -> SocketAddr {
        on_loopback(self.port)
    }

    pub fn url(&self) -> String {
        url(&[self.address()])
    }

    /// Starts it, for the first time or again, and waits until it takes connections.
    pub fn start(&mut self) {
        eventually("PostgreSQL takes connections", START, || {
            // After a kill -9 what is left of it may still hold the memory; then a new one gives up at once.
            if self.process.as_mut().is_none_or(Daemon::has_ended) {
                self.process = Some(Daemon::start(&format!("PostgreSQL {}", self.name), &self.server()));
            }
            let asked = self.tool("pg_isready").args(self.login()).stdout(Stdio::null()).status();
            asked.unwrap().success().then_some(())
        });
    }

    /// Orderly, but without waiting for anybody ("fast").
    pub fn stop(&mut self) {
        self.running().end(Signal::INT);
    }

    /// As after a crash, without a word to the disk ("immediate").
    pub fn stop_at_once(&mut self) {
        self.running().end(Signal::QUIT);
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        self.running().kill();
    }

    /// A standby becomes a server that takes writes, by itself.
    pub fn promote(&self) {
        run(self.tool("pg_ctl").args(["promote", "-w", "-D"]).arg(self.data()));
        // It must not wait for a standby of its own that nobody has made yet.
        self.follow("");
    }

    /// What a statement answers.
    #[track_caller]
    pub fn ask(&self, statement: &str) -> String {
        let mut psql = self.tool("psql");
        psql.args(self.login()).args(["-d", "postgres", "-XqAtc", statement]);
        run(&mut psql).trim().to_owned()
    }

    /// Nothing is acknowledged any more before the standby called so has it.
    fn follow(&self, standby: &str) {
        self.ask(&format!("ALTER SYSTEM SET synchronous_standby_names = '{standby}'"));
        self.ask("SELECT pg_reload_conf()");
    }

    fn server(&self) -> Command {
        let mut server = self.tool("postgres");
        server.arg("-D").arg(self.data()).args([
            "-c",
            &format!("port={}", self.port),
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "unix_socket_directories=",
            // What a standby is called where it is waited for.
            "-c",
            &format!("cluster_name={}", self.name),
            "-c",
            "shared_buffers=32MB",
        ]);
        if let Some(Papers { certificate, key }) = &self.papers {
            server.args(["-c", "ssl=on"]);
            server.args(["-c", &format!("ssl_cert_file={}", certificate.display())]);
            server.args(["-c", &format!("ssl_key_file={}", key.display())]);
        }
        server
    }

    fn login(&self) -> [String; 6] {
        ["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "pinhole"].map(str::to_owned)
    }

    fn tool(&self, name: &str) -> Command {
        self.house.ordinary_command(&programs().join(name))
    }

    fn data(&self) -> PathBuf {
        self.house.path().join(self.name)
    }

    fn running(&mut self) -> Daemon {
        self.process.take().expect("it was started")
    }
}

impl Pair {
    pub fn start() -> Self {
        let primary = Postgres::alone();
        let mut standby = Postgres::new("two", primary.house.clone());
        let copy = ["--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync"];
        run(primary.tool("pg_basebackup").args(primary.login()).args(copy).arg("-D").arg(standby.data()));
        standby.start();
        primary.follow(standby.name);
        eventually("the standby is waited for", START, || {
            (primary.ask("SELECT sync_state FROM pg_stat_replication") == "sync").then_some(())
        });
        Self { primary, standby }
    }

    /// Both, so that whoever takes writes is found.
    pub fn url(&self) -> String {
        url(&[self.primary.address(), self.standby.address()])
    }
}

fn url(servers: &[SocketAddr]) -> String {
    let servers: Vec<String> = servers.iter().map(ToString::to_string).collect();
    format!("postgres://pinhole@{}/pinhole?sslmode=disable", servers.join(","))
}

/// Where PostgreSQL's programs are: as `scripts/postgres` looks for them.
pub(super) fn programs() -> PathBuf {
    if let Some(folder) = std::env::var_os("PINHOLE_TEST_POSTGRES_BIN") {
        return folder.into();
    }
    let versions = std::fs::read_dir("/usr/lib/postgresql").map(Iterator::flatten).into_iter().flatten();
    let newest = versions.max_by_key(|version| version.file_name().to_string_lossy().parse::<u32>().ok());
    newest.expect("PostgreSQL is missing: apt-get install postgresql").path().join("bin")
}
