//! Resources of the test machine: temporary folders, loopback ports, programs, environment variables.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};

use tempfile::TempDir;

/// A temporary folder for one or more servers, removed on drop.
#[derive(Debug)]
pub struct TempHome {
    folder: TempDir,
}

impl TempHome {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// For servers that refuse to run as root: when the tests run as root, an unprivileged user owns the
    /// folder.
    pub fn unprivileged() -> Self {
        let home = Self::new();
        if is_root() {
            run(Command::new("chown").arg("nobody").arg(home.path()));
        }
        home
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a program in the folder, as the user that [`TempHome::unprivileged`] gave it to.
    pub fn unprivileged_command(&self, program: &Path) -> Command {
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(self.path()).env("HOME", self.path());
        command
    }
}

impl Default for TempHome {
    fn default() -> Self {
        Self::new()
    }
}

/// A port that no other call returns, so a server can be restarted on it. It lies below the ephemeral range:
/// an outgoing connection cannot take it while the server is down.
pub(super) fn free_port() -> u16 {
    free_ports(1)
}

/// The first of `count` consecutive ports like [`free_port`].
pub fn free_ports(count: u16) -> u16 {
    static FIRST: LazyLock<u16> = LazyLock::new(|| fastrand::u16(15_000..28_000));
    static NEXT: AtomicU16 = AtomicU16::new(0);
    loop {
        let first = *FIRST + NEXT.fetch_add(count, Ordering::Relaxed) % 4_000;
        if (first..first + count).all(|port| TcpListener::bind(loopback(port)).is_ok()) {
            return first;
        }
    }
}

pub(super) fn loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Runs a command that must succeed and returns its stdout as text.
#[track_caller]
pub(super) fn run(command: &mut Command) -> String {
    String::from_utf8_lossy(&output(command)).into_owned()
}

/// Runs a command that must succeed and returns its stdout.
#[track_caller]
pub(super) fn output(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} exited with {}: {stderr}", output.status);
    output.stdout
}

/// An environment variable that the test script sets.
pub(crate) fn required_env(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set: scripts/test starts a server and sets it"))
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
