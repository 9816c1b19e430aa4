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
        let flags = ["--database-url", database, "--blobs-url", bucket.url()];
        Service::with_environment(&self.home.path().join(name), &flags, bucket.variables())
    }

    pub(crate) fn nodes<const N: usize>(&self) -> [Service; N] {
        std::array::from_fn(|n| self.node(&format!("node{n}")))
    }
}

pub(crate) fn addresses(nodes: &[Service]) -> Vec<SocketAddr> {
    nodes.iter().map(Service::address).collect()
}
