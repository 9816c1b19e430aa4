//! The service under test: the real binary with its own port and folder, or an address given from outside.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::Client;
use crate::cluster::Balancer;
use crate::daemon::Daemon;
use crate::stores::Stores;

pub struct Service {
    base: String,
    /// One, mostly; none if the service is somebody else's.
    nodes: Vec<Node>,
    /// In front of several.
    _balancer: Option<Balancer>,
    stores: Stores,
    /// Removed with the service, unless somebody else owns the folder.
    _owned: Option<TempDir>,
}

struct Node {
    base: String,
    process: Daemon,
    data_dir: PathBuf,
}

impl Service {
    /// The one service all stories without special flags share: `PINHOLE_E2E_URL`, or our own.
    pub fn shared() -> &'static Service {
        static SHARED: LazyLock<Service> = LazyLock::new(|| match std::env::var("PINHOLE_E2E_URL") {
            Ok(url) => Service {
                base: url.trim_end_matches('/').to_owned(),
                nodes: Vec::new(),
                _balancer: None,
                stores: Stores::none(),
                _owned: None,
            },
            Err(_) => Service::lasting(&[]),
        });
        &SHARED
    }

    /// A service of one's own, gone when dropped.
    pub fn start(flags: &[&str]) -> Service {
        let dir = tempfile::tempdir().unwrap();
        Self::start_in(dir.path(), flags).owning(dir)
    }

    /// The same on one node, for stories that look at what a single node does or keeps.
    pub fn alone(flags: &[&str]) -> Service {
        let dir = tempfile::tempdir().unwrap();
        Self::of(1, Stores::of(dir.path()), dir.path(), flags, "").owning(dir)
    }

    /// A service on a folder that was there before and stays afterwards.
    pub fn start_in(data_dir: &Path, flags: &[&str]) -> Service {
        Self::of(Stores::nodes(), Stores::of(data_dir), data_dir, flags, "")
    }

    /// One node with variables of its own: one of many has its own way to what they share.
    pub fn with_environment(data_dir: &Path, flags: &[&str], variables: &[(String, String)]) -> Service {
        let mut command = serve_in(data_dir, flags);
        command.envs(variables.iter().cloned());
        Node::start(&command, data_dir, "").into()
    }

    /// A demo, which makes its own folder in `temporary`.
    pub fn demo(temporary: &Path, flags: &[&str]) -> Service {
        let mut command = Command::new(program());
        command.env("TMPDIR", temporary).args(["demo", "--log-format", "json"]).args(flags);
        let mut service = Service::from(Node::start(&command, temporary, ""));
        let folder = service.announced("data_dir").expect("the demo says where it is");
        service.nodes[0].data_dir = folder.into();
        service
    }

    /// A service for a static: nobody drops those, so the watchdog sweeps up and failures show its log.
    pub fn lasting(flags: &[&str]) -> Service {
        let dir = tempfile::tempdir().unwrap().keep();
        let sweep = dir.to_str().unwrap();
        let service = Self::of(Stores::nodes(), Stores::of(&dir), &dir, flags, sweep);
        let log = service.own().process.log().clone();
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            before(panic);
            eprintln!("{}", log.told("the last of the service's log", 20));
        }));
        service
    }

    /// The folders of further nodes are in that of the first.
    fn of(count: usize, stores: Stores, data_dir: &Path, flags: &[&str], sweep: &str) -> Service {
        let shared = stores.flags();
        let flags: Vec<&str> = shared.iter().map(String::as_str).chain(flags.iter().copied()).collect();
        let folder = |n| if n == 0 { data_dir.to_owned() } else { data_dir.join(format!("node{n}")) };
        let start = |n| Node::start(&serve_in(&folder(n), &flags), &folder(n), sweep);
        let nodes: Vec<Node> = (0..count).map(start).collect();
        let addresses: Vec<SocketAddr> = nodes.iter().map(Node::address).collect();
        let balancer = (count > 1).then(|| Balancer::of_nodes(&addresses));
        let base = balancer.as_ref().map_or(nodes[0].base.as_str(), Balancer::base).to_owned();
        Service { base, nodes, _balancer: balancer, stores, _owned: None }
    }

    fn owning(self, folder: TempDir) -> Service {
        Service { _owned: Some(folder), ..self }
    }

    /// `http://127.0.0.1:40123`, without a slash at the end.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Where a node of it listens, for those who speak with it past any balancer.
    pub fn address(&self) -> SocketAddr {
        socket(self.nodes.first().map_or(&self.base, |node| &node.base))
    }

    /// Somebody without a credential who asks one node, past any balancer.
    pub fn node(&self) -> Client {
        Client::anonymous(self.nodes.first().map_or(&self.base, |node| &node.base))
    }

    /// Somebody without a credential.
    pub fn anyone(&self) -> Client {
        Client::anonymous(&self.base)
    }

    /// Somebody who has just joined under a name of their own that begins with `prefix`.
    pub fn newcomer(&self, prefix: &str) -> Client {
        self.anyone().join(&crate::unique(prefix))
    }

    #[track_caller]
    pub fn assert_alive(&self) {
        self.anyone().get("/readyz").expect(200);
    }

    pub fn pid(&self) -> i32 {
        self.own().process.pid().as_raw_nonzero().get()
    }

    pub fn data_dir(&self) -> &Path {
        &self.own().data_dir
    }

    /// What the service said of itself when it was ready: an address, mostly.
    pub fn announced(&self, field: &str) -> Option<String> {
        self.log().iter().find_map(|line| announced(line, field))
    }

    /// The last lines the service logged.
    pub fn log(&self) -> Vec<String> {
        self.own();
        self.nodes.iter().flat_map(|node| node.process.log().lines()).collect()
    }

    /// Looks through every file the service has written.
    #[track_caller]
    pub fn assert_nowhere_on_disk(&self, secret: &[u8], what: &str) {
        let files = self.local_files("");
        for path in &files {
            let bytes = match std::fs::read(path) {
                Ok(bytes) => bytes,
                // An image on its way into the cache has got its name meanwhile: look again.
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return self.assert_nowhere_on_disk(secret, what);
                }
                Err(error) => panic!("{}: {error}", path.display()),
            };
            let found = bytes.windows(secret.len()).any(|window| window == secret);
            assert!(!found, "{what} is kept in {}", path.display());
        }
        assert!(!files.is_empty(), "a service that wrote no file cannot have kept anything");
        for (name, bytes) in self.stores.contents() {
            let found = bytes.windows(secret.len()).any(|window| window == secret);
            assert!(!found, "{what} is kept in {name}");
        }
    }

    /// Every file below a folder of the data folder, and what is kept elsewhere in its place.
    pub fn files(&self, folder: &str) -> Vec<PathBuf> {
        let elsewhere = self.stores.contents().into_iter().map(|(name, _)| self.data_dir().join(name));
        let folder_of_it = self.data_dir().join(folder);
        let elsewhere = elsewhere.filter(|path| path.starts_with(&folder_of_it));
        self.local_files(folder).into_iter().chain(elsewhere).collect()
    }

    /// What vanishes while we look is not there.
    fn local_files(&self, folder: &str) -> Vec<PathBuf> {
        let (mut folders, mut files) = (vec![self.data_dir().join(folder)], Vec::new());
        while let Some(folder) = folders.pop() {
            let Ok(entries) = std::fs::read_dir(folder) else { continue };
            let paths = entries.map(|entry| entry.unwrap().path());
            let (inner, found): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
            folders.extend(inner);
            files.extend(found);
        }
        files
    }

    /// The most memory the process ever held, in MiB.
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
    }

    /// Asks the service to end, as an operator does.
    pub fn terminate(&self) {
        self.own();
        self.nodes.iter().for_each(|node| node.process.signal(Signal::TERM));
    }

    /// Waits for the end that `terminate` asked for, and asserts that it is an orderly one.
    #[track_caller]
    pub fn assert_ends_well(mut self) {
        assert!(!self.nodes.is_empty(), "only our own service can be waited for");
        for node in &mut self.nodes {
            let status = node.process.ended();
            assert!(status.success(), "{}", node.process.log().told(&format!("it ended with {status}"), 200));
        }
    }

    /// Kills the service in the middle of whatever it is doing, and waits until it is gone.
    pub fn kill(self) {
        drop(self);
    }

    fn own(&self) -> &Node {
        self.nodes.first().expect("this story needs a service of its own, not PINHOLE_E2E_URL")
    }
}

