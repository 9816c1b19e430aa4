//! Reading one post.

use std::io::Write;
use std::sync::Arc;

use super::bare::Bare;
use super::fill::{Filled, READER};
use super::load::Requests;
use super::ours::Ours;
use super::race::{Contender, RATE, THRIFT, race};
use super::{Bench, CONNECTIONS};
use crate::error::Error;
use crate::report::{Bar, Section, thousands};

/// How many different ones are asked for.
const MANY: u64 = 100_000;
/// And how many of the newest.
const NEW: u64 = 1_000;

pub(super) fn section(bench: &Bench) -> Result<Section, Error> {
    let filled = Filled::with(bench, bench.posts)?;
    let ours = Ours::start(bench, &filled.folder, Some(bench.cores.server), &[])?;
    // Who reads everything would push out what others come back to.
    let walked_data = filled.copy(bench, "walked")?;
    let walked = Ours::start(bench, &walked_data.folder, Some(bench.cores.server), &[])?;
    let step = (filled.posts / MANY).max(1);
    let paths: Vec<String> = (0..MANY).map(|turn| (turn * 7919) % MANY * step + 1).map(path).collect();
    let first = ours.server.talk()?.ask(&ours.read(&path(filled.posts / 2), Some(READER)))?.fine()?;
    let bare = Bare::start(bench, Some(bench.cores.server), &[first.body.len()])?;
    // Read before anybody is measured.
    let mut talk = ours.server.talk()?;
    for path in &paths {
        talk.ask(&ours.read(path, Some(READER)))?.fine()?;
    }
    let requests = Requests::cycle(paths.iter().map(|path| ours.read(path, Some(READER))).collect());
    let newest = (0..NEW).map(|turn| ours.read(&path(filled.posts - turn), Some(READER))).collect();
    let loads = race(
        bench.pace,
        &[
            Contender::new("ours", &ours.server, CONNECTIONS, requests).loaded_from(bench.cores.load),
            Contender::new(
                "bare axum",
                &bare.server,
                CONNECTIONS,
                Requests::same(bare.read(first.body.len())),
            )
            .loaded_from(bench.cores.load),
            Contender::new("ours, new ones", &ours.server, CONNECTIONS, Requests::cycle(newest))
                .loaded_from(bench.cores.load),
            Contender::new("ours, all of them", &walked.server, CONNECTIONS, all(&walked, filled.posts))
                .loaded_from(bench.cores.load),
        ],
    )?;
    let (_, most) = walked.server.memory()?;
    let against_bare = |figure| loads[0].against(&loads[1], figure);
    let bars = vec![
        Bar::share("one post, signed in: requests/s of bare axum", against_bare(RATE), 0.6),
        Bar::share("one post, signed in: per CPU second of bare axum", against_bare(THRIFT), 0.6),
        Bar::share(
            "one new post, signed in: requests/s of bare axum",
            loads[2].against(&loads[1], RATE),
            0.6,
        ),
        Bar::at_most("memory with posts read one by one, MiB", most, 200.0),
    ];
    let section = Section::new("One post, signed in").note(format!(
        "{} different ones in a mixed-up order out of {}, which are in memory when they are asked for again; the {} \
         newest, which people look at; and all of them one after another in a mixed-up order, so that nearly every one has \
         to be read from the database, and mostly from a page of it that is not in memory either. The memory is the most \
         that the process of these last ones took.",
        thousands(MANY),
        thousands(filled.posts),
        thousands(NEW)
    ));
    Ok(Section { loads, bars, ..section })
}

/// None comes back before all others have had their turn.
fn all(ours: &Ours, posts: u64) -> Arc<Requests> {
    /// A prime that does not divide the number of posts.
    const STEP: u64 = 611_953;
    let request = ours.read(&path(0), Some(READER));
    let place = request.iter().position(|b| *b == b'0').unwrap_or_default();
    let (before, behind) = (request[..place].to_vec(), request[place + 1..].to_vec());
    Requests::new(move |number, out| {
        out.extend_from_slice(&before);
        write!(out, "{}", number * STEP % posts + 1).expect("memory takes everything");
        out.extend_from_slice(&behind);
    })
}

fn path(id: u64) -> String {
    format!("/posts/{id}")
}
