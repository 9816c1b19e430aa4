//! Where servers live during a test: a temporary folder, and ports nobody else has.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};

use tempfile::TempDir;

/// A folder that is gone with the last of those who live there.
#[derive(Debug)]
pub struct House {
    folder: TempDir,
}

impl House {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// For servers that refuse to run as root: then the folder, and everything they do, is somebody's who may
    /// do little.
    pub fn for_ordinary_people() -> Self {
        let house = Self::new();
        if is_root() {
            run(Command::new("chown").arg("nobody").arg(house.path()));
        }
        house
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A program run as whom the folder belongs to, in there.
    pub fn ordinary_command(&self, program: &Path) -> Command {
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

impl Default for House {
    fn default() -> Self {
        Self::new()
    }
}

/// A port to come back to after a crash, given out once. It is below those the system gives to outgoing
/// connections, since one of them might take it while its owner is away.
pub(super) fn free_port() -> u16 {
    static FIRST: LazyLock<u16> = LazyLock::new(|| fastrand::u16(15_000..28_000));
    static NEXT: AtomicU16 = AtomicU16::new(0);
    loop {
        let port = *FIRST + NEXT.fetch_add(1, Ordering::Relaxed) % 4_000;
        if TcpListener::bind(on_loopback(port)).is_ok() {
            return port;
        }
    }
}

pub(super) fn on_loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// To its end, which must be a good one. Returns what it printed.
#[track_caller]
pub(super) fn run(command: &mut Command) -> String {
    String::from_utf8_lossy(&output(command)).into_owned()
}

/// The same, byte by byte.
#[track_caller]
pub(super) fn output(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} ended with {}: {words}", output.status);
    output.stdout
}

/// A setting that the test script makes.
pub(crate) fn promised(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set: scripts/test starts a server and sets it"))
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
