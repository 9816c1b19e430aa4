//! The service under test: the real binary with its own port and data folder, or the one at
//! `PINHOLE_E2E_URL`.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::cluster::Balancer;
use crate::daemon::Daemon;
use crate::poll::eventually;
use crate::stores::Stores;
use crate::{Client, Response};

pub struct Service {
    base: String,
    /// Usually one; none for a service at `PINHOLE_E2E_URL`.
    nodes: Vec<Node>,
    /// Set with more than one node.
    _balancer: Option<Balancer>,
    stores: Stores,
    /// The data folder, if it is to be removed with the service.
    _temp_dir: Option<TempDir>,
}

struct Node {
    base: String,
    process: Daemon,
    data_dir: PathBuf,
}

impl Service {
    /// The service shared by all tests that need no special flags: the one at `PINHOLE_E2E_URL`, or a new
    /// one.
    pub fn shared() -> &'static Service {
        static SHARED: LazyLock<Service> = LazyLock::new(|| match std::env::var("PINHOLE_E2E_URL") {
            Ok(url) => Service {
                base: url.trim_end_matches('/').to_owned(),
                nodes: Vec::new(),
                _balancer: None,
                stores: Stores::embedded(),
                _temp_dir: None,
            },
            Err(_) => Service::start_static(&[]),
        });
        &SHARED
    }

    /// A new service, which ends when it is dropped.
    pub fn start(flags: &[&str]) -> Service {
        let dir = tempfile::tempdir().unwrap();
        Self::start_in(dir.path(), flags).with_temp_dir(dir)
    }

    /// Like `start`, on one node, for tests of state that each node keeps for itself.
    pub fn single_node(flags: &[&str]) -> Service {
        let dir = tempfile::tempdir().unwrap();
        Self::start_nodes(1, Stores::of(dir.path()), dir.path(), flags, "").with_temp_dir(dir)
    }

    /// A service on an existing folder, which is not removed.
    pub fn start_in(data_dir: &Path, flags: &[&str]) -> Service {
        Self::start_nodes(Stores::node_count(), Stores::of(data_dir), data_dir, flags, "")
    }

    /// One node with environment variables of its own, such as the endpoint of a proxy.
    pub fn with_environment(data_dir: &Path, flags: &[&str], variables: &[(String, String)]) -> Service {
        Self::try_with_environment(data_dir, flags, variables).unwrap_or_else(|log| panic!("{log}"))
    }

    /// Like `with_environment`; the error is the log of a service that exits instead of becoming ready.
    pub fn try_with_environment(
        data_dir: &Path,
        flags: &[&str],
        variables: &[(String, String)],
    ) -> Result<Service, String> {
        let mut command = serve_in(data_dir, flags);
        command.envs(variables.iter().cloned());
        Node::try_start(&command, data_dir, "").map(Service::from)
    }

    /// `pinhole demo`, which creates its data folder in `temporary`.
    pub fn demo(temporary: &Path, flags: &[&str]) -> Service {
        let mut command = Command::new(program());
        command.env("TMPDIR", temporary).args(["demo", "--log-format", "json"]).args(flags);
        let mut service = Service::from(Node::start(&command, temporary, ""));
        let folder = service.ready_field("data_dir").expect("the demo logs its data folder");
        service.nodes[0].data_dir = folder.into();
        service
    }

    /// A service for a `static`, which is never dropped: the watchdog removes its folder, and a panic hook
    /// prints its log.
    pub fn start_static(flags: &[&str]) -> Service {
        let dir = tempfile::tempdir().unwrap().keep();
        let cleanup = dir.to_str().unwrap();
        let service = Self::start_nodes(Stores::node_count(), Stores::of(&dir), &dir, flags, cleanup);
        let log = service.first_node().process.log().clone();
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            previous(panic);
            eprintln!("{}", log.tail("the last lines of the service's log", 20));
        }));
        service
    }

    /// The data folders of further nodes are inside that of the first.
    fn start_nodes(count: usize, stores: Stores, data_dir: &Path, flags: &[&str], cleanup: &str) -> Service {
        let shared = stores.flags();
        let flags: Vec<&str> = shared.iter().map(String::as_str).chain(flags.iter().copied()).collect();
        let folder = |n| if n == 0 { data_dir.to_owned() } else { data_dir.join(format!("node{n}")) };
        let start = |n| Node::start(&serve_in(&folder(n), &flags), &folder(n), cleanup);
        let nodes: Vec<Node> = (0..count).map(start).collect();
        let addresses: Vec<SocketAddr> = nodes.iter().map(Node::address).collect();
        let balancer = (count > 1).then(|| Balancer::for_nodes(&addresses));
        let base = balancer.as_ref().map_or(nodes[0].base.as_str(), Balancer::base).to_owned();
        Service { base, nodes, _balancer: balancer, stores, _temp_dir: None }
    }

    fn with_temp_dir(self, folder: TempDir) -> Service {
        Service { _temp_dir: Some(folder), ..self }
    }

    /// `http://127.0.0.1:40123`, without a slash at the end.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The address of the first node, bypassing the balancer.
    pub fn address(&self) -> SocketAddr {
        socket_addr(self.nodes.first().map_or(&self.base, |node| &node.base))
    }

    /// A client without a session of the first node, bypassing the balancer.
    pub fn anonymous_on_node(&self) -> Client {
        Client::anonymous(self.nodes.first().map_or(&self.base, |node| &node.base))
    }

    /// A client without a session.
    pub fn anonymous(&self) -> Client {
        Client::anonymous(&self.base)
    }

    /// A client with a session of a new user whose name begins with `prefix`.
    pub fn new_user(&self, prefix: &str) -> Client {
        self.anonymous().join(&crate::unique(prefix))
    }

    /// Runs a command of the operator, such as `user list`, beside the service; returns its JSON.
    #[track_caller]
    pub fn operator(&self, args: &[&str]) -> Value {
        let output = self.try_operator(args);
        let printed = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{args:?}: {}", printed(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", printed(&output.stdout)))
    }

    /// The same for a command that may fail.
    pub fn try_operator(&self, args: &[&str]) -> Output {
        let mut command = Command::new(program());
        command.args(args).args(["--json", "--data-dir"]).arg(self.data_dir());
        command.args(self.store_flags()).output().unwrap()
    }

    /// The flags of a command that runs beside the service.
    pub fn store_flags(&self) -> Vec<String> {
        self.stores.flags()
    }

    /// A new user with this role.
    pub fn new_user_with_role(&self, role: &str) -> Client {
        let user = self.new_user(role);
        self.operator(&["user", "role", user.username(), role]);
        user
    }

    #[track_caller]
    /// The service checks itself once a second at most.
    pub fn assert_ready(&self) {
        self.wait_for_readiness(200);
    }

    /// The first answer of the readiness check with this status.
    pub fn wait_for_readiness(&self, status: u16) -> Response {
        eventually(&format!("/readyz is {status}"), Duration::from_secs(10), || {
            Some(self.anonymous().get("/readyz")).filter(|response| response.status == status)
        })
    }

    pub fn pid(&self) -> i32 {
        self.first_node().process.pid().as_raw_nonzero().get()
    }

    pub fn data_dir(&self) -> &Path {
        &self.first_node().data_dir
    }

    /// A field of the `ready` log event, such as an address.
    pub fn ready_field(&self, field: &str) -> Option<String> {
        self.log().iter().find_map(|line| ready_field(line, field))
    }

    /// The last log lines of all nodes.
    pub fn log(&self) -> Vec<String> {
        self.first_node();
        self.nodes.iter().flat_map(|node| node.process.log().lines()).collect()
    }

    /// Waits until the last log lines contain all of `texts`: the log is read while the service writes it.
    #[track_caller]
    pub fn assert_logged(&self, texts: &[&str]) {
        crate::eventually(&format!("the log has {texts:?}"), std::time::Duration::from_secs(30), || {
            let log = self.log().join("\n");
            texts.iter().all(|text| log.contains(text)).then_some(())
        });
    }

    /// Asserts that no file, database row or object of the service contains `secret`.
    #[track_caller]
    pub fn assert_nowhere_on_disk(&self, secret: &[u8], what: &str) {
        let files = self.local_files("");
        for path in &files {
            let bytes = match std::fs::read(path) {
                Ok(bytes) => bytes,
                // A temporary cache file has been renamed meanwhile: list the files again.
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return self.assert_nowhere_on_disk(secret, what);
                }
                Err(error) => panic!("{}: {error}", path.display()),
            };
            let found = bytes.windows(secret.len()).any(|window| window == secret);
            assert!(!found, "{what} is stored in {}", path.display());
        }
        assert!(!files.is_empty(), "the service has written no file at all");
        for (name, bytes) in self.stores.contents() {
            let found = bytes.windows(secret.len()).any(|window| window == secret);
            assert!(!found, "{what} is stored in {name}");
        }
    }

    /// Every file below a folder of the data folder, and the objects of a remote store in its place.
    pub fn files(&self, folder: &str) -> Vec<PathBuf> {
        let remote = self.stores.contents().into_iter().map(|(name, _)| self.data_dir().join(name));
        let root = self.data_dir().join(folder);
        let remote = remote.filter(|path| path.starts_with(&root));
        self.local_files(folder).into_iter().chain(remote).collect()
    }

    /// A folder that is removed during the listing counts as empty.
    fn local_files(&self, folder: &str) -> Vec<PathBuf> {
        let (mut folders, mut files) = (vec![self.data_dir().join(folder)], Vec::new());
        while let Some(folder) = folders.pop() {
            let Ok(entries) = std::fs::read_dir(folder) else { continue };
            // Not the operator's socket.
            let paths =
                entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir() || path.is_file());
            let (inner, found): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
            folders.extend(inner);
            files.extend(found);
        }
        files
    }

    /// The peak resident memory of the first node (`VmHWM`), in MiB.
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
    }

    /// Sends SIGTERM to every node.
    pub fn terminate(&self) {
        self.first_node();
        self.nodes.iter().for_each(|node| node.process.signal(Signal::TERM));
    }

    /// Sends SIGHUP to every node.
    pub fn hang_up(&self) {
        self.first_node();
        self.nodes.iter().for_each(|node| node.process.signal(Signal::HUP));
    }

    /// Waits for the exit after `terminate` and asserts that its status is 0.
    #[track_caller]
    pub fn assert_clean_exit(mut self) {
        assert!(!self.nodes.is_empty(), "the service at PINHOLE_E2E_URL cannot be waited for");
        for node in &mut self.nodes {
            let status = node.process.wait_for_exit();
            assert!(status.success(), "{}", node.process.log().tail(&format!("exited with {status}"), 200));
        }
    }

    /// `kill -9` of every node, and waits for their exit.
    pub fn kill(self) {
        drop(self);
    }

    fn first_node(&self) -> &Node {
        self.nodes.first().expect("this test needs a service of its own, not PINHOLE_E2E_URL")
    }
}

