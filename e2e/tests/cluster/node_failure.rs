//! A node crashes under load.

use e2e::cluster::{Balancer, Bucket, Postgres};
use e2e::oracle::verify;

use crate::fixture::{Fixture, addresses};
use crate::load::{start_workers, under_load};

#[test]
fn no_acknowledged_write_is_lost_when_one_of_three_nodes_is_killed() {
    let postgres = Postgres::standalone();
    let fixture = Fixture::new(postgres.url(), Bucket::fresh());
    let mut nodes = Vec::from(fixture.nodes::<3>());
    let balancer = Balancer::for_nodes(&addresses(&nodes));
    let mut workers = start_workers(balancer.base());

    under_load("kill -9 of one of three nodes", &mut workers, |monitor| {
        monitor.wait_for_writes(100);
        nodes.pop().unwrap().kill();
        monitor.wait_for_writes(300);
    });
    verify(balancer.base(), &mut workers);

    // The restarted node sees the writes of the others, and finishes or rolls back its own.
    nodes.push(fixture.node("node2"));
    for node in &nodes {
        verify(node.base(), &mut workers);
    }
}
