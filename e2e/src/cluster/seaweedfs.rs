//! A SeaweedFS cluster of three nodes with two replicas of every object, and a balancer before its S3
//! gateways.
//!
//! The filers share a PostgreSQL database as their index. Their own replication of it is asynchronous: a node
//! that dies just after acknowledging a write would lose the entry.

use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::{Client, eventually};

use super::host::{free_port, loopback, required_env, run};
use super::{Balancer, Bucket, Daemon, Postgres, TempHome};

const START_TIMEOUT: Duration = Duration::from_secs(90);
const KEY: &str = "pinhole-test";
const SECRET: &str = "pinhole-test-secret";

pub struct SeaweedCluster {
    nodes: [Node; 3],
    gateway: Balancer,
    home: TempHome,
}

/// The programs of one machine, each with its HTTP port and its gRPC port.
struct Node {
    name: String,
    master: [u16; 2],
    volume: [u16; 2],
    filer: [u16; 2],
    gateway: [u16; 2],
    programs: Vec<Daemon>,
}

impl SeaweedCluster {
    /// Starts masters, volume servers, filers and gateways in the order of their dependencies.
    pub fn start(database: &Postgres) -> Self {
        database.query("CREATE DATABASE weed");
        let home = TempHome::new();
        std::fs::write(home.path().join("s3.json"), identities()).unwrap();
        let nodes: [Node; 3] = std::array::from_fn(|n| Node::new(format!("store{n}")));
        let gateway = Balancer::for_s3_gateways(&nodes.each_ref().map(|node| loopback(node.gateway[0])));
        let mut cluster = Self { nodes, gateway, home };
        for n in 0..3 {
            let folder = cluster.home.path().join(&cluster.nodes[n].name);
            for data in ["master", "volume"] {
                std::fs::create_dir_all(folder.join(data)).unwrap();
            }
            std::fs::write(folder.join("filer.toml"), filer_settings(database.address())).unwrap();
            cluster.start_master(n);
        }
        cluster.leader();
        (0..3).for_each(|n| cluster.start_volume(n));
        (0..3).for_each(|n| cluster.start_filer(n));
        (0..3).for_each(|n| cluster.start_gateway(n));
        cluster.create_bucket();
        cluster
    }

    /// The bucket, through the balancer before all three gateways.
    pub fn bucket(&self) -> Bucket {
        let keys = [
            ("AWS_ACCESS_KEY_ID", KEY),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ALLOW_HTTP", "true"),
        ];
        Bucket::new("s3://photos/pinhole".into(), &keys).through(self.gateway.address())
    }

    /// The node whose master is the Raft leader.
    pub fn leader(&self) -> usize {
        eventually("the SeaweedFS masters elect a leader", START_TIMEOUT, || {
            self.nodes.iter().find_map(|node| {
                let master = Client::anonymous(&format!("http://{}", loopback(node.master[0])));
                let response = master.request("GET", "/cluster/status").try_send().ok()?;
                let status: Value = serde_json::from_slice(&response.bytes).ok()?;
                let leader = status["Leader"].as_str()?;
                self.nodes.iter().position(|node| leader == address(node.master))
            })
        })
    }

    /// `kill -9` of everything on one machine.
    pub fn kill(&mut self, n: usize) {
        self.nodes[n].programs.drain(..).for_each(Daemon::kill);
    }

    /// Starts the programs of a killed machine again, on the data of its disk.
    pub fn restart(&mut self, n: usize) {
        self.start_master(n);
        self.start_volume(n);
        self.start_filer(n);
        self.start_gateway(n);
    }

    fn start_master(&mut self, n: usize) {
        let [port, grpc] = self.nodes[n].master;
        let arguments = [
            format!("-mdir={}", self.nodes[n].path(&self.home, "master")),
            format!("-peers={}", self.masters()),
            format!("-port={port}"),
            format!("-port.grpc={grpc}"),
        ];
        let options = [
            "-defaultReplication=001",
            "-electionTimeout=1s",
            "-heartbeatInterval=100ms",
            "-volumeSizeLimitMB=64",
            "-telemetry=false",
        ];
        self.start_program(n, "master", &[&arguments.each_ref().map(String::as_str)[..], &options].concat());
    }

    fn start_volume(&mut self, n: usize) {
        let [port, grpc] = self.nodes[n].volume;
        let arguments = [
            format!("-dir={}", self.nodes[n].path(&self.home, "volume")),
            format!("-master={}", self.masters()),
            format!("-port={port}"),
            format!("-port.grpc={grpc}"),
        ];
        let options = ["-max=100", "-preStopSeconds=0", "-minFreeSpace=1"];
        self.start_program(n, "volume", &[&arguments.each_ref().map(String::as_str)[..], &options].concat());
    }

