//! Database outages and failover under load. No node is restarted.

use e2e::cluster::{Balancer, Bucket, Postgres, PostgresPair};
use e2e::oracle::verify;

use crate::fixture::{Fixture, addresses};
use crate::load::{start_workers, under_load};

#[test]
fn no_acknowledged_write_is_lost_when_postgresql_restarts_or_crashes() {
    let mut postgres = Postgres::standalone();
    let fixture = Fixture::new(postgres.url(), Bucket::fresh());
    let nodes = fixture.nodes::<2>();
    let balancer = Balancer::for_nodes(&addresses(&nodes));
    let mut workers = start_workers(balancer.base());

    under_load("a restart of PostgreSQL", &mut workers, |monitor| {
        monitor.wait_for_writes(80);
        postgres.stop();
        postgres.start();
        monitor.wait_for_writes(80);
    });
    under_load("kill -9 and start of PostgreSQL", &mut workers, |monitor| {
        monitor.wait_for_writes(80);
        postgres.kill();
        postgres.start();
        monitor.wait_for_writes(80);
    });
    under_load("an outage of PostgreSQL until writes were rejected", &mut workers, |monitor| {
        monitor.wait_for_writes(80);
        postgres.stop_immediate();
        monitor.wait_for_rejection();
        for node in &nodes {
            node.wait_for_readiness(503);
            node.anonymous().get("/livez").expect(200);
        }
        postgres.start();
        monitor.wait_for_writes(80);
    });
    for base in [balancer.base(), nodes[0].base(), nodes[1].base()] {
        verify(base, &mut workers);
    }
}

#[test]
fn no_acknowledged_write_is_lost_when_a_standby_is_promoted() {
    let mut pair = PostgresPair::start();
    let fixture = Fixture::new(pair.url(), Bucket::fresh());
    let nodes = fixture.nodes::<2>();
    let balancer = Balancer::for_nodes(&addresses(&nodes));
    let mut workers = start_workers(balancer.base());

    under_load("kill -9 of the primary and promotion of its standby", &mut workers, |monitor| {
        monitor.wait_for_writes(150);
        pair.primary.kill();
        pair.standby.promote();
        monitor.wait_for_writes(150);
    });
    for base in [balancer.base(), nodes[0].base(), nodes[1].base()] {
        verify(base, &mut workers);
    }
}

/// Connections of a node that write.
const WRITERS: usize = 3;

/// Without its standby the primary acknowledges no commit, and every committing connection blocks.
#[test]
fn writes_are_rejected_while_the_synchronous_standby_is_down_and_succeed_afterwards() {
    let mut pair = PostgresPair::start();
    let fixture = Fixture::new(pair.url(), Bucket::fresh());
    let nodes = fixture.nodes::<2>();
    let balancer = Balancer::for_nodes(&addresses(&nodes));
    let mut workers = start_workers(balancer.base());

    under_load("an outage of the standby until writes were rejected", &mut workers, |monitor| {
        monitor.wait_for_writes(20);
        pair.standby.kill();
        for _ in 0..20 {
            monitor.wait_for_rejection();
        }
        let query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        let blocked: usize = pair.primary.query(query).parse().unwrap();
        assert!((1..=WRITERS * nodes.len()).contains(&blocked), "{blocked} connections wait for the standby");
        pair.standby.start();
        monitor.wait_for_writes(40);
    });
    for base in [balancer.base(), nodes[0].base(), nodes[1].base()] {
        verify(base, &mut workers);
    }
}
