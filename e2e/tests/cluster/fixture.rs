//! Nodes of one service that share a database and a bucket, each with its own data folder.

use std::net::SocketAddr;

use e2e::Service;
use e2e::cluster::{Bucket, TempHome};

pub(crate) struct Fixture {
    database: String,
    bucket: Bucket,
    home: TempHome,
}

impl Fixture {
    pub(crate) fn new(database: String, bucket: Bucket) -> Self {
        Self { database, bucket, home: TempHome::new() }
    }

    /// Starts the node with this name, on its data folder if it ran before.
    pub(crate) fn node(&self, name: &str) -> Service {
        self.node_with(name, &self.database, &self.bucket)
    }

    /// Starts a node with its own database URL and bucket endpoint, such as those of a proxy.
    pub(crate) fn node_with(&self, name: &str, database: &str, bucket: &Bucket) -> Service {
        self.try_node(name, database, bucket).unwrap_or_else(|log| panic!("{log}"))
    }

    /// The log of a node that exits instead of becoming ready.
    pub(crate) fn start_fails(&self, name: &str) -> String {
        self.try_node(name, &self.database, &self.bucket).err().expect("the node must not start")
    }

    fn try_node(&self, name: &str, database: &str, bucket: &Bucket) -> Result<Service, String> {
        let flags = ["--database-url", database, "--blobs-url", bucket.url()];
        Service::try_with_environment(&self.home.path().join(name), &flags, bucket.variables())
    }

    pub(crate) fn nodes<const N: usize>(&self) -> [Service; N] {
        std::array::from_fn(|n| self.node(&format!("node{n}")))
    }
}

pub(crate) fn addresses(nodes: &[Service]) -> Vec<SocketAddr> {
    nodes.iter().map(Service::address).collect()
}