    /// Waits until the filer listens: a filer exits when it finds a registered peer that does not listen yet.
    fn start_filer(&mut self, n: usize) {
        let [port, grpc] = self.nodes[n].filer;
        let arguments = [
            format!("-master={}", self.masters()),
            format!("-port={port}"),
            format!("-port.grpc={grpc}"),
            format!("-localSocket={}", self.nodes[n].path(&self.home, "filer.sock")),
        ];
        let options = ["-defaultReplicaPlacement=001"];
        self.start_program(n, "filer", &[&arguments.each_ref().map(String::as_str)[..], &options].concat());
        self.nodes[n].wait_for(port);
    }

    /// The gateway uses the filer of its own node first, and the others when that one fails.
    fn start_gateway(&mut self, n: usize) {
        let [port, grpc] = self.nodes[n].gateway;
        let filers = [n, (n + 1) % 3, (n + 2) % 3].map(|n| address(self.nodes[n].filer));
        let arguments = [
            format!("-filer={}", filers.join(",")),
            format!("-port={port}"),
            format!("-port.grpc={grpc}"),
            format!("-config={}", self.home.path().join("s3.json").display()),
            format!("-localSocket={}", self.nodes[n].path(&self.home, "s3.sock")),
        ];
        let options = ["-port.iceberg=0", "-port.lance=0", "-autoCreateBucket=false"];
        self.start_program(n, "s3", &[&arguments.each_ref().map(String::as_str)[..], &options].concat());
        self.nodes[n].wait_for(port);
    }

    fn start_program(&mut self, n: usize, program: &str, arguments: &[&str]) {
        let node = &mut self.nodes[n];
        let folder = self.home.path().join(&node.name);
        let mut command = Command::new(required_env("PINHOLE_TEST_WEED"));
        command.arg(format!("-config_dir={}", folder.display())).arg("-logtostderr=true").arg(program);
        command.args(["-ip=127.0.0.1", "-ip.bind=127.0.0.1"]).args(arguments);
        // Three writable volumes at a time, so that one stays writable when a machine is down.
        command.env("WEED_MASTER_VOLUME_GROWTH_COPY_2", "3").current_dir(&folder);
        node.programs.push(Daemon::start(&format!("weed {program} of {}", node.name), &command));
    }

    fn create_bucket(&self) {
        let script = self.home.path().join("create-bucket");
        std::fs::write(&script, "s3.bucket.create -name photos\n").unwrap();
        let mut shell = Command::new(required_env("PINHOLE_TEST_WEED"));
        shell.arg("shell").arg(format!("-master={}", self.masters()));
        shell.arg(format!("-filer={}", address(self.nodes[0].filer)));
        // The shell does not report a failure; a node without its bucket fails at its start.
        run(shell.stdin(Stdio::from(std::fs::File::open(script).unwrap())));
    }

    fn masters(&self) -> String {
        self.nodes.each_ref().map(|node| address(node.master)).join(",")
    }
}

impl Node {
    fn new(name: String) -> Self {
        let ports = || [free_port(), free_port()];
        Self {
            name,
            master: ports(),
            volume: ports(),
            filer: ports(),
            gateway: ports(),
            programs: Vec::new(),
        }
    }

    fn path(&self, home: &TempHome, file: &str) -> String {
        let path: PathBuf = home.path().join(&self.name).join(file);
        path.display().to_string()
    }

    fn wait_for(&mut self, port: u16) {
        let newest = self.programs.last_mut().expect("a program was started");
        eventually("the SeaweedFS program listens", START_TIMEOUT, || {
            newest.assert_running();
            TcpStream::connect(loopback(port)).ok()
        });
    }
}

impl Drop for Node {
    /// Removes the Unix sockets that killed programs leave in the system's temporary folder.
    fn drop(&mut self) {
        self.programs.clear();
        let kinds =
            [("master", self.master), ("volume", self.volume), ("filer", self.filer), ("s3", self.gateway)];
        for (kind, [_, port]) in kinds {
            let socket = std::env::temp_dir().join(format!("seaweedfs-{kind}-grpc-{port}.sock"));
            // Absent when the program was never started.
            std::fs::remove_file(socket).ok();
        }
    }
}

/// An address in SeaweedFS notation, with the gRPC port behind a dot.
fn address([port, grpc]: [u16; 2]) -> String {
    format!("127.0.0.1:{port}.{grpc}")
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
