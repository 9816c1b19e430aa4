//! On PostgreSQL: the feed and likes beside SQLite, on one node and on three, and all likes on one post.

use std::sync::Arc;

use super::compare::{Candidate, Entry, P50, P99, RATE, Sample, compare, factor};
use super::feed::shuffled;
use super::fill::{Filled, HALF, READER};
use super::likes::{all_on_one, spread_from, spread_over};
use super::load::Requests;
use super::pgbench::{self, CLIENTS, Script};
use super::pinhole::Pinhole;
use super::postgres_server::{Cluster, url};
use super::process::Server;
use super::{Bench, CONNECTIONS, SMALL, sqlite};
use crate::error::Error;
use crate::measure::Ratio;
use crate::photos::NAMES;
use crate::report::{Cell, Section, Table, Target, thousands};

const NODES: usize = 3;
/// Posts that are read in turn.
const NEW_POSTS: u64 = 1_000;
const LIKES_A_SECOND: f64 = 500.0;

pub(super) fn sections(bench: &Bench) -> Result<Vec<Section>, Error> {
    let filled = Filled::with(bench, SMALL)?;
    let cluster = Cluster::filled(bench, &filled)?;
    let mut sections = reads(bench, &filled, &cluster)?;
    sections.push(likes(bench, &filled, &cluster)?);
    Ok(sections.into_iter().map(|section| Section { on_postgres: true, ..section }).collect())
}

/// Everything that is read: the first page, one post, a cached image, deeper pages. All servers share one
/// core.
fn reads(bench: &Bench, filled: &Filled, cluster: &Cluster) -> Result<Vec<Section>, Error> {
    let servers = Servers::start(bench, filled, cluster, Some(bench.cores.server))?;
    Ok(vec![
        first_page(bench, &servers, cluster)?,
        one_post(bench, &servers)?,
        cached_image(bench, &servers)?,
        deeper_pages(bench, &servers, cluster)?,
        beside_likes(bench, &servers)?,
    ])
}

fn first_page(bench: &Bench, servers: &Servers, cluster: &Cluster) -> Result<Section, Error> {
    let first = |pinhole: &Pinhole| Requests::same(pinhole.read("/feed", Some(READER)));
    let script = servers.script(bench, cluster, "first", &pgbench::first_page())?;
    let candidates = servers.candidates("", first(servers.node()), first(&servers.alone), script);
    let loads =
        compare(bench.pace.in_longer_turns(), &candidates.map(|one| one.with_load_on(bench.cores.load)))?;
    let added = |figure: fn(&Sample) -> f64| loads[0].difference(&loads[1], figure).median / 1e3;
    let targets = vec![
        Target::share("first page, PostgreSQL ÷ SQLite: requests/s", loads[0].against(&loads[1], RATE), 0.5),
        Target::at_most("latency that the read barrier adds to the first page: p50 ms", added(P50), 1.0),
        Target::at_most("latency that the read barrier adds to the first page: p99 ms", added(P99), 5.0),
    ];
    let section = Section::new("The first page of the feed on PostgreSQL, signed in")
        .note(format!(
            "{} posts, moved from SQLite by `pinhole migrate`; PostgreSQL {} with 512 MB of shared buffers, all on \
             loopback. Nodes and PostgreSQL share one core, and the load has the other: this shows contention between nodes, \
             not the capacity of {NODES} machines. CPU time is PostgreSQL's and all nodes' together.",
            thousands(SMALL),
            cluster.version()?
        ))
        .note(
            "A node serves the page from memory, after a read barrier that it shares with all requests waiting at the same \
             time: one statement returns what other nodes have changed.",
        )
        .note(format!(
            "PostgreSQL alone is pgbench on {CLIENTS} connections with the statement of a page, without making \
             JSON of the rows."
        ));
    Ok(Section { tables: vec![ratios(&loads, "")], loads, targets, ..section })
}

fn one_post(bench: &Bench, servers: &Servers) -> Result<Section, Error> {
    let posts = |pinhole: &Pinhole| {
        let paths = (0..NEW_POSTS).map(|turn| format!("/posts/{}", SMALL - turn));
        Requests::cycle(paths.map(|path| pinhole.read(&path, Some(READER))).collect())
    };
    let section = Section::new("One post on PostgreSQL, signed in")
        .note(format!("The newest {} posts in turn, from memory.", thousands(NEW_POSTS)));
    servers.beside_sqlite(bench, section, "one post", posts(servers.node()), posts(&servers.alone), 0.5)
}

fn cached_image(bench: &Bench, servers: &Servers) -> Result<Section, Error> {
    let image = |pinhole: &Pinhole| {
        let photo = pinhole.photo(READER, &bench.photo(NAMES[0]))?;
        Ok::<_, Error>(Requests::same(pinhole.read(&format!("/photos/{photo}/512x512"), None)))
    };
    let section = Section::new("A cached 512² on PostgreSQL")
        .note("The read barrier tells whether the photo still exists; the bytes are sent as on SQLite.");
    let (on_node, alone) = (image(servers.node())?, image(&servers.alone)?);
    servers.beside_sqlite(bench, section, "cached image", on_node, alone, 0.7)
}

fn deeper_pages(bench: &Bench, servers: &Servers, cluster: &Cluster) -> Result<Section, Error> {
    // As many as there are; the same on every database, because a page is known by an id.
    let pages = servers.alone.page_paths(usize::MAX, Some(READER))?;
    let any = |pinhole: &Pinhole| Requests::cycle(shuffled(pinhole, &pages));
    let script = servers.script(bench, cluster, "any", &pgbench::any_page())?;
    let candidates = servers.candidates("", any(servers.node()), any(&servers.alone), script);
    let loads =
        compare(bench.pace.in_longer_turns(), &candidates.map(|one| one.with_load_on(bench.cores.load)))?;
    let share = loads[0].against(&loads[3], RATE);
    let section = Section::new("Deeper pages of the feed on PostgreSQL, signed in").note(
        "All pages in pseudo-random order, so that none is cached. Session and authors are; posts and likes are one \
         statement.",
    );
    let targets = vec![Target::share("deeper pages, one node ÷ PostgreSQL alone: requests/s", share, 0.8)];
    Ok(Section { tables: vec![ratios(&loads, "")], loads, targets, ..section })
}

