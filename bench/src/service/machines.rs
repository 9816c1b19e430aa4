//! On PostgreSQL: the feed and likes beside SQLite, on one node and on three, and all likes on one post.

use std::sync::Arc;

use super::feed::shuffled;
use super::fill::{Filled, HALF, READER};
use super::likes::{all_on_one, spread_over};
use super::load::Requests;
use super::ours::Ours;
use super::pgbench::{self, CLIENTS, Script};
use super::postgres::{Cluster, url};
use super::process::Server;
use super::race::{Contender, Entry, RATE, factor, race};
use super::{Bench, CONNECTIONS, SMALL, sqlite};
use crate::error::Error;
use crate::measure::Ratio;
use crate::report::{Bar, Cell, Section, Table, thousands};

const NODES: usize = 3;

pub(super) fn sections(bench: &Bench) -> Result<Vec<Section>, Error> {
    let filled = Filled::with(bench, SMALL)?;
    let cluster = Cluster::filled(bench, &filled)?;
    let mut sections = feed(bench, &filled, &cluster)?;
    sections.push(likes(bench, &filled, &cluster)?);
    Ok(sections.into_iter().map(|section| Section { on_postgres: true, ..section }).collect())
}

/// The first page, and pages further down. Whoever serves shares one core.
fn feed(bench: &Bench, filled: &Filled, cluster: &Cluster) -> Result<Vec<Section>, Error> {
    let crew = Crew::start(bench, filled, cluster, Some(bench.cores.server))?;
    let first = |ours: &Ours| Requests::same(ours.read("/feed", Some(READER)));
    // As many as there are; the same on every database, because a page is known by an id.
    let pages = crew.alone.walk(usize::MAX, Some(READER))?;
    let any = |ours: &Ours| Requests::cycle(shuffled(ours, &pages));

    let script = crew.script(bench, cluster, "first", &pgbench::first_page())?;
    let everybody = crew.everybody("", first(crew.node()), first(&crew.alone), script);
    let loads = race(bench.pace.in_longer_turns(), &everybody.map(|one| one.loaded_from(bench.cores.load)))?;
    let note = format!(
        "{} posts, moved from SQLite by `pinhole migrate`; PostgreSQL {} with 512 MB of shared buffers, all on \
         loopback. Nodes and PostgreSQL share one core, and the load has the other: this shows whether nodes get into \
         each other's way, not how much {NODES} machines carry. CPU time is PostgreSQL's and all nodes' together.",
        thousands(SMALL),
        cluster.version()?
    );
    let first = Section::new("The first page of the feed on PostgreSQL, signed in")
        .note(note)
        .note(
            "On SQLite a node is alone, hears of every change and keeps the page in memory. On PostgreSQL others may \
             write at any moment, so a node asks for everything anew: the caller, the posts, their likes, the authors.",
        )
        .note(format!(
            "PostgreSQL alone is pgbench on {CLIENTS} connections with the same four statements, without making JSON of \
             the rows."
        ));
    let first = Section { tables: vec![ratios(&loads, "")], loads, ..first };

    let script = crew.script(bench, cluster, "any", &pgbench::any_page())?;
    let everybody = crew.everybody("", any(crew.node()), any(&crew.alone), script);
    let loads = race(bench.pace.in_longer_turns(), &everybody.map(|one| one.loaded_from(bench.cores.load)))?;
    let deeper = Section::new("Deeper pages of the feed on PostgreSQL, signed in")
        .note("All pages in a mixed-up order, so that nobody remembers one.");
    let deeper = Section { tables: vec![ratios(&loads, "")], loads, ..deeper };
    Ok(vec![first, deeper])
}

