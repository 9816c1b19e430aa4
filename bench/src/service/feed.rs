//! Reading the feed: the first page, signed in and not, and pages further down.

use super::bare::Bare;
use super::fill::{Filled, READER};
use super::load::Requests;
use super::ours::Ours;
use super::pocketbase::{self, PocketBase};
use super::race::{CPU, Contender, P50, RATE, THRIFT, race};
use super::{Bench, CONNECTIONS, sqlite};
use crate::error::Error;
use crate::report::{Bar, Section, thousands};

/// By `next`, as far as anybody may scroll.
pub(super) const FAR: usize = 10_000;

pub(super) fn sections(bench: &Bench) -> Result<Vec<Section>, Error> {
    let filled = Filled::with(bench, bench.posts)?;
    let ours = Ours::start(bench, &filled.folder, Some(bench.cores.server), &[])?;
    let length = |path: &str, user| {
        Ok::<_, Error>(ours.server.talk()?.ask(&ours.read(path, user))?.fine()?.body.len())
    };
    let pages = ours.walk(FAR, Some(READER))?;
    let (Some(second), Some(last)) = (pages.first(), pages.last()) else {
        return Err(Error::measure("the feed has one page only"));
    };
    let lengths = [length("/feed", Some(READER))?, length("/feed", None)?, length(last, Some(READER))?];
    let bare = Bare::start(bench, Some(bench.cores.server), &lengths)?;
    let peer = PocketBase::start(bench, Some(bench.cores.server))?;
    peer.check()?;
    let asks = |name: &str, path: &str, user| {
        let requests = Requests::same(ours.read(path, user));
        Contender::new(name, &ours.server, CONNECTIONS, requests).loaded_from(bench.cores.load)
    };
    let limit = |length| {
        let requests = Requests::same(bare.read(length));
        Contender::new("bare axum", &bare.server, CONNECTIONS, requests).loaded_from(bench.cores.load)
    };
    let other = |signed_in| {
        let requests = Requests::same(peer.feed(signed_in));
        Contender::new("PocketBase", &peer.server, CONNECTIONS, requests).loaded_from(bench.cores.load)
    };
    Ok(vec![
        signed_in(bench, &filled, [asks("ours", "/feed", Some(READER)), limit(lengths[0]), other(true)])?,
        anonymous(bench, [asks("ours", "/feed", None), limit(lengths[1]), other(false)])?,
        deeper(
            bench,
            [
                Contender::new(
                    "ours, any page",
                    &ours.server,
                    CONNECTIONS,
                    Requests::cycle(shuffled(&ours, &pages)),
                )
                .loaded_from(bench.cores.load),
                limit(lengths[2]),
                asks("ours, page 2", second, Some(READER)),
                asks(&format!("ours, page {}", thousands(pages.len() as u64 + 1)), last, Some(READER)),
            ],
        )?,
    ])
}

fn signed_in(bench: &Bench, filled: &Filled, contenders: [Contender; 3]) -> Result<Section, Error> {
    let loads = race(bench.pace, &contenders)?;
    let against_bare = |figure| loads[0].against(&loads[1], figure);
    let bars = vec![
        Bar::share("feed, signed in: requests/s of bare axum", against_bare(RATE), 0.6),
        Bar::share("feed, signed in: per CPU second of bare axum", against_bare(THRIFT), 0.6),
        Bar::share("feed, signed in: requests/s of PocketBase", loads[0].against(&loads[2], RATE), 1.0),
    ];
    let alone = sqlite::pages(&filled.database(), READER, bench.cores.server)?;
    let section = Section::new("The first page of the feed, signed in")
        .note(format!(
            "{} posts, 20 on a page, with authors and the caller's likes. PocketBase has {}.",
            thousands(filled.posts),
            thousands(pocketbase::POSTS)
        ))
        .note(format!(
            "SQLite alone, one thread in a loop, makes the rows of such a page in {alone:.1} µs: what a page costs at \
             least that is not remembered."
        ));
    Ok(Section { loads, bars, ..section })
}

fn anonymous(bench: &Bench, contenders: [Contender; 3]) -> Result<Section, Error> {
    let loads = race(bench.pace, &contenders)?;
    let against_bare = |figure| loads[0].against(&loads[1], figure);
    let bars = vec![
        Bar::share("feed, anonymous: requests/s of bare axum", against_bare(RATE), 0.85),
        Bar::share("feed, anonymous: per CPU second of bare axum", against_bare(THRIFT), 0.85),
        Bar::share("feed, anonymous: requests/s of PocketBase", loads[0].against(&loads[2], RATE), 1.0),
    ];
    Ok(Section { loads, bars, ..Section::new("The first page of the feed, anonymous") })
}

fn deeper(bench: &Bench, contenders: [Contender; 4]) -> Result<Section, Error> {
    let loads = race(bench.pace, &contenders)?;
    let bars = vec![
        Bar::share("deeper pages: requests/s of bare axum", loads[0].against(&loads[1], RATE), 0.2),
        Bar::share("deeper pages: per CPU second of bare axum", loads[0].against(&loads[1], THRIFT), 0.2),
        Bar::ratio("page 10,000 against page 2: CPU", loads[3].against(&loads[2], CPU), 1.2),
        Bar::ratio("page 10,000 against page 2: p50", loads[3].against(&loads[2], P50), 1.2),
    ];
    let section = Section::new("Deeper pages of the feed, signed in").note(
        "Pages are reached by following `paging.next` from the first. \"Any page\" asks for all of them in a mixed-up \
         order, so that nobody remembers one.",
    );
    Ok(Section { loads, bars, ..section })
}

/// Far apart, each once before any comes again.
pub(super) fn shuffled(ours: &Ours, pages: &[String]) -> Vec<Vec<u8>> {
    // A prime that does not divide their number.
    const STEP: usize = 7919;
    let places = (0..pages.len()).map(|turn| turn * STEP % pages.len());
    places.map(|place| ours.read(&pages[place], Some(READER))).collect()
}
