//! A PostgreSQL server for one test, standalone or with a synchronous standby. `fsync` stays on, as in
//! production.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::eventually;

use super::host::{free_port, loopback, run};
use super::tls_certificate::TlsCertificate;
use super::{Daemon, TempHome};

const START_TIMEOUT: Duration = Duration::from_secs(60);

/// The password of the roles that have one.
pub const PASSWORD: &str = "s3cret";

/// `pinhole` needs TLS; the other roles are named after what is particular to them.
const HBA: &str = "\
hostssl   all pinhole     127.0.0.1/32 trust
hostnossl all unencrypted 127.0.0.1/32 trust
host      all either      127.0.0.1/32 trust
host      all scram       127.0.0.1/32 scram-sha-256
host      all md5         127.0.0.1/32 md5
host      all cleartext   127.0.0.1/32 password
";

pub struct Postgres {
    name: &'static str,
    port: u16,
    /// With a certificate the server offers TLS.
    certificate: Option<TlsCertificate>,
    process: Option<Daemon>,
    home: Arc<TempHome>,
}

/// A primary with synchronous replication: it acknowledges no commit before the standby has it.
pub struct PostgresPair {
    pub primary: Postgres,
    pub standby: Postgres,
}

impl Postgres {
    /// A server with an empty database.
    pub fn standalone() -> Self {
        let mut server = Self::new("one", Arc::new(TempHome::unprivileged()));
        let initdb = ["--username=pinhole", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"];
        run(server.tool("initdb").args(initdb).arg("-D").arg(server.data()));
        server.start();
        server.query("CREATE DATABASE pinhole");
        server
    }

    /// A standalone server with a certificate for `localhost`. Each role shows another rule of `HBA`.
    pub fn with_tls() -> Self {
        let mut server = Self::standalone();
        for (role, password_encryption) in [
            ("unencrypted", "scram-sha-256"),
            ("either", "scram-sha-256"),
            ("scram", "scram-sha-256"),
            ("md5", "md5"),
            ("cleartext", "scram-sha-256"),
        ] {
            server.query(&format!(
                "SET password_encryption = '{password_encryption}';
                 CREATE ROLE {role} SUPERUSER LOGIN PASSWORD '{PASSWORD}'"
            ));
        }
        server.stop();
        server.certificate = Some(TlsCertificate::self_signed_in(&server.home));
        std::fs::write(server.data().join("pg_hba.conf"), HBA).unwrap();
        server.start();
        server
    }

    fn new(name: &'static str, home: Arc<TempHome>) -> Self {
        Self { name, port: free_port(), certificate: None, process: None, home }
    }

    /// The root certificate that clients verify the server with.
    pub fn root_certificate(&self) -> &Path {
        &self.certificate.as_ref().expect("the server uses TLS").cert_file
    }

    pub fn address(&self) -> SocketAddr {
        loopback(self.port)
    }

    pub fn url(&self) -> String {
        url(&[self.address()])
    }

    /// Starts an asynchronous standby of this server.
    pub fn standby(&self, name: &'static str) -> Self {
        let mut standby = Self::new(name, self.home.clone());
        self.copy_to(&mut standby);
        standby
    }

    /// Starts `standby` as a new copy of this server, which follows it.
    fn copy_to(&self, standby: &mut Self) {
        if standby.data().exists() {
            std::fs::remove_dir_all(standby.data()).unwrap();
        }
        let copy = ["--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync"];
        run(self.tool("pg_basebackup").args(self.connection_args()).args(copy).arg("-D").arg(standby.data()));
        standby.start();
    }

    /// Starts or restarts the server and waits until it accepts connections.
    pub fn start(&mut self) {
        eventually("PostgreSQL accepts connections", START_TIMEOUT, || {
            // After kill -9, orphaned backends may still hold the shared memory: then a new server exits at
            // once.
            if self.process.as_mut().is_none_or(Daemon::has_exited) {
                self.process =
                    Some(Daemon::start(&format!("PostgreSQL {}", self.name), &self.server_command()));
            }
            let status = self.tool("pg_isready").args(self.connection_args()).stdout(Stdio::null()).status();
            status.unwrap().success().then_some(())
        });
    }

    /// A "fast" shutdown: clean, without waiting for clients to disconnect.
    pub fn stop(&mut self) {
        self.take_process().stop(Signal::INT);
    }

    /// An "immediate" shutdown: no checkpoint, so the next start runs crash recovery.
    pub fn stop_immediate(&mut self) {
        self.take_process().stop(Signal::QUIT);
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        self.take_process().kill();
    }

    /// Promotes a standby to a primary without a standby of its own.
    pub fn promote(&self) {
        run(self.tool("pg_ctl").args(["promote", "-w", "-D"]).arg(self.data()));
        // The copied setting names a synchronous standby that does not exist; commits would wait for it.
        self.set_synchronous_standby("");
    }

    /// Executes a statement and returns psql's output.
    #[track_caller]
    pub fn query(&self, statement: &str) -> String {
        self.query_in("postgres", statement)
    }

    /// The same in another database.
    #[track_caller]
    pub fn query_in(&self, database: &str, statement: &str) -> String {
        let mut psql = self.tool("psql");
        psql.args(self.connection_args()).args(["-d", database, "-XqAtc", statement]);
        run(&mut psql).trim().to_owned()
    }

    /// From now on commits wait for the standby with this name; an empty name turns that off.
    fn set_synchronous_standby(&self, standby: &str) {
        self.query(&format!("ALTER SYSTEM SET synchronous_standby_names = '{standby}'"));
        self.query("SELECT pg_reload_conf()");
        // Commits wait once the checkpointer has applied the setting, which it does before its next
        // checkpoint.
        let checkpointer = self.query("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'");
        let checkpointer = Pid::from_raw(checkpointer.parse().unwrap()).unwrap();
        kill_process(checkpointer, Signal::HUP).unwrap();
        self.query("CHECKPOINT");
    }

    fn server_command(&self) -> Command {
        let mut server = self.tool("postgres");
        server.arg("-D").arg(self.data()).args([
            "-c",
            &format!("port={}", self.port),
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "unix_socket_directories=",
            // The name of a standby in `synchronous_standby_names`.
            "-c",
            &format!("cluster_name={}", self.name),
            "-c",
            "shared_buffers=32MB",
        ]);
        if let Some(TlsCertificate { cert_file, key_file }) = &self.certificate {
            server.args(["-c", "ssl=on"]);
            server.args(["-c", &format!("ssl_cert_file={}", cert_file.display())]);
            server.args(["-c", &format!("ssl_key_file={}", key_file.display())]);
        }
        server
    }

    fn connection_args(&self) -> [String; 6] {
        ["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "pinhole"].map(str::to_owned)
    }

    fn tool(&self, name: &str) -> Command {
        self.home.unprivileged_command(&bin_dir().join(name))
    }

    fn data(&self) -> PathBuf {
        self.home.path().join(self.name)
    }

    fn take_process(&mut self) -> Daemon {
        self.process.take().expect("the server was started")
    }
}

impl PostgresPair {
    pub fn start() -> Self {
        let primary = Postgres::standalone();
        let standby = Postgres::new("two", primary.home.clone());
        let mut pair = Self { primary, standby };
        pair.ensure_standby();
        pair
    }

    /// `kill -9` of the primary, and promotion of its standby. The new primary has no standby until
    /// `ensure_standby`.
    pub fn fail_over(&mut self) {
        self.primary.kill();
        self.standby.promote();
        std::mem::swap(&mut self.primary, &mut self.standby);
    }

    /// Starts a standby as a new copy of the primary, unless one runs.
    pub fn ensure_standby(&mut self) {
        let Self { primary, standby } = self;
        if standby.process.is_some() {
            return;
        }
        primary.copy_to(standby);
        primary.set_synchronous_standby(standby.name);
        eventually("replication is synchronous", START_TIMEOUT, || {
            (primary.query("SELECT sync_state FROM pg_stat_replication") == "sync").then_some(())
        });
    }

    /// Names both servers, so that the driver finds the one that accepts writes.
    pub fn url(&self) -> String {
        url(&[self.primary.address(), self.standby.address()])
    }
}

/// Of several servers that a node chooses from.
pub fn database_url(servers: &[&Postgres]) -> String {
    url(&servers.iter().map(|server| server.address()).collect::<Vec<_>>())
}

fn url(servers: &[SocketAddr]) -> String {
    let servers: Vec<String> = servers.iter().map(ToString::to_string).collect();
    format!("postgres://pinhole@{}/pinhole?sslmode=disable", servers.join(","))
}

/// The folder of PostgreSQL's programs, found the same way as in `scripts/postgres`.
pub(super) fn bin_dir() -> PathBuf {
    if let Some(folder) = std::env::var_os("PINHOLE_TEST_POSTGRES_BIN") {
        return folder.into();
    }
    let versions = std::fs::read_dir("/usr/lib/postgresql").map(Iterator::flatten).into_iter().flatten();
    let newest = versions.max_by_key(|version| version.file_name().to_string_lossy().parse::<u32>().ok());
    newest.expect("PostgreSQL is missing: apt-get install postgresql").path().join("bin")
}