/// What a node serves from memory while another one commits likes.
fn beside_likes(bench: &Bench, servers: &Servers) -> Result<Section, Error> {
    let node = servers.node();
    // Others than those of the section about likes, which uses the same database.
    let likes = spread_from(100_000_000, node, SMALL);
    let reads = [
        ("first page", Requests::same(node.read("/feed", Some(READER)))),
        ("one post", Requests::same(node.read(&format!("/posts/{SMALL}"), Some(READER)))),
    ];
    let candidates = reads.iter().flat_map(|(name, requests)| {
        let quiet = |name: &str| {
            Candidate::new(name, &node.server, CONNECTIONS, requests.clone()).backed_by(&servers.postgres)
        };
        let beside = quiet(&format!("{name}, {LIKES_A_SECOND} likes a second"));
        let beside = beside.beside_on(&servers.nodes[1].server, CONNECTIONS, LIKES_A_SECOND, likes.clone());
        [quiet(name), beside].map(|one| one.with_load_on(bench.cores.load))
    });
    let loads = compare(bench.pace.in_longer_turns(), &candidates.collect::<Vec<_>>())?;
    let target = |name: &str, index: usize| {
        let share = loads[index + 1].against(&loads[index], RATE);
        let what = format!("{name} while another node commits {LIKES_A_SECOND} likes/s: requests/s of quiet");
        Target::share(&what, share, 0.5)
    };
    let targets = vec![target("first page", 0), target("one post", 2)];
    let section = Section::new("One node on PostgreSQL while another commits likes").note(
        "Likes are spread over all posts. Both nodes and PostgreSQL share one core, so the likes cost the reads their CPU \
         time as well.",
    );
    Ok(Section { loads, targets, ..section })
}

/// Likes spread over posts, and all on one post, in the same rounds.
fn likes(bench: &Bench, filled: &Filled, cluster: &Cluster) -> Result<Section, Error> {
    let syncs = (sqlite::syncs(&bench.home)?, sqlite::syncs(cluster.folder())?);
    let servers = Servers::start(bench, filled, cluster, None)?;
    let script = servers.script(bench, cluster, "spread", &pgbench::spread_likes())?;
    let shared = spread_over(servers.node(), SMALL);
    let spread = servers.candidates("", shared.clone(), spread_over(&servers.alone, SMALL), script);
    let script = servers.script(bench, cluster, "one", &pgbench::likes_on_one())?;
    let on_one =
        servers.candidates(", on one post", all_on_one(servers.node()), all_on_one(&servers.alone), script);
    let more = servers.with_more_connections(shared);
    let candidates: Vec<Candidate> = spread.into_iter().chain(on_one).chain(more).collect();
    let loads = compare(bench.pace.in_longer_turns(), &candidates)?;

    let (spread, others) = loads.split_at(4);
    let (on_one, more) = others.split_at(4);
    let one_of_spread = |index: usize| on_one[index].against(&spread[index], RATE);
    let targets = vec![
        Target::share("likes, PostgreSQL ÷ SQLite: requests/s", spread[0].against(&spread[1], RATE), 0.6),
        Target::share("likes, three nodes ÷ one: requests/s", spread[2].against(&spread[0], RATE), 0.95),
        Target::share(
            "likes, three nodes ÷ one, as many connections for each node: requests/s",
            more[1].against(&more[0], RATE),
            0.85,
        ),
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
    let nodes = format!("three nodes ÷ one, {} connections", NODES * CONNECTIONS);
    all.rows.push(ratio(nodes, more[1].against(&more[0], RATE)).into());
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
        .note(
            "Three nodes that share the connections of one have batches of a third of the size; with as many connections \
             for each they have the batches of one.",
        )
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

    /// One node on PostgreSQL beside one on SQLite, which must serve at least this share of its requests.
    fn beside_sqlite(
        &self,
        bench: &Bench,
        section: Section,
        what: &str,
        on_node: Arc<Requests>,
        alone: Arc<Requests>,
        share: f64,
    ) -> Result<Section, Error> {
        let candidates = [
            Candidate::new("Pinhole on PostgreSQL", &self.node().server, CONNECTIONS, on_node)
                .backed_by(&self.postgres),
            Candidate::new("Pinhole on SQLite", &self.alone.server, CONNECTIONS, alone),
        ];
        let loads =
            compare(bench.pace.in_longer_turns(), &candidates.map(|one| one.with_load_on(bench.cores.load)))?;
        let ratio = loads[0].against(&loads[1], RATE);
        let target = Target::share(&format!("{what}, PostgreSQL ÷ SQLite: requests/s"), ratio, share);
        Ok(Section { loads, targets: vec![target], ..section })
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

    /// One node and all of them, with as many connections as all have together.
    fn with_more_connections(&self, requests: Arc<Requests>) -> [Candidate<'_>; 2] {
        let connections = NODES * CONNECTIONS;
        let node = |nodes: &str| {
            let name = format!("Pinhole on PostgreSQL{nodes}, {connections} connections");
            Candidate::new(&name, &self.node().server, connections, requests.clone())
                .backed_by(&self.postgres)
        };
        [node(""), node(", 3 nodes").spread_over(self.nodes.iter().skip(1).map(|node| &node.server))]
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
