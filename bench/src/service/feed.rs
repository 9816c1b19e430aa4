//! Reading the feed: the first page, signed in and not, and pages further down.

use super::bare::Bare;
use super::compare::{CPU, Candidate, P50, PER_CPU_SECOND, RATE, compare};
use super::fill::{Filled, READER};
use super::load::Requests;
use super::pinhole::Pinhole;
use super::pocketbase::{self, PocketBase};
use super::{Bench, CONNECTIONS, sqlite};
use crate::error::Error;
use crate::report::{Section, Target, thousands};

/// The deepest page, reached by `paging.next`.
pub(super) const FAR: usize = 10_000;

pub(super) fn sections(bench: &Bench) -> Result<Vec<Section>, Error> {
    let filled = Filled::with(bench, bench.posts)?;
    let pinhole = Pinhole::start(bench, &filled.folder, Some(bench.cores.server), &[])?;
    let length = |path: &str, user| {
        Ok::<_, Error>(pinhole.server.client()?.ask(&pinhole.read(path, user))?.success()?.body.len())
    };
    let pages = pinhole.page_paths(FAR, Some(READER))?;
    let (Some(second), Some(last)) = (pages.first(), pages.last()) else {
        return Err(Error::measure("the feed has one page only"));
    };
    let lengths = [length("/feed", Some(READER))?, length("/feed", None)?, length(last, Some(READER))?];
    let bare = Bare::start(bench, Some(bench.cores.server), &lengths)?;
    let peer = PocketBase::start(bench, Some(bench.cores.server))?;
    peer.check()?;
    let asks = |name: &str, path: &str, user| {
        let requests = Requests::same(pinhole.read(path, user));
        Candidate::new(name, &pinhole.server, CONNECTIONS, requests).with_load_on(bench.cores.load)
    };
    let limit = |length| {
        let requests = Requests::same(bare.read(length));
        Candidate::new("bare axum", &bare.server, CONNECTIONS, requests).with_load_on(bench.cores.load)
    };
    let other = |signed_in| {
        let requests = Requests::same(peer.feed(signed_in));
        Candidate::new("PocketBase", &peer.server, CONNECTIONS, requests).with_load_on(bench.cores.load)
    };
    Ok(vec![
        signed_in(bench, &filled, [asks("Pinhole", "/feed", Some(READER)), limit(lengths[0]), other(true)])?,
        anonymous(bench, [asks("Pinhole", "/feed", None), limit(lengths[1]), other(false)])?,
        deeper(
            bench,
            [
                Candidate::new(
                    "Pinhole, any page",
                    &pinhole.server,
                    CONNECTIONS,
                    Requests::cycle(shuffled(&pinhole, &pages)),
                )
                .with_load_on(bench.cores.load),
                limit(lengths[2]),
                asks("Pinhole, page 2", second, Some(READER)),
                asks(&format!("Pinhole, page {}", thousands(pages.len() as u64 + 1)), last, Some(READER)),
            ],
        )?,
    ])
}

fn signed_in(bench: &Bench, filled: &Filled, candidates: [Candidate; 3]) -> Result<Section, Error> {
    let loads = compare(bench.pace, &candidates)?;
    let against_bare = |figure| loads[0].against(&loads[1], figure);
    let targets = vec![
        Target::share("feed, signed in: requests/s of bare axum", against_bare(RATE), 0.6),
        Target::share("feed, signed in: per CPU second of bare axum", against_bare(PER_CPU_SECOND), 0.6),
        Target::share("feed, signed in: requests/s of PocketBase", loads[0].against(&loads[2], RATE), 1.0),
    ];
    let alone = sqlite::pages(&filled.database(), READER, bench.cores.server)?;
    let section = Section::new("The first page of the feed, signed in")
        .note(format!(
            "{} posts, 20 on a page, with authors and the caller's likes. PocketBase has {}.",
            thousands(filled.posts),
            thousands(pocketbase::POSTS)
        ))
        .note(format!(
            "SQLite alone, one thread in a loop, reads the rows of such a page in {alone:.1} µs: the least that a page \
             costs on a cache miss."
        ));
    Ok(Section { loads, targets, ..section })
}

fn anonymous(bench: &Bench, candidates: [Candidate; 3]) -> Result<Section, Error> {
    let loads = compare(bench.pace, &candidates)?;
    let against_bare = |figure| loads[0].against(&loads[1], figure);
    let targets = vec![
        Target::share("feed, anonymous: requests/s of bare axum", against_bare(RATE), 0.85),
        Target::share("feed, anonymous: per CPU second of bare axum", against_bare(PER_CPU_SECOND), 0.85),
        Target::share("feed, anonymous: requests/s of PocketBase", loads[0].against(&loads[2], RATE), 1.0),
    ];
    Ok(Section { loads, targets, ..Section::new("The first page of the feed, anonymous") })
}

fn deeper(bench: &Bench, candidates: [Candidate; 4]) -> Result<Section, Error> {
    let loads = compare(bench.pace, &candidates)?;
    let targets = vec![
        Target::share("deeper pages: requests/s of bare axum", loads[0].against(&loads[1], RATE), 0.2),
        Target::share(
            "deeper pages: per CPU second of bare axum",
            loads[0].against(&loads[1], PER_CPU_SECOND),
            0.2,
        ),
        Target::ratio("page 10,000 against page 2: CPU", loads[3].against(&loads[2], CPU), 1.2),
        Target::ratio("page 10,000 against page 2: p50", loads[3].against(&loads[2], P50), 1.2),
    ];
    let section = Section::new("Deeper pages of the feed, signed in").note(
        "Pages are reached by following `paging.next`. \"Any page\" requests all of them in pseudo-random order, so \
         that none is cached.",
    );
    Ok(Section { loads, targets, ..section })
}

/// In pseudo-random order, each once before any repeats.
pub(super) fn shuffled(pinhole: &Pinhole, pages: &[String]) -> Vec<Vec<u8>> {
    // A prime that does not divide their number.
    const STEP: usize = 7919;
    let order = (0..pages.len()).map(|turn| turn * STEP % pages.len());
    order.map(|index| pinhole.read(&pages[index], Some(READER))).collect()
}
