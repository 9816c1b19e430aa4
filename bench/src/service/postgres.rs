//! On PostgreSQL: the feed and likes beside SQLite, on one node and on three, and all likes on one post.

use std::sync::Arc;

use super::compare::{Candidate, Entry, RATE, compare, factor};
use super::feed::shuffled;
use super::fill::{Filled, HALF, READER};
use super::likes::{all_on_one, spread_over};
use super::load::Requests;
use super::pgbench::{self, CLIENTS, Script};
use super::pinhole::Pinhole;
use super::postgres_server::{Cluster, url};
use super::process::Server;
use super::{Bench, CONNECTIONS, SMALL, sqlite};
use crate::error::Error;
use crate::measure::Ratio;
use crate::report::{Cell, Section, Table, Target, thousands};

const NODES: usize = 3;

pub(super) fn sections(bench: &Bench) -> Result<Vec<Section>, Error> {
    let filled = Filled::with(bench, SMALL)?;
    let cluster = Cluster::filled(bench, &filled)?;
    let mut sections = feed(bench, &filled, &cluster)?;
    sections.push(likes(bench, &filled, &cluster)?);
    Ok(sections.into_iter().map(|section| Section { on_postgres: true, ..section }).collect())
}

/// The first page and deeper pages. All servers share one core.
fn feed(bench: &Bench, filled: &Filled, cluster: &Cluster) -> Result<Vec<Section>, Error> {
    let servers = Servers::start(bench, filled, cluster, Some(bench.cores.server))?;
    let first = |pinhole: &Pinhole| Requests::same(pinhole.read("/feed", Some(READER)));
    // As many as there are; the same on every database, because a page is known by an id.
    let pages = servers.alone.page_paths(usize::MAX, Some(READER))?;
    let any = |pinhole: &Pinhole| Requests::cycle(shuffled(pinhole, &pages));

    let script = servers.script(bench, cluster, "first", &pgbench::first_page())?;
    let candidates = servers.candidates("", first(servers.node()), first(&servers.alone), script);
    let loads =
        compare(bench.pace.in_longer_turns(), &candidates.map(|one| one.with_load_on(bench.cores.load)))?;
    let note = format!(
        "{} posts, moved from SQLite by `pinhole migrate`; PostgreSQL {} with 512 MB of shared buffers, all on \
         loopback. Nodes and PostgreSQL share one core, and the load has the other: this shows contention between nodes, not \
         the capacity of {NODES} machines. CPU time is PostgreSQL's and all nodes' together.",
        thousands(SMALL),
        cluster.version()?
    );
    let first = Section::new("The first page of the feed on PostgreSQL, signed in")
        .note(note)
        .note(
            "On SQLite the only node invalidates its caches at every commit and serves the page from memory. On PostgreSQL \
             other nodes may write at any time, so a node runs four queries: session, posts, likes, authors.",
        )
        .note(format!(
            "PostgreSQL alone is pgbench on {CLIENTS} connections with the same four statements, without making JSON of \
             the rows."
        ));
    let first = Section { tables: vec![ratios(&loads, "")], loads, ..first };

    let script = servers.script(bench, cluster, "any", &pgbench::any_page())?;
    let candidates = servers.candidates("", any(servers.node()), any(&servers.alone), script);
    let loads =
        compare(bench.pace.in_longer_turns(), &candidates.map(|one| one.with_load_on(bench.cores.load)))?;
    let deeper = Section::new("Deeper pages of the feed on PostgreSQL, signed in")
        .note("All pages in pseudo-random order, so that none is cached.");
    let deeper = Section { tables: vec![ratios(&loads, "")], loads, ..deeper };
    Ok(vec![first, deeper])
}

