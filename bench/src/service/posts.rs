//! Reading one post.

use std::io::Write;
use std::sync::Arc;

use super::bare::Bare;
use super::compare::{Candidate, PER_CPU_SECOND, RATE, compare};
use super::fill::{Filled, READER};
use super::load::Requests;
use super::pinhole::Pinhole;
use super::{Bench, CONNECTIONS};
use crate::error::Error;
use crate::report::{Section, Target, thousands};

/// Distinct posts in the working set.
const MANY: u64 = 100_000;
/// The newest posts, read most in practice.
const NEW: u64 = 1_000;

pub(super) fn section(bench: &Bench) -> Result<Section, Error> {
    let filled = Filled::with(bench, bench.posts)?;
    let pinhole = Pinhole::start(bench, &filled.folder, Some(bench.cores.server), &[])?;
    // The scan of all posts gets its own server, because it evicts the entries the other rows read.
    let scanned_data = filled.copy(bench, "scanned")?;
    let scanned = Pinhole::start(bench, &scanned_data.folder, Some(bench.cores.server), &[])?;
    let step = (filled.posts / MANY).max(1);
    let paths: Vec<String> = (0..MANY).map(|turn| (turn * 7919) % MANY * step + 1).map(path).collect();
    let first =
        pinhole.server.client()?.ask(&pinhole.read(&path(filled.posts / 2), Some(READER)))?.success()?;
    let bare = Bare::start(bench, Some(bench.cores.server), &[first.body.len()])?;
    // Fills the cache before the measurement.
    let mut client = pinhole.server.client()?;
    for path in &paths {
        client.ask(&pinhole.read(path, Some(READER)))?.success()?;
    }
    let requests = Requests::cycle(paths.iter().map(|path| pinhole.read(path, Some(READER))).collect());
    let newest = (0..NEW).map(|turn| pinhole.read(&path(filled.posts - turn), Some(READER))).collect();
    let loads = compare(
        bench.pace,
        &[
            Candidate::new("Pinhole", &pinhole.server, CONNECTIONS, requests).with_load_on(bench.cores.load),
            Candidate::new(
                "bare axum",
                &bare.server,
                CONNECTIONS,
                Requests::same(bare.read(first.body.len())),
            )
            .with_load_on(bench.cores.load),
            Candidate::new("Pinhole, newest", &pinhole.server, CONNECTIONS, Requests::cycle(newest))
                .with_load_on(bench.cores.load),
            Candidate::new("Pinhole, all posts", &scanned.server, CONNECTIONS, all(&scanned, filled.posts))
                .with_load_on(bench.cores.load),
        ],
    )?;
    let (_, most) = scanned.server.memory()?;
    let against_bare = |figure| loads[0].against(&loads[1], figure);
    let targets = vec![
        Target::share("one post, signed in: requests/s of bare axum", against_bare(RATE), 0.6),
        Target::share("one post, signed in: per CPU second of bare axum", against_bare(PER_CPU_SECOND), 0.6),
        Target::share(
            "one new post, signed in: requests/s of bare axum",
            loads[2].against(&loads[1], RATE),
            0.6,
        ),
        Target::at_most("memory with posts read one by one, MiB", most, 200.0),
    ];
    let section = Section::new("One post, signed in").note(format!(
        "{} posts in pseudo-random order out of {}, cached after the first read; the {} newest; and all posts in \
         pseudo-random order, so that nearly every read misses the cache and mostly the page cache of SQLite too. \
         The memory is the peak of the process that served all posts.",
        thousands(MANY),
        thousands(filled.posts),
        thousands(NEW)
    ));
    Ok(Section { loads, targets, ..section })
}

/// Every post once before any repeats.
fn all(pinhole: &Pinhole, posts: u64) -> Arc<Requests> {
    /// A prime that does not divide the number of posts.
    const STEP: u64 = 611_953;
    let request = pinhole.read(&path(0), Some(READER));
    let index = request.iter().position(|b| *b == b'0').unwrap_or_default();
    let (before, behind) = (request[..index].to_vec(), request[index + 1..].to_vec());
    Requests::new(move |number, out| {
        out.extend_from_slice(&before);
        write!(out, "{}", number * STEP % posts + 1).expect("memory takes everything");
        out.extend_from_slice(&behind);
    })
}

fn path(id: u64) -> String {
    format!("/posts/{id}")
}
