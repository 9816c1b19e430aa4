//! The servers of a clustered service, started as real processes: databases, photo stores, the balancer, and
//! a proxy that injects network faults.

mod balancer;
mod bucket;
mod host;
mod postgres;
mod proxy;
mod schema;
mod seaweedfs;
mod tls_certificate;

pub use crate::daemon::Daemon;
pub use balancer::{Balancer, UPSTREAM_HEADER};
pub use bucket::Bucket;
pub(crate) use host::required_env;
pub use host::{TempHome, free_ports};
pub use postgres::{PASSWORD, Postgres, PostgresPair, database_url};
pub use proxy::{NetworkCondition, Proxy};
pub use schema::fresh_database;
pub(crate) use schema::{database_in, psql};
pub use seaweedfs::SeaweedCluster;
pub use tls_certificate::TlsCertificate;
