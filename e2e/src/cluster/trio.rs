//! Three nodes of SeaweedFS that keep everything twice, and one door to all of them.
//!
//! Which object lies where is kept in a database that all three share: left to themselves they tell each
//! other a moment after a write is acknowledged, and whoever dies in that moment takes it along.

use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::{Client, eventually};

use super::house::{free_port, on_loopback, promised, run};
use super::{Balancer, Bucket, Daemon, House, Postgres};

const START: Duration = Duration::from_secs(90);
const KEY: &str = "pinhole-test";
const SECRET: &str = "pinhole-test-secret";

pub struct Trio {
    nodes: [Node; 3],
    door: Balancer,
    house: House,
}

/// What runs on one machine. Each program has a port for all and one for its own kind.
struct Node {
    name: String,
    master: [u16; 2],
    volume: [u16; 2],
    filer: [u16; 2],
    door: [u16; 2],
    programs: Vec<Daemon>,
}

impl Trio {
    /// In the order in which they bear to be started.
    pub fn start(database: &Postgres) -> Self {
        database.ask("CREATE DATABASE weed");
        let house = House::new();
        std::fs::write(house.path().join("s3.json"), identities()).unwrap();
        let nodes: [Node; 3] = std::array::from_fn(|n| Node::new(format!("store{n}")));
        let door = Balancer::of_doors(&nodes.each_ref().map(|node| on_loopback(node.door[0])));
        let mut trio = Self { nodes, door, house };
        for n in 0..3 {
            let home = trio.house.path().join(&trio.nodes[n].name);
            for folder in ["master", "volume"] {
                std::fs::create_dir_all(home.join(folder)).unwrap();
            }
            std::fs::write(home.join("filer.toml"), filer_settings(database.address())).unwrap();
            trio.run_master(n);
        }
        trio.leader();
        (0..3).for_each(|n| trio.run_volume(n));
        (0..3).for_each(|n| trio.run_filer(n));
        (0..3).for_each(|n| trio.run_door(n));
        trio.make_bucket();
        trio
    }

    /// The bucket, by the door to all three.
    pub fn bucket(&self) -> Bucket {
        let keys = [
            ("AWS_ACCESS_KEY_ID", KEY),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ALLOW_HTTP", "true"),
        ];
        Bucket::new("s3://photos/pinhole".into(), &keys).through(self.door.address())
    }

    /// Which of them leads the others.
    pub fn leader(&self) -> usize {
        eventually("three stores choose a leader", START, || {
            self.nodes.iter().find_map(|node| {
                let asked = Client::anonymous(&format!("http://{}", on_loopback(node.master[0])));
                let answer = asked.request("GET", "/cluster/status").try_send().ok()?;
                let status: Value = serde_json::from_slice(&answer.bytes).ok()?;
                let leader = status["Leader"].as_str()?;
                self.nodes.iter().position(|node| leader == address(node.master))
            })
        })
    }

    /// `kill -9` of everything on one machine.
    pub fn kill(&mut self, n: usize) {
        self.nodes[n].programs.drain(..).for_each(Daemon::kill);
    }

    /// The machine is there again, with what it has on its disk.
    pub fn revive(&mut self, n: usize) {
        self.run_master(n);
        self.run_volume(n);
        self.run_filer(n);
        self.run_door(n);
    }

    fn run_master(&mut self, n: usize) {
        let [port, own] = self.nodes[n].master;
        let arguments = [
            format!("-mdir={}", self.nodes[n].path(&self.house, "master")),
            format!("-peers={}", self.masters()),
            format!("-port={port}"),
            format!("-port.grpc={own}"),
        ];
        let habits = [
            "-defaultReplication=001",
            "-electionTimeout=1s",
            "-heartbeatInterval=100ms",
            "-volumeSizeLimitMB=64",
            "-telemetry=false",
        ];
        self.run(n, "master", &[&arguments.each_ref().map(String::as_str)[..], &habits].concat());
    }

    fn run_volume(&mut self, n: usize) {
        let [port, own] = self.nodes[n].volume;
        let arguments = [
            format!("-dir={}", self.nodes[n].path(&self.house, "volume")),
            format!("-master={}", self.masters()),
            format!("-port={port}"),
            format!("-port.grpc={own}"),
        ];
        let habits = ["-max=100", "-preStopSeconds=0", "-minFreeSpace=1"];
        self.run(n, "volume", &[&arguments.each_ref().map(String::as_str)[..], &habits].concat());
    }

    /// Waits until it listens: one that meets another which is known but does not listen yet ends itself.
    fn run_filer(&mut self, n: usize) {
        let [port, own] = self.nodes[n].filer;
        let arguments = [
            format!("-master={}", self.masters()),
            format!("-port={port}"),
            format!("-port.grpc={own}"),
            format!("-localSocket={}", self.nodes[n].path(&self.house, "filer.sock")),
        ];
        let habits = ["-defaultReplicaPlacement=001"];
        self.run(n, "filer", &[&arguments.each_ref().map(String::as_str)[..], &habits].concat());
        self.nodes[n].wait_for(port);
    }

