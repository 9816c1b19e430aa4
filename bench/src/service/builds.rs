//! Other builds of the service beside this one: another profile, an earlier commit, a switched-off
//! optimisation.

use std::path::Path;
use std::sync::Arc;

use super::compare::{Candidate, compare};
use super::fill::{Filled, READER};
use super::likes::spread_over;
use super::load::Requests;
use super::pinhole::Pinhole;
use super::{Bench, CONNECTIONS, SMALL};
use crate::error::Error;
use crate::photos::NAMES;
use crate::report::{Section, thousands};

/// Pages of the feed that are asked for in turn.
const PAGES: usize = 2_000;
/// Posts that are asked for in turn.
const POSTS: u64 = 10_000;

pub(super) fn sections(bench: &Bench) -> Result<Vec<Section>, Error> {
    let core = Some(bench.cores.server);
    let readers = builds(bench, core)?;
    let writers = builds(bench, None)?;
    // Photos get their ids when they are uploaded, so each build has its own.
    let photos: Vec<String> = readers
        .iter()
        .map(|(_, pinhole)| pinhole.photo(READER, &bench.photo(NAMES[0])))
        .collect::<Result<_, Error>>()?;
    let pages =
        readers.first().map_or(Ok(Vec::new()), |(_, pinhole)| pinhole.page_paths(PAGES, Some(READER)))?;
    let section = |title: &str, requests: &dyn Fn(usize, &Pinhole) -> Arc<Requests>| {
        let candidates: Vec<Candidate> = readers
            .iter()
            .enumerate()
            .map(|(index, (name, pinhole))| {
                let requests = requests(index, pinhole);
                Candidate::new(name, &pinhole.server, CONNECTIONS, requests).with_load_on(bench.cores.load)
            })
            .collect();
        Ok::<_, Error>(Section { loads: compare(bench.pace, &candidates)?, ..Section::new(title) })
    };
    let same = |path: &str, user| {
        let path = path.to_owned();
        move |_: usize, pinhole: &Pinhole| Requests::same(pinhole.read(&path, user))
    };
    let cycle = |pinhole: &Pinhole, paths: &mut dyn Iterator<Item = String>| {
        Requests::cycle(paths.map(|path| pinhole.read(&path, Some(READER))).collect())
    };
    let posts = || (0..POSTS).map(|turn| format!("/posts/{}", turn * 7919 % POSTS * (SMALL / POSTS) + 1));
    let mut sections = vec![
        section("Builds: the first page of the feed, signed in", &same("/feed", Some(READER)))?,
        section("Builds: the first page of the feed, anonymous", &same("/feed", None))?,
        section("Builds: deeper pages of the feed, signed in", &|_, pinhole| {
            cycle(pinhole, &mut pages.iter().cloned())
        })?,
        section("Builds: one post, signed in", &|_, pinhole| cycle(pinhole, &mut posts()))?,
        section("Builds: a cached 512²", &|index, pinhole| {
            Requests::same(pinhole.read(&format!("/photos/{}/512x512", photos[index]), None))
        })?,
    ];
    let candidates: Vec<Candidate> = writers
        .iter()
        .map(|(name, pinhole)| {
            Candidate::new(name, &pinhole.server, CONNECTIONS, spread_over(pinhole, SMALL))
        })
        .collect();
    let loads = compare(bench.pace, &candidates)?;
    sections.push(Section { loads, ..Section::new("Builds: durable likes") });
    if let Some(first) = sections.first_mut() {
        first.notes.push(format!("{} posts. Every build has a copy of the same database.", thousands(SMALL)));
    }
    Ok(sections)
}

/// Every build on a copy of the same database: this one, then those it is compared with.
fn builds(bench: &Bench, core: Option<usize>) -> Result<Vec<(String, Arc<Pinhole>)>, Error> {
    let filled = Filled::with(bench, SMALL)?;
    let this = ("this build".to_owned(), bench.binary.clone());
    let all = std::iter::once(this).chain(bench.against.iter().cloned());
    all.map(|(name, binary)| {
        let role = if core.is_some() { "read" } else { "write" };
        let data = filled.copy(bench, &format!("{role}-{name}"))?;
        let bench = Bench { binary, ..bench.clone() };
        let pinhole = Pinhole::start_as(&format!("{role}-{name}"), &bench, &data.folder, core, &[])?;
        Ok((name, Arc::new(pinhole)))
    })
    .collect()
}

/// `name=path`, or a path that names itself.
pub(super) fn parse(raw: &str) -> Result<(String, std::path::PathBuf), String> {
    let (name, path) = raw.split_once('=').unwrap_or((raw, raw));
    match Path::new(path).is_file() {
        true => Ok((name.replace('/', "_"), path.into())),
        false => Err(format!("no file at {path}")),
    }
}
