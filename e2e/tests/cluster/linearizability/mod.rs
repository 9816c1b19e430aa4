//! Linearizability: reads and writes of posts on three nodes, during faults, have one order that agrees with
//! real time. Clients record every operation, and a search looks for such an order per post.
//!
//! A post is checked with its likes, images and entries in lists. An operation on one post is compared with
//! none on another: objects that are each linearizable are so together.

mod checker;
mod checker_tests;
mod cluster;
mod history;
mod post;
mod workload;

use std::io::Write;

use e2e::cluster::NetworkCondition;
use e2e::{Client, concurrently, unique};

use checker::check;
use cluster::{Cluster, NODES};
use history::History;
use workload::{USERS, Workload};

/// How many operations complete before, during and after a fault.
const OPERATIONS: usize = 300;

#[derive(Debug, Clone, Copy)]
enum Fault {
    NodeKilled,
    ConnectionsReset,
    PrimaryKilled,
}

const FAULTS: [Fault; 3] = [Fault::NodeKilled, Fault::ConnectionsReset, Fault::PrimaryKilled];

/// `PINHOLE_E2E_ROUNDS` sets the number of rounds. The first three have one fault each, the others two.
#[test]
fn operations_on_posts_are_linearizable_while_nodes_connections_and_the_primary_fail() {
    let rounds = std::env::var("PINHOLE_E2E_ROUNDS").map_or(3, |rounds| rounds.parse().expect("a number"));
    let cluster = Cluster::start();
    let users = concurrently(USERS, |_| Client::anonymous(&cluster.base(0)).join(&unique("user")));
    for round in 0..rounds {
        let mut rng = fastrand::Rng::new();
        let faults: Vec<Fault> = match FAULTS.get(round) {
            Some(fault) => vec![*fault],
            None => vec![rng.choice(FAULTS).unwrap(), rng.choice(FAULTS).unwrap()],
        };
        let history = Workload::new(&cluster, &users).run(rng.u64(..), |workload| {
            workload.wait_for_operations(OPERATIONS);
            for fault in &faults {
                fault.inject(&cluster, workload, rng.usize(..NODES));
                workload.wait_for_operations(OPERATIONS);
            }
        });
        if let Err(violation) = check_posts(&format!("round {} with {faults:?}", round + 1), history) {
            // Before the panic, so that the logs of all servers do not hide the report.
            drop(cluster);
            panic!("{violation}");
        }
    }
}

impl Fault {
    /// Injects the fault and ends it.
    fn inject(self, cluster: &Cluster, workload: &Workload<'_>, node: usize) {
        match self {
            Self::NodeKilled => {
                cluster.kill_node(node);
                workload.wait_for_operations(OPERATIONS);
                cluster.start_node(node);
            }
            Self::ConnectionsReset => {
                cluster.set_network(node, NetworkCondition::Reset);
                workload.wait_for_unanswered(2 * USERS);
                cluster.set_network(node, NetworkCondition::Healthy);
            }
            Self::PrimaryKilled => cluster.kill_primary(),
        }
    }
}

/// The error is a report of the first violation.
fn check_posts(round: &str, history: History) -> Result<(), String> {
    let posts = history.into_operations();
    let mut largest = 0;
    for (post, operations) in &posts {
        let configurations = check(operations)
            .map_err(|report| format!("{round}: post {post} is not linearizable.\n{report}"))?;
        largest = largest.max(configurations);
    }
    let operations: usize = posts.values().map(Vec::len).sum();
    let unknown = posts.values().flatten().filter(|operation| operation.outcome == post::Outcome::Unknown);
    // Not eprintln!: the test runner captures the output of passing tests.
    let written = writeln!(
        std::io::stderr(),
        "linearizable: {round}: {} posts, {operations} operations, {} of unknown outcome, at most {largest} \
         configurations",
        posts.len(),
        unknown.count(),
    );
    written.expect("stderr is open");
    Ok(())
}