    /// Its own filer comes first; the others are asked when it does not answer.
    fn run_door(&mut self, n: usize) {
        let [port, own] = self.nodes[n].door;
        let filers = [n, (n + 1) % 3, (n + 2) % 3].map(|n| address(self.nodes[n].filer));
        let arguments = [
            format!("-filer={}", filers.join(",")),
            format!("-port={port}"),
            format!("-port.grpc={own}"),
            format!("-config={}", self.house.path().join("s3.json").display()),
            format!("-localSocket={}", self.nodes[n].path(&self.house, "s3.sock")),
        ];
        let habits = ["-port.iceberg=0", "-port.lance=0", "-autoCreateBucket=false"];
        self.run(n, "s3", &[&arguments.each_ref().map(String::as_str)[..], &habits].concat());
        self.nodes[n].wait_for(port);
    }

    fn run(&mut self, n: usize, program: &str, arguments: &[&str]) {
        let node = &mut self.nodes[n];
        let home = self.house.path().join(&node.name);
        let mut command = Command::new(promised("PINHOLE_TEST_WEED"));
        command.arg(format!("-config_dir={}", home.display())).arg("-logtostderr=true").arg(program);
        command.args(["-ip=127.0.0.1", "-ip.bind=127.0.0.1"]).args(arguments);
        // Three places for new objects at a time, so that with one machine gone there is one left.
        command.env("WEED_MASTER_VOLUME_GROWTH_COPY_2", "3").current_dir(&home);
        node.programs.push(Daemon::start(&format!("weed {program} of {}", node.name), &command));
    }

    fn make_bucket(&self) {
        let order = self.house.path().join("order");
        std::fs::write(&order, "s3.bucket.create -name photos\n").unwrap();
        let mut shell = Command::new(promised("PINHOLE_TEST_WEED"));
        shell.arg("shell").arg(format!("-master={}", self.masters()));
        shell.arg(format!("-filer={}", address(self.nodes[0].filer)));
        // A node that does not find it says so at its start.
        run(shell.stdin(Stdio::from(std::fs::File::open(order).unwrap())));
    }

    fn masters(&self) -> String {
        self.nodes.each_ref().map(|node| address(node.master)).join(",")
    }
}

impl Node {
    fn new(name: String) -> Self {
        let ports = || [free_port(), free_port()];
        Self { name, master: ports(), volume: ports(), filer: ports(), door: ports(), programs: Vec::new() }
    }

    fn path(&self, house: &House, file: &str) -> String {
        let path: PathBuf = house.path().join(&self.name).join(file);
        path.display().to_string()
    }

    fn wait_for(&mut self, port: u16) {
        let newest = self.programs.last_mut().expect("it was started");
        eventually("a part of the store listens", START, || {
            newest.assert_runs();
            TcpStream::connect(on_loopback(port)).ok()
        });
    }
}

impl Drop for Node {
    /// What was killed leaves its sockets behind, outside of its folder.
    fn drop(&mut self) {
        self.programs.clear();
        let kinds =
            [("master", self.master), ("volume", self.volume), ("filer", self.filer), ("s3", self.door)];
        for (kind, [_, port]) in kinds {
            let socket = std::env::temp_dir().join(format!("seaweedfs-{kind}-grpc-{port}.sock"));
            // There is none where it was never started.
            std::fs::remove_file(socket).ok();
        }
    }
}

/// How the parts of the store name each other.
fn address([port, own]: [u16; 2]) -> String {
    format!("127.0.0.1:{port}.{own}")
}

fn identities() -> String {
    serde_json::json!({ "identities": [{
        "name": "pinhole",
        "credentials": [{ "accessKey": KEY, "secretKey": SECRET }],
        "actions": ["Admin", "Read", "List", "Tagging", "Write"],
    }] })
    .to_string()
}

fn filer_settings(database: SocketAddr) -> String {
    format!(
        r#"[postgres2]
enabled = true
createTable = """
CREATE TABLE IF NOT EXISTS "%s" (
  dirhash BIGINT, name VARCHAR(65535), directory VARCHAR(65535), meta bytea, PRIMARY KEY (dirhash, name)
);
"""
hostname = "{}"
port = {}
username = "pinhole"
password = ""
database = "weed"
schema = "public"
sslmode = "disable"
connection_max_idle = 5
connection_max_open = 15
connection_max_lifetime_seconds = 0
enableUpsert = true
upsertQuery = """
INSERT INTO "%[1]s" (dirhash, name, directory, meta) VALUES ($1, $2, $3, $4)
ON CONFLICT (dirhash, name) DO UPDATE SET meta = EXCLUDED.meta WHERE "%[1]s".meta != EXCLUDED.meta
"""
"#,
        database.ip(),
        database.port()
    )
}
