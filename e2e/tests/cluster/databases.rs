//! The database goes away and comes back, or another one takes over. No node is restarted.

use e2e::cluster::{Balancer, Bucket, Pair, Postgres};
use e2e::ledger::Recovery;

use crate::load::{crew, under_load};
use crate::stage::{Stage, addresses};

#[test]
fn postgresql_is_stopped_and_killed_and_started_again() {
    let mut postgres = Postgres::alone();
    let stage = Stage::new(postgres.url(), Bucket::fresh());
    let nodes = stage.nodes::<2>();
    let balancer = Balancer::of_nodes(&addresses(&nodes));
    let mut crew = crew(balancer.base());

    under_load("a restart of PostgreSQL", &mut crew, |pulse| {
        pulse.beats(80);
        postgres.stop();
        postgres.start();
        pulse.beats(80);
    });
    under_load("kill -9 and start of PostgreSQL", &mut crew, |pulse| {
        pulse.beats(80);
        postgres.kill();
        postgres.start();
        pulse.beats(80);
    });
    under_load("an outage of PostgreSQL until writes were refused", &mut crew, |pulse| {
        pulse.beats(80);
        postgres.stop_at_once();
        pulse.refusal();
        for node in &nodes {
            node.anyone().get("/readyz").expect(503);
            node.anyone().get("/livez").expect(200);
        }
        postgres.start();
        pulse.beats(80);
    });
    for base in [balancer.base(), nodes[0].base(), nodes[1].base()] {
        Recovery::of_many(base).verify(&mut crew);
    }
}

#[test]
fn the_standby_of_a_synchronous_pair_takes_over() {
    let mut pair = Pair::start();
    let stage = Stage::new(pair.url(), Bucket::fresh());
    let nodes = stage.nodes::<2>();
    let balancer = Balancer::of_nodes(&addresses(&nodes));
    let mut crew = crew(balancer.base());

    under_load("kill -9 of the primary and promotion of its standby", &mut crew, |pulse| {
        pulse.beats(150);
        pair.primary.kill();
        pair.standby.promote();
        pulse.beats(150);
    });
    for base in [balancer.base(), nodes[0].base(), nodes[1].base()] {
        Recovery::of_many(base).verify(&mut crew);
    }
}

/// Without its standby the primary commits nothing, but holds on to every connection that asked it to.
#[test]
fn the_standby_of_a_synchronous_pair_goes_and_comes_back() {
    let mut pair = Pair::start();
    let stage = Stage::new(pair.url(), Bucket::fresh());
    let nodes = stage.nodes::<2>();
    let balancer = Balancer::of_nodes(&addresses(&nodes));
    let mut crew = crew(balancer.base());

    under_load("a standby that was away until writes were refused", &mut crew, |pulse| {
        pulse.beats(20);
        pair.standby.kill();
        for _ in 0..20 {
            pulse.refusal();
        }
        let held = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        let held: usize = pair.primary.ask(held).parse().unwrap();
        assert!((1..=2 * nodes.len()).contains(&held), "{held} connections wait for the standby");
        pair.standby.start();
        pulse.beats(40);
    });
    for base in [balancer.base(), nodes[0].base(), nodes[1].base()] {
        Recovery::of_many(base).verify(&mut crew);
    }
}
