//! Likes that are durable before the response.

use std::sync::Arc;
use std::time::Duration;

use super::compare::{Candidate, RATE, compare};
use super::fill::{Filled, HALF, LIKERS, spread};
use super::load::Requests;
use super::pinhole::Pinhole;
use super::pocketbase::PocketBase;
use super::writer::{Commit, Writer};
use super::{Bench, CONNECTIONS, SMALL, sqlite};
use crate::error::Error;
use crate::report::{Section, Target, thousands};

/// The sync latency of network block storage and of hard disks.
const SLOW_SYNC: Duration = Duration::from_millis(1);

pub(super) fn sections(bench: &Bench) -> Result<Vec<Section>, Error> {
    Ok(vec![on_this_disk(bench)?, on_a_slower_disk(&bench.with_syncs_longer_by(SLOW_SYNC))?])
}

fn on_this_disk(bench: &Bench) -> Result<Section, Error> {
    let filled = Filled::with(bench, SMALL)?;
    let syncs = sqlite::syncs(&bench.home)?;
    let one_each = sqlite::likes(&filled.copy(bench, "alone")?.database(), 1)?;
    let together = sqlite::likes(&filled.copy(bench, "alone")?.database(), CONNECTIONS)?;
    let pinhole_data = filled.copy(bench, "likes")?;
    let pinhole = Arc::new(Pinhole::start(bench, &pinhole_data.folder, None, &[])?);
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
    let by = |index: usize, name| by_writer(name, &writers[index]);
    let loads = compare(
        bench.pace,
        &[
            Candidate::new("Pinhole", &pinhole.server, CONNECTIONS, spread_over(&pinhole, SMALL)),
            Candidate::new("Pinhole, all on one post", &pinhole.server, CONNECTIONS, all_on_one(&pinhole)),
            by(0, "a transaction in every request"),
            by(1, "a transaction each, one thread"),
            by(2, "batched, FULL"),
            by(3, "batched, NORMAL"),
            Candidate::new("PocketBase", &peer.server, CONNECTIONS, peer.likes()),
        ],
    )?;
    let targets = vec![
        Target::share("likes/s of a transaction in every request", loads[0].against(&loads[2], RATE), 5.0),
        Target::share("likes/s of a transaction each on one thread", loads[0].against(&loads[3], RATE), 5.0),
        Target::share("likes, the bare design: FULL of NORMAL", loads[4].against(&loads[5], RATE), 0.85),
        Target::share(
            "likes: Pinhole of the bare design with NORMAL",
            loads[0].against(&loads[5], RATE),
            0.85,
        ),
        Target::share("likes: all on one post of spread", loads[1].against(&loads[0], RATE), 1.0),
        Target::share("likes/s of PocketBase", loads[0].against(&loads[6], RATE), 1.0),
    ];
    let section = Section::new("Durable likes")
        .note(format!(
            "{} posts, {CONNECTIONS} connections, each like a new one by one of {} users. The disk syncs 4 KiB {} times a \
             second.",
            thousands(SMALL),
            thousands(HALF),
            thousands(syncs as u64)
        ))
        .note(format!(
            "SQLite alone, one thread in a loop, writes {} likes/s with a transaction for each and {} with \
             {CONNECTIONS} per transaction: {:.1} times as many is the upper bound for group commit on this disk. \
             A slower disk raises it.",
            thousands(one_each as u64),
            thousands(together as u64),
            together / one_each
        ))
        .note(
            "The rows in the middle are axum and SQLite, without sessions, rate limits or logging. \"In every request\" is the \
             simplest design: a connection behind a mutex, default settings. The others have one writer thread with \
             Pinhole's WAL size and page cache; one commits per request, the last two commit queued writes in one batch, \
             as Pinhole does. All sync at every commit (FULL), except NORMAL, which loses acknowledged likes at a power \
             cut; PocketBase uses NORMAL.",
        );
    Ok(Section { loads, targets, ..section })
}

/// Pinhole and the design with a transaction each.
fn on_a_slower_disk(bench: &Bench) -> Result<Section, Error> {
    let filled = Filled::with(bench, SMALL)?;
    let (pinhole_data, each_data) = (filled.copy(bench, "likes")?, filled.copy(bench, "each")?);
    let pinhole = Arc::new(Pinhole::start(bench, &pinhole_data.folder, None, &[])?);
    let each = Writer::start(bench, &each_data.database(), Commit::Each)?;
    let loads = compare(
        bench.pace,
        &[
            Candidate::new("Pinhole", &pinhole.server, CONNECTIONS, spread_over(&pinhole, SMALL)),
            Candidate::new("Pinhole, all on one post", &pinhole.server, CONNECTIONS, all_on_one(&pinhole)),
            by_writer("a transaction each, one thread", &each),
        ],
    )?;
    let targets = vec![Target::share(
        "likes, syncs 1 ms longer: likes/s of a transaction each",
        loads[0].against(&loads[2], RATE),
        5.0,
    )];
    let section = Section::new("The same on a slower disk").note(format!(
        "Every sync takes {SLOW_SYNC:?} longer: `strace` delays the return of `fsync`, for Pinhole and for the design with \
         a transaction each. Network block storage syncs at about this speed."
    ));
    Ok(Section { loads, targets, ..section })
}

fn by_writer<'a>(name: &str, writer: &'a Writer) -> Candidate<'a> {
    let address = writer.server.address;
    let requests = Requests::new(move |number, out| {
        let (user, post) = spread(number, SMALL);
        out.extend(Writer::like(address, user, post));
    });
    Candidate::new(name, &writer.server, CONNECTIONS, requests)
}

/// Never the same pair, and posts far from each other.
pub(super) fn spread_over(pinhole: &Arc<Pinhole>, posts: u64) -> Arc<Requests> {
    spread_from(0, pinhole, posts)
}

/// The same pairs, beginning with another one.
pub(super) fn spread_from(first: u64, pinhole: &Arc<Pinhole>, posts: u64) -> Arc<Requests> {
    let pinhole = pinhole.clone();
    Requests::new(move |number, out| {
        let (user, post) = spread(first + number, posts);
        out.extend(pinhole.like(user, post));
    })
}

/// One post until every user has liked it, then the next.
pub(super) fn all_on_one(pinhole: &Arc<Pinhole>) -> Arc<Requests> {
    let pinhole = pinhole.clone();
    Requests::new(move |number, out| {
        out.extend(pinhole.like(LIKERS.start + HALF + number % HALF, 1 + number / HALF));
    })
}