/// Here and there, and all on one post; in one race, so that both have the same rounds.
fn likes(bench: &Bench, filled: &Filled, cluster: &Cluster) -> Result<Section, Error> {
    let syncs = (sqlite::syncs(&bench.home)?, sqlite::syncs(cluster.folder())?);
    let crew = Crew::start(bench, filled, cluster, None)?;
    let script = crew.script(bench, cluster, "spread", &pgbench::spread_likes())?;
    let spread = crew.everybody("", spread_over(crew.node(), SMALL), spread_over(&crew.alone, SMALL), script);
    let script = crew.script(bench, cluster, "one", &pgbench::likes_on_one())?;
    let hot = crew.everybody(", on one post", all_on_one(crew.node()), all_on_one(&crew.alone), script);
    let contenders: Vec<Contender> = spread.into_iter().chain(hot).collect();
    let loads = race(bench.pace.in_longer_turns(), &contenders)?;

    let (spread, hot) = loads.split_at(4);
    let hot_of_spread = |place: usize| hot[place].against(&spread[place], RATE);
    let bars = vec![
        Bar::share("likes on PostgreSQL: all on one post of spread", hot_of_spread(0), 0.5),
        Bar::share("likes on PostgreSQL, three nodes: all on one post of spread", hot_of_spread(2), 0.5),
    ];
    let mut all = ratios(spread, "");
    all.rows.extend(ratios(hot, ", on one post").rows);
    let whose = ["PostgreSQL", "SQLite", "three nodes on PostgreSQL", "PostgreSQL alone"];
    let rows = whose
        .iter()
        .zip(0..)
        .map(|(who, place)| ratio(format!("{who}: on one post ÷ spread"), hot_of_spread(place)));
    all.rows.extend(rows.map(Vec::from));
    let section = Section::new("Likes on PostgreSQL")
        .note(format!(
            "{} posts, {CONNECTIONS} connections, each like a new one by one of {} members, on the disk when it is \
             answered (`fsync` and `synchronous_commit` are on). Everybody on all cores, the load as well. The disk syncs \
             4 KiB {} times a second under SQLite and {} under PostgreSQL.",
            thousands(SMALL),
            thousands(HALF),
            thousands(syncs.0 as u64),
            thousands(syncs.1 as u64)
        ))
        .note(format!(
            "PostgreSQL alone is pgbench on {CLIENTS} connections with a transaction for each like. A node commits what is \
             waiting together, and adds up what one post gets before it touches its row."
        ));
    Ok(Section { tables: vec![all], loads, bars, ..section })
}

/// Whoever serves; ended in this order.
struct Crew {
    /// On SQLite.
    alone: Arc<Ours>,
    nodes: Vec<Arc<Ours>>,
    postgres: Server,
}

impl Crew {
    fn start(bench: &Bench, filled: &Filled, cluster: &Cluster, core: Option<usize>) -> Result<Self, Error> {
        let postgres = cluster.start(bench, core)?;
        let database = url(&postgres);
        let mut nodes = Vec::new();
        for number in 1..=NODES {
            let name = format!("node-{number}");
            let folder = bench.fresh(&name)?;
            let flags = ["--database-url", database.as_str()];
            nodes.push(Arc::new(Ours::start_as(&name, bench, &folder, core, &flags)?));
        }
        let data = filled.copy(bench, "machines")?;
        let alone = Arc::new(Ours::start_as("alone", bench, &data.folder, core, &[])?);
        Ok(Self { alone, nodes, postgres })
    }

    /// The one that is asked where one is.
    fn node(&self) -> &Arc<Ours> {
        &self.nodes[0]
    }

    fn script(&self, bench: &Bench, cluster: &Cluster, name: &str, text: &str) -> Result<Script, Error> {
        Script::new(bench, cluster.pgbench(), self.postgres.address, name, text)
    }

    /// One node on PostgreSQL, one on SQLite, all nodes on PostgreSQL, and PostgreSQL alone. Nodes draw from
    /// the same requests, so that none is asked for a like that another has given; as behind a proxy, they
    /// all hear one name.
    fn everybody(
        &self,
        what: &str,
        shared: Arc<Requests>,
        own: Arc<Requests>,
        script: Script,
    ) -> [Contender<'_>; 4] {
        let node = |name: &str| {
            let name = format!("ours on PostgreSQL{name}{what}");
            Contender::new(&name, &self.node().server, CONNECTIONS, shared.clone()).leaning_on(&self.postgres)
        };
        [
            node(""),
            Contender::new(&format!("ours on SQLite{what}"), &self.alone.server, CONNECTIONS, own),
            node(", 3 nodes").spread_over(self.nodes.iter().skip(1).map(|node| &node.server)),
            Contender::scripted(&format!("PostgreSQL alone{what}"), &self.postgres, script),
        ]
    }
}

/// What the four came to beside each other.
fn ratios(loads: &[Entry], what: &str) -> Table {
    let of = |words: &str, one: usize, other: usize| {
        ratio(format!("{words}{what}"), loads[one].against(&loads[other], RATE))
    };
    let rows = [
        of("PostgreSQL ÷ SQLite", 0, 1),
        of("three nodes ÷ one", 2, 0),
        of("one node ÷ PostgreSQL alone", 0, 3),
    ];
    Table::new(["a second", "times"], rows)
}

fn ratio(words: String, ratio: Ratio) -> [Cell; 2] {
    [Cell::Text(words), factor(ratio)]
}