impl From<Node> for Service {
    fn from(node: Node) -> Self {
        Self {
            base: node.base.clone(),
            nodes: vec![node],
            _balancer: None,
            stores: Stores::embedded(),
            _temp_dir: None,
        }
    }
}

impl Node {
    fn start(command: &Command, data_dir: &Path, cleanup: &str) -> Self {
        Self::try_start(command, data_dir, cleanup).unwrap_or_else(|log| panic!("{log}"))
    }

    /// The error is the log of a process that exits instead of becoming ready.
    fn try_start(command: &Command, data_dir: &Path, cleanup: &str) -> Result<Self, String> {
        let process = Daemon::start_with_cleanup("the service", command, cleanup);
        let base = process.wait_for_line_or_exit(|line| ready_field(line, "address"))?;
        Ok(Self { base, process, data_dir: data_dir.to_owned() })
    }

    fn address(&self) -> SocketAddr {
        socket_addr(&self.base)
    }
}

fn socket_addr(base: &str) -> SocketAddr {
    reqwest::Url::parse(base).unwrap().socket_addrs(|| None).unwrap()[0]
}

fn serve_in(data_dir: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data_dir);
    if !flags.contains(&"--rate-limits") {
        command.args(["--rate-limits", "off"]);
    }
    // The default is a share of the disk, and the disk of the tests may be fuller than that.
    if !flags.contains(&"--cache-min-free") {
        command.args(["--cache-min-free", "0"]);
    }
    command.args(flags);
    command
}

/// The path of the `pinhole` binary.
pub fn program() -> PathBuf {
    if let Some(path) = std::env::var_os("PINHOLE_E2E_BIN") {
        return path.into();
    }
    let exe = std::env::current_exe().unwrap();
    let path = exe.ancestors().nth(2).unwrap().join("pinhole");
    assert!(path.exists(), "{} is missing: build it with `cargo build -p server`", path.display());
    path
}

/// A field of the `ready` event, if this log line is one.
fn ready_field(line: &str, field: &str) -> Option<String> {
    let event: Value = serde_json::from_str(line).ok()?;
    let value = event.get(field).filter(|_| event["message"] == "ready")?;
    Some(value.as_str()?.trim_end_matches('/').to_owned())
}
