//! A machine of the photo store crashes under load.

use e2e::cluster::{Balancer, Postgres, SeaweedCluster};
use e2e::oracle::verify;

use crate::fixture::{Fixture, addresses};
use crate::load::{start_workers, under_upload_load};

#[test]
fn no_acknowledged_upload_is_lost_when_the_leader_of_three_photo_stores_is_killed() {
    let postgres = Postgres::standalone();
    let mut stores = SeaweedCluster::start(&postgres);
    let fixture = Fixture::new(postgres.url(), stores.bucket());
    let nodes = fixture.nodes::<2>();
    let balancer = Balancer::for_nodes(&addresses(&nodes));
    let mut workers = start_workers(balancer.base());

    // The Raft leader assigns volumes to new objects, so uploads stop until the others have elected a new
    // one.
    let leader = stores.leader();
    under_upload_load("kill -9 of one of three photo stores, their leader", &mut workers, |monitor| {
        monitor.wait_for_writes(40);
        stores.kill(leader);
        monitor.wait_for_writes(40);
    });
    verify(balancer.base(), &mut workers);

    under_upload_load("the restart of that photo store", &mut workers, |monitor| {
        monitor.wait_for_writes(20);
        stores.restart(leader);
        monitor.wait_for_writes(20);
    });
    for base in [balancer.base(), nodes[0].base(), nodes[1].base()] {
        verify(base, &mut workers);
    }
}
