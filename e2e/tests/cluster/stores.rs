//! One of the machines that keep the photos dies.

use e2e::cluster::{Balancer, Postgres, Trio};
use e2e::ledger::Recovery;

use crate::load::{crew, under_uploads};
use crate::stage::{Stage, addresses};

#[test]
fn one_of_three_stores_is_killed() {
    let postgres = Postgres::alone();
    let mut trio = Trio::start(&postgres);
    let stage = Stage::new(postgres.url(), trio.bucket());
    let nodes = stage.nodes::<2>();
    let balancer = Balancer::of_nodes(&addresses(&nodes));
    let mut crew = crew(balancer.base());

    // The one the others listen to: until they have agreed on another, nothing new finds a place.
    let victim = trio.leader();
    under_uploads("kill -9 of one of three photo stores, their leader", &mut crew, |pulse| {
        pulse.beats(40);
        trio.kill(victim);
        pulse.beats(40);
    });
    Recovery::of_many(balancer.base()).verify(&mut crew);

    under_uploads("its return", &mut crew, |pulse| {
        pulse.beats(20);
        trio.revive(victim);
        pulse.beats(20);
    });
    for base in [balancer.base(), nodes[0].base(), nodes[1].base()] {
        Recovery::of_many(base).verify(&mut crew);
    }
}