impl From<Node> for Service {
    fn from(node: Node) -> Self {
        Self {
            base: node.base.clone(),
            nodes: vec![node],
            _balancer: None,
            stores: Stores::none(),
            _owned: None,
        }
    }
}

impl Node {
    fn start(command: &Command, data_dir: &Path, sweep: &str) -> Self {
        let process = Daemon::start_and_sweep("the service", command, sweep);
        let base = process.says(|line| announced(line, "address"));
        Self { base, process, data_dir: data_dir.to_owned() }
    }

    fn address(&self) -> SocketAddr {
        socket(&self.base)
    }
}

fn socket(base: &str) -> SocketAddr {
    reqwest::Url::parse(base).unwrap().socket_addrs(|| None).unwrap()[0]
}

fn serve_in(data_dir: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data_dir);
    if !flags.contains(&"--rate-limits") {
        command.args(["--rate-limits", "off"]);
    }
    command.args(flags);
    command
}

/// The program under test.
pub fn program() -> PathBuf {
    if let Some(path) = std::env::var_os("PINHOLE_E2E_BIN") {
        return path.into();
    }
    let exe = std::env::current_exe().unwrap();
    let path = exe.ancestors().nth(2).unwrap().join("pinhole");
    assert!(path.exists(), "{} is missing: build it with `cargo build -p server`", path.display());
    path
}

/// A field of the event with which the service announces itself.
fn announced(line: &str, field: &str) -> Option<String> {
    let event: Value = serde_json::from_str(line).ok()?;
    let value = event.get(field).filter(|_| event["message"] == "ready")?;
    Some(value.as_str()?.trim_end_matches('/').to_owned())
}
