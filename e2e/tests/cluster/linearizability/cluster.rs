//! Three nodes on a primary and its synchronous standby, each with its own network to them, and their faults.

use std::net::SocketAddr;
use std::sync::Mutex;

use e2e::Service;
use e2e::cluster::{Bucket, NetworkCondition, PostgresPair, Proxy};

use crate::fixture::Fixture;

pub(super) const NODES: usize = 3;

pub(super) struct Cluster {
    nodes: [Node; NODES],
    fixture: Fixture,
    bucket: Bucket,
    pair: Mutex<PostgresPair>,
}

struct Node {
    name: String,
    database: String,
    /// To each of the two database servers.
    proxies: [(SocketAddr, Proxy); 2],
    /// `None` between a kill and the next start.
    service: Mutex<Option<Service>>,
    /// The base URL of the last start, so that clients send requests until the process is dead.
    base: Mutex<String>,
}

impl Cluster {
    pub(super) fn start() -> Self {
        let pair = PostgresPair::start();
        let bucket = Bucket::fresh();
        let fixture = Fixture::new(pair.url(), bucket.clone());
        let nodes = std::array::from_fn(|n| {
            let servers = [pair.primary.address(), pair.standby.address()];
            let proxies = servers.map(|server| (server, Proxy::to(server)));
            let mut database = pair.url();
            for (server, proxy) in &proxies {
                database = database.replace(&server.to_string(), &proxy.address().to_string());
            }
            Node {
                name: format!("node{n}"),
                database,
                proxies,
                service: Mutex::default(),
                base: Mutex::default(),
            }
        });
        let cluster = Self { nodes, fixture, bucket, pair: Mutex::new(pair) };
        (0..NODES).for_each(|n| cluster.start_node(n));
        cluster
    }

    /// The base URL of a node, which may have been killed.
    pub(super) fn base(&self, n: usize) -> String {
        self.nodes[n].base.lock().unwrap().clone()
    }

    pub(super) fn kill_node(&self, n: usize) {
        let service = self.nodes[n].service.lock().unwrap().take();
        service.expect("the node runs").kill();
    }

    pub(super) fn start_node(&self, n: usize) {
        let Node { name, database, service, base, .. } = &self.nodes[n];
        let started = self.fixture.node_with(name, database, &self.bucket);
        started.base().clone_into(&mut base.lock().unwrap());
        *service.lock().unwrap() = Some(started);
    }

    /// Sets the network between one node and both database servers.
    pub(super) fn set_network(&self, n: usize, condition: NetworkCondition) {
        self.nodes[n].proxies.iter().for_each(|(_, proxy)| proxy.set(condition));
    }

    /// `kill -9` of the primary, and promotion of its standby.
    pub(super) fn kill_primary(&self) {
        let mut pair = self.pair.lock().unwrap();
        pair.ensure_standby();
        let primary = pair.primary.address();
        // As in the crash of a machine, the network fails too: backends outlive a killed postmaster for a
        // moment, and would show commits that the standby does not have.
        self.set_network_to(primary, NetworkCondition::Reset);
        pair.fail_over();
        self.set_network_to(primary, NetworkCondition::Healthy);
    }

    /// Sets the network between all nodes and one database server.
    fn set_network_to(&self, server: SocketAddr, condition: NetworkCondition) {
        let proxies = self.nodes.iter().flat_map(|node| &node.proxies);
        proxies.filter(|(address, _)| *address == server).for_each(|(_, proxy)| proxy.set(condition));
    }
}
