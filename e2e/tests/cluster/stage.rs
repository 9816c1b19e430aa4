//! Nodes of one service, each in a folder of its own.

use std::net::SocketAddr;

use e2e::Service;
use e2e::cluster::{Bucket, House};

pub(crate) struct Stage {
    database: String,
    bucket: Bucket,
    house: House,
}

impl Stage {
    pub(crate) fn new(database: String, bucket: Bucket) -> Self {
        Self { database, bucket, house: House::new() }
    }

    /// The node called so: a new one, or one that was killed and comes back to its folder.
    pub(crate) fn node(&self, name: &str) -> Service {
        self.node_by(name, &self.database, &self.bucket)
    }

    /// The same with ways of its own to database and photos.
    pub(crate) fn node_by(&self, name: &str, database: &str, bucket: &Bucket) -> Service {
        let flags = ["--database-url", database, "--blobs-url", bucket.url()];
        Service::with_environment(&self.house.path().join(name), &flags, bucket.variables())
    }

    pub(crate) fn nodes<const N: usize>(&self) -> [Service; N] {
        std::array::from_fn(|n| self.node(&format!("node{n}")))
    }
}

pub(crate) fn addresses(nodes: &[Service]) -> Vec<SocketAddr> {
    nodes.iter().map(Service::address).collect()
}
