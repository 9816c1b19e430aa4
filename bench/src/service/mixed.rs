//! The feed under mixed load: readers beside likes, logins or uploads.

use std::sync::Arc;

use super::compare::{Candidate, Entry, P50, P99, RATE, compare, factor, millis};
use super::fill::{Filled, LIKERS, READER};
use super::likes::spread_over;
use super::load::Requests;
use super::pinhole::Pinhole;
use super::{Bench, CONNECTIONS, SMALL};
use crate::error::Error;
use crate::photos::NAMES;
use crate::report::{Cell, Section, Table, Target};

const LIKES_A_SECOND: f64 = 1500.0;
/// Below the queue limit of one address, so none is rejected.
const LOGINS: usize = 16;
/// By as many users.
const UPLOADS: usize = 8;

pub(super) fn sections(bench: &Bench) -> Result<Vec<Section>, Error> {
    let filled = Filled::with(bench, SMALL)?.copy(bench, "mixed")?;
    let pinhole = Arc::new(Pinhole::start(bench, &filled.folder, None, &[])?);
    let background = Background::prepare(bench, &pinhole)?;
    let pace = bench.pace.in_longer_turns();
    let loads = compare(pace, &background.around(None))?;
    let rate = loads[0].of(RATE).median / 2.0;
    let tail = compare(pace, &background.around(Some(rate)))?;
    Ok(vec![together(loads), at_half_load(rate, tail)])
}

/// The concurrent work beside the readers.
struct Background {
    pinhole: Arc<Pinhole>,
    likes: Arc<Requests>,
    logins: Arc<Requests>,
    uploads: Arc<Requests>,
}

impl Background {
    fn prepare(bench: &Bench, pinhole: &Arc<Pinhole>) -> Result<Self, Error> {
        let photo = bench.photo(NAMES[0]);
        let uploads = LIKERS.take(UPLOADS).map(|user| pinhole.upload(user, &photo));
        Ok(Self {
            pinhole: pinhole.clone(),
            likes: spread_over(pinhole, SMALL),
            logins: Requests::same(pinhole.login("storm")?),
            uploads: Requests::cycle(uploads.collect::<Result<_, _>>()?),
        })
    }

    /// Readers alone, then beside each of the others; as fast as they can, or at a rate.
    fn around(&self, rate: Option<f64>) -> Vec<Candidate<'_>> {
        let feed = self.pinhole.read("/feed", Some(READER));
        let readers = |name: &str| {
            Candidate::new(name, &self.pinhole.server, CONNECTIONS, Requests::same(feed.clone()))
                .at_rate(rate)
        };
        vec![
            readers("alone"),
            readers("1,500 likes a second").beside(CONNECTIONS, Some(LIKES_A_SECOND), self.likes.clone()),
            readers("a login flood").beside(LOGINS, None, self.logins.clone()),
            readers("an upload flood").beside(UPLOADS, None, self.uploads.clone()),
        ]
    }
}

fn together(loads: Vec<Entry>) -> Section {
    let beside = |index: usize, what: &str, share: f64| {
        [
            Target::share(
                &format!("feed during {what}: requests/s of alone"),
                loads[index].against(&loads[0], RATE),
                share,
            ),
            Target::ratio(&format!("feed during {what}: p99"), loads[index].against(&loads[0], P99), 3.0),
        ]
    };
    let targets = [
        beside(1, "1,500 likes a second", 0.85),
        beside(2, "a login flood", 0.6),
        beside(3, "an upload flood", 0.5),
    ];
    let rows = loads.iter().enumerate().map(|(index, load)| {
        let meanwhile = load.of(|sample| sample.beside_per_second.unwrap_or(0.0)).median;
        let (rate, slower) = (load.against(&loads[0], RATE), load.against(&loads[0], P99));
        [
            Cell::Text(load.name.clone()),
            meanwhile.into(),
            if index > 0 { factor(rate) } else { "".into() },
            if index > 0 { factor(slower) } else { "".into() },
        ]
    });
    let table = Table::new(
        ["beside readers", "background jobs/s", "readers' requests/s ÷ alone", "p99 ÷ alone"],
        rows,
    );
    let section = Section::new("The feed under mixed load").note(format!(
        "{CONNECTIONS} readers of the first page, signed in; {LOGINS} connections that sign in with the right password \
         without a pause; {UPLOADS} that post a photo of 12 MP each. All on all cores, the load as well."
    ));
    let targets = targets.into_iter().flatten().collect();
    Section { tables: vec![table], targets, loads, ..section }
}

fn at_half_load(rate: f64, loads: Vec<Entry>) -> Section {
    let rows = loads.iter().map(|load| {
        [
            Cell::Text(load.name.clone()),
            Cell::Integer(load.of(RATE).median as u64),
            millis(load.of(P50).median),
            millis(load.of(P99).median),
            millis(load.of(|sample| sample.p999_us).median),
            millis(load.of(|sample| sample.p999_us).max),
        ]
    });
    let head = ["beside readers", "requests/s", "p50 ms", "p99 ms", "p99.9 ms", "worst p99.9"];
    let table = Table::new(head, rows);
    let section = Section::new("Tail latency at half load").note(format!(
        "The same at {rate:.0} requests per second, half of the rate of the readers alone. A request that is due \
         while its connection still waits counts from when it was due (no coordinated omission)."
    ));
    // The loads stay in the JSON; the table says what matters here.
    Section { tables: vec![table], quiet_loads: loads, ..section }
}
