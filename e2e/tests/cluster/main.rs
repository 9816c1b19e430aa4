//! The service on several nodes, with real databases, photo stores and balancers on this machine: consistency
//! between nodes, and faults of each component under load. Every fault test prints its write gap, the longest
//! time without an acknowledged write; `linearizability` prints the size of each round instead.

#![allow(clippy::unwrap_used, reason = "a failed expectation must stop the test at once")]

mod consistency;
mod database_failure;
mod fixture;
mod linearizability;
mod load;
mod network_faults;
mod node_failure;
mod replica;
mod rolling_upgrade;
mod store_failure;
mod tls;
mod try_cluster;
