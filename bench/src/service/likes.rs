//! Likes that are on the disk when they are answered.

use std::sync::Arc;
use std::time::Duration;

use super::fill::{Filled, HALF, LIKERS, spread};
use super::load::Requests;
use super::ours::Ours;
use super::pocketbase::PocketBase;
use super::race::{Contender, RATE, race};
use super::writer::{Commit, Writer};
use super::{Bench, CONNECTIONS, SMALL, sqlite};
use crate::error::Error;
use crate::report::{Bar, Section, thousands};

/// What a sync takes on many disks that people rent, and on all that turn.
const SLOW_SYNC: Duration = Duration::from_millis(1);

pub(super) fn sections(bench: &Bench) -> Result<Vec<Section>, Error> {
    Ok(vec![on_this_disk(bench)?, on_a_slower_disk(&bench.with_syncs_longer_by(SLOW_SYNC))?])
}

fn on_this_disk(bench: &Bench) -> Result<Section, Error> {
    let filled = Filled::with(bench, SMALL)?;
    let syncs = sqlite::syncs(&bench.home)?;
    let one_each = sqlite::likes(&filled.copy(bench, "alone")?.database(), 1)?;
    let together = sqlite::likes(&filled.copy(bench, "alone")?.database(), CONNECTIONS)?;
    let ours_data = filled.copy(bench, "likes")?;
    let ours = Arc::new(Ours::start(bench, &ours_data.folder, None, &[])?);
    let peer = PocketBase::start(bench, None)?;
    let mut writers = Vec::new();
    let ways = [
        (Commit::Plain, "plain"),
        (Commit::Each, "each"),
        (Commit::Full, "full"),
        (Commit::Normal, "normal"),
    ];
    for (commit, name) in ways {
        let data = filled.copy(bench, name)?;
        writers.push(Writer::start(bench, &data.database(), commit)?);
    }
    let written = |place: usize, name| by_writer(name, &writers[place]);
    let loads = race(
        bench.pace,
        &[
            Contender::new("ours", &ours.server, CONNECTIONS, spread_over(&ours, SMALL)),
            Contender::new("ours, all on one post", &ours.server, CONNECTIONS, all_on_one(&ours)),
            written(0, "a transaction in every request"),
            written(1, "a transaction each, one thread"),
            written(2, "grouped, FULL"),
            written(3, "grouped, NORMAL"),
            Contender::new("PocketBase", &peer.server, CONNECTIONS, peer.likes()),
        ],
    )?;
    let bars = vec![
        Bar::share(
            "likes: a second, of a transaction in every request",
            loads[0].against(&loads[2], RATE),
            5.0,
        ),
        Bar::share(
            "likes: a second, of a transaction each on one thread",
            loads[0].against(&loads[3], RATE),
            5.0,
        ),
        Bar::share("likes, the bare design: FULL of NORMAL", loads[4].against(&loads[5], RATE), 0.85),
        Bar::share("likes: ours of the bare design with NORMAL", loads[0].against(&loads[5], RATE), 0.85),
        Bar::share("likes: all on one post of spread", loads[1].against(&loads[0], RATE), 1.0),
        Bar::share("likes: a second, of PocketBase", loads[0].against(&loads[6], RATE), 1.0),
    ];
    let section = Section::new("Likes that are durable when they are answered")
        .note(format!(
            "{} posts, {CONNECTIONS} connections, each like a new one by one of {} members. The disk syncs 4 KiB {} times a \
             second.",
            thousands(SMALL),
            thousands(HALF),
            thousands(syncs as u64)
        ))
        .note(format!(
            "SQLite alone, one thread in a loop, writes {} likes a second with a transaction for each, and \
             {} with {CONNECTIONS} to a transaction: {:.1} times as many is the most that sharing a commit can \
             give on a disk as quick as this. The slower the disk, the more.",
            thousands(one_each as u64),
            thousands(together as u64),
            together / one_each
        ))
        .note(
            "The lines in the middle are axum and SQLite, without sessions, limits or a log of requests. The first is what one \
             writes down first: a connection behind a lock, a transaction in every request, SQLite's own settings. The others \
             have one thread that writes, with our long log and larger cache: the next commits for every request, the last two \
             commit what is waiting together, as we do. All sync at every commit (FULL), except NORMAL: there, a power cut \
             takes acknowledged likes with it. PocketBase works like that.",
        );
    Ok(Section { loads, bars, ..section })
}

/// The two that differ by how they commit.
fn on_a_slower_disk(bench: &Bench) -> Result<Section, Error> {
    let filled = Filled::with(bench, SMALL)?;
    let (ours_data, each_data) = (filled.copy(bench, "likes")?, filled.copy(bench, "each")?);
    let ours = Arc::new(Ours::start(bench, &ours_data.folder, None, &[])?);
    let each = Writer::start(bench, &each_data.database(), Commit::Each)?;
    let loads = race(
        bench.pace,
        &[
            Contender::new("ours", &ours.server, CONNECTIONS, spread_over(&ours, SMALL)),
            Contender::new("ours, all on one post", &ours.server, CONNECTIONS, all_on_one(&ours)),
            by_writer("a transaction each, one thread", &each),
        ],
    )?;
    let bars = vec![Bar::share(
        "likes, syncs longer by 1 ms: a second, of one transaction each",
        loads[0].against(&loads[2], RATE),
        5.0,
    )];
    let section = Section::new("The same on a slower disk").note(format!(
        "Every sync takes {SLOW_SYNC:?} longer than it does here: `strace` holds the caller for that time, ours and the \
         one that commits for every request alike. Much is rented that syncs like this."
    ));
    Ok(Section { loads, bars, ..section })
}

fn by_writer<'a>(name: &str, writer: &'a Writer) -> Contender<'a> {
    let address = writer.server.address;
    let requests = Requests::new(move |number, out| {
        let (user, post) = spread(number, SMALL);
        out.extend(Writer::like(address, user, post));
    });
    Contender::new(name, &writer.server, CONNECTIONS, requests)
}

/// Never the same pair, and posts far from each other.
pub(super) fn spread_over(ours: &Arc<Ours>, posts: u64) -> Arc<Requests> {
    let ours = ours.clone();
    Requests::new(move |number, out| {
        let (user, post) = spread(number, posts);
        out.extend(ours.like(user, post));
    })
}

/// When everybody has liked it, the next one has its turn.
pub(super) fn all_on_one(ours: &Arc<Ours>) -> Arc<Requests> {
    let ours = ours.clone();
    Requests::new(move |number, out| {
        out.extend(ours.like(LIKERS.start + HALF + number % HALF, 1 + number / HALF));
    })
}