/// Likes spread over posts, and all on one post, in the same rounds.
fn likes(bench: &Bench, filled: &Filled, cluster: &Cluster) -> Result<Section, Error> {
    let syncs = (sqlite::syncs(&bench.home)?, sqlite::syncs(cluster.folder())?);
    let servers = Servers::start(bench, filled, cluster, None)?;
    let script = servers.script(bench, cluster, "spread", &pgbench::spread_likes())?;
    let spread = servers.candidates(
        "",
        spread_over(servers.node(), SMALL),
        spread_over(&servers.alone, SMALL),
        script,
    );
    let script = servers.script(bench, cluster, "one", &pgbench::likes_on_one())?;
    let on_one =
        servers.candidates(", on one post", all_on_one(servers.node()), all_on_one(&servers.alone), script);
    let candidates: Vec<Candidate> = spread.into_iter().chain(on_one).collect();
    let loads = compare(bench.pace.in_longer_turns(), &candidates)?;

    let (spread, on_one) = loads.split_at(4);
    let one_of_spread = |index: usize| on_one[index].against(&spread[index], RATE);
    let targets = vec![
        Target::share("likes on PostgreSQL: all on one post of spread", one_of_spread(0), 0.5),
        Target::share("likes on PostgreSQL, three nodes: all on one post of spread", one_of_spread(2), 0.5),
    ];
    let mut all = ratios(spread, "");
    all.rows.extend(ratios(on_one, ", on one post").rows);
    let names = ["PostgreSQL", "SQLite", "three nodes on PostgreSQL", "PostgreSQL alone"];
    let rows = names
        .iter()
        .zip(0..)
        .map(|(name, index)| ratio(format!("{name}: on one post ÷ spread"), one_of_spread(index)));
    all.rows.extend(rows.map(Vec::from));
    let section = Section::new("Likes on PostgreSQL")
        .note(format!(
            "{} posts, {CONNECTIONS} connections, each like a new one by one of {} users, durable when it is \
             answered (`fsync` and `synchronous_commit` are on). All servers and the load share all cores. The disk syncs \
             4 KiB {} times a second under SQLite and {} under PostgreSQL.",
            thousands(SMALL),
            thousands(HALF),
            thousands(syncs.0 as u64),
            thousands(syncs.1 as u64)
        ))
        .note(format!(
            "PostgreSQL alone is pgbench on {CLIENTS} connections with a transaction for each like. A node commits queued \
             writes in one batch and adds up the likes of one post before it updates its row."
        ));
    Ok(Section { tables: vec![all], loads, targets, ..section })
}

/// The servers under test; dropped in this order.
struct Servers {
    /// On SQLite.
    alone: Arc<Pinhole>,
    nodes: Vec<Arc<Pinhole>>,
    postgres: Server,
}

impl Servers {
    fn start(bench: &Bench, filled: &Filled, cluster: &Cluster, core: Option<usize>) -> Result<Self, Error> {
        let postgres = cluster.start(bench, core)?;
        let database = url(&postgres);
        let mut nodes = Vec::new();
        for number in 1..=NODES {
            let name = format!("node-{number}");
            let folder = bench.fresh(&name)?;
            let flags = ["--database-url", database.as_str()];
            nodes.push(Arc::new(Pinhole::start_as(&name, bench, &folder, core, &flags)?));
        }
        let data = filled.copy(bench, "postgres")?;
        let alone = Arc::new(Pinhole::start_as("alone", bench, &data.folder, core, &[])?);
        Ok(Self { alone, nodes, postgres })
    }

    /// The node of the rows with one node.
    fn node(&self) -> &Arc<Pinhole> {
        &self.nodes[0]
    }

    fn script(&self, bench: &Bench, cluster: &Cluster, name: &str, text: &str) -> Result<Script, Error> {
        Script::new(bench, cluster.pgbench(), self.postgres.address, name, text)
    }

    /// One node on PostgreSQL, one on SQLite, all nodes on PostgreSQL, and PostgreSQL alone. Nodes draw from
    /// the same requests, so that no like is given twice (409 voids the run).
    fn candidates(
        &self,
        what: &str,
        shared: Arc<Requests>,
        own: Arc<Requests>,
        script: Script,
    ) -> [Candidate<'_>; 4] {
        let node = |name: &str| {
            let name = format!("Pinhole on PostgreSQL{name}{what}");
            Candidate::new(&name, &self.node().server, CONNECTIONS, shared.clone()).backed_by(&self.postgres)
        };
        [
            node(""),
            Candidate::new(&format!("Pinhole on SQLite{what}"), &self.alone.server, CONNECTIONS, own),
            node(", 3 nodes").spread_over(self.nodes.iter().skip(1).map(|node| &node.server)),
            Candidate::scripted(&format!("PostgreSQL alone{what}"), &self.postgres, script),
        ]
    }
}

/// Ratios between the four candidates.
fn ratios(loads: &[Entry], what: &str) -> Table {
    let of = |words: &str, one: usize, other: usize| {
        ratio(format!("{words}{what}"), loads[one].against(&loads[other], RATE))
    };
    let rows = [
        of("PostgreSQL ÷ SQLite", 0, 1),
        of("three nodes ÷ one", 2, 0),
        of("one node ÷ PostgreSQL alone", 0, 3),
    ];
    Table::new(["requests/s", "ratio"], rows)
}

fn ratio(words: String, ratio: Ratio) -> [Cell; 2] {
    [Cell::Text(words), factor(ratio)]
}
