//! How the feed, memory and start time grow with the number of posts.

use super::compare::{CPU, Candidate, compare};
use super::feed::FAR;
use super::fill::{Filled, READER};
use super::load::Requests;
use super::pinhole::Pinhole;
use super::{Bench, CONNECTIONS};
use crate::error::Error;
use crate::measure::median;
use crate::report::{Cell, Section, Table, Target, thousands};

const STARTS: usize = 3;
const MILLION: u64 = 1_000_000;

pub(super) fn sections(bench: &Bench) -> Result<Vec<Section>, Error> {
    let mut sizes = vec![10_000, 100_000, MILLION];
    if bench.full {
        sizes.push(10 * MILLION);
    }
    let mut grown = Vec::new();
    for posts in sizes {
        grown.push(Grown::start(bench, posts)?);
    }
    let candidates: Vec<Candidate> = grown.iter().flat_map(|grown| grown.pages(bench)).collect();
    let loads = compare(bench.pace, &candidates)?;

    let (first, last) = (&loads[..3], &loads[loads.len() - 3..]);
    let largest = grown.last().map_or(0, |grown| grown.posts);
    let targets =
        ["page 1", "page 2"].into_iter().zip(last.iter().zip(first)).map(|(page, (last, first))| {
            let what = format!("feed, {page}: CPU with {} posts against 10,000", thousands(largest));
            Target::ratio(&what, last.against(first, CPU), 1.3)
        });
    let targets = targets
        .chain([Target::ratio(
            "page 10,000 against page 2, most posts: CPU",
            last[2].against(&last[1], CPU),
            1.2,
        )])
        .collect();
    let rest = at_rest(bench, &grown)?;
    let section = Section::new("As the number of posts grows").note(format!(
        "A service for each size, all of them in the same rounds; {CONNECTIONS} connections, signed in, 4 likes a post. \
         The smallest has no 10,000th page, so its last page is used."
    ));
    Ok(vec![Section { loads, targets, ..section }, rest])
}

struct Grown {
    posts: u64,
    pinhole: Pinhole,
    starts_ms: Vec<f64>,
    at_start_mib: f64,
    second: String,
    far: String,
    far_number: usize,
}

impl Grown {
    fn start(bench: &Bench, posts: u64) -> Result<Self, Error> {
        let filled = Filled::with(bench, posts)?;
        let mut starts_ms = Vec::new();
        let mut started = None;
        for _ in 0..STARTS {
            // The previous process must release its lock on the folder.
            drop(started.take());
            let pinhole = Pinhole::start(bench, &filled.folder, Some(bench.cores.server), &[])?;
            starts_ms.push(pinhole.ready_after.as_secs_f64() * 1000.0);
            started = Some(pinhole);
        }
        let pinhole = started.ok_or_else(|| Error::measure("nothing was started"))?;
        let (at_start_mib, _) = pinhole.server.memory()?;
        let pages = pinhole.page_paths(FAR, Some(READER))?;
        let (Some(second), Some(far)) = (pages.first().cloned(), pages.last().cloned()) else {
            return Err(Error::measure("the feed has one page only"));
        };
        Ok(Self { posts, pinhole, starts_ms, at_start_mib, second, far, far_number: pages.len() + 1 })
    }

    fn pages<'a>(&'a self, bench: &Bench) -> [Candidate<'a>; 3] {
        let far = format!("page {}", thousands(self.far_number as u64));
        [("page 1", "/feed"), ("page 2", &self.second), (far.as_str(), &self.far)].map(|(page, path)| {
            let name = format!("{} posts, {page}", thousands(self.posts));
            let requests = Requests::same(self.pinhole.read(path, Some(READER)));
            Candidate::new(&name, &self.pinhole.server, CONNECTIONS, requests).with_load_on(bench.cores.load)
        })
    }
}

/// After everything above was served.
fn at_rest(bench: &Bench, grown: &[Grown]) -> Result<Section, Error> {
    let empty = Pinhole::start(bench, &bench.fresh("empty")?, None, &[])?;
    std::thread::sleep(std::time::Duration::from_secs(1));
    let (at_rest, _) = empty.server.memory()?;
    let mut rows = vec![[
        "none".into(),
        Cell::Text(format!("{:.0}", empty.ready_after.as_secs_f64() * 1000.0)),
        at_rest.into(),
        "".into(),
        "".into(),
    ]];
    let mut targets = vec![Target::at_most("memory at rest, MiB", at_rest, 40.0)];
    for size in grown {
        let (now, most) = size.pinhole.server.memory()?;
        let start = median(&size.starts_ms);
        if size.posts == MILLION {
            targets.push(Target::at_most("memory with 1 M posts served, MiB", most, 200.0));
            targets.push(Target::at_most("start to ready with 1 M posts, s", start / 1000.0, 0.5));
        }
        let start = Cell::Text(format!("{start:.0}"));
        rows.push([Cell::Integer(size.posts), start, size.at_start_mib.into(), now.into(), most.into()]);
    }
    let head = ["posts", "start to ready, ms", "MiB at the start", "MiB after serving", "MiB at most"];
    let section = Section::new("Memory and start").note(format!(
        "Resident memory of the process; the start is the median of {STARTS}, from `exec` to the first success of `/readyz`, \
         with the file in the page cache."
    ));
    Ok(Section { tables: vec![Table::new(head, rows)], targets, ..section })
}
