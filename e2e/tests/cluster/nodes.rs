//! A node dies.

use e2e::cluster::{Balancer, Bucket, Postgres};
use e2e::ledger::Recovery;

use crate::load::{crew, under_load};
use crate::stage::{Stage, addresses};

#[test]
fn one_of_three_nodes_is_killed() {
    let postgres = Postgres::alone();
    let stage = Stage::new(postgres.url(), Bucket::fresh());
    let mut nodes = Vec::from(stage.nodes::<3>());
    let balancer = Balancer::of_nodes(&addresses(&nodes));
    let mut crew = crew(balancer.base());

    under_load("kill -9 of one of three nodes", &mut crew, |pulse| {
        pulse.beats(100);
        nodes.pop().unwrap().kill();
        pulse.beats(300);
    });
    Recovery::of_many(balancer.base()).verify(&mut crew);

    // Whoever comes back finds what the others have done meanwhile, and clears up what was theirs.
    nodes.push(stage.node("node2"));
    for node in &nodes {
        Recovery::of_many(node.base()).verify(&mut crew);
    }
}
