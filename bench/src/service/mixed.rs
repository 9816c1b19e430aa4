//! Readers of the feed while others write, sign in or upload.

use std::sync::Arc;

use super::fill::{Filled, LIKERS, READER};
use super::likes::spread_over;
use super::load::Requests;
use super::ours::Ours;
use super::race::{Contender, Entry, P50, P99, RATE, factor, millis, race};
use super::{Bench, CONNECTIONS, SMALL};
use crate::error::Error;
use crate::photos::NAMES;
use crate::report::{Bar, Cell, Section, Table};

const LIKES_A_SECOND: f64 = 1500.0;
/// Below what one address may have waiting: nobody is turned away.
const LOGINS: usize = 16;
/// By as many members.
const UPLOADS: usize = 8;

pub(super) fn sections(bench: &Bench) -> Result<Vec<Section>, Error> {
    let filled = Filled::with(bench, SMALL)?.copy(bench, "mixed")?;
    let ours = Arc::new(Ours::start(bench, &filled.folder, None, &[])?);
    let others = Others::ready(bench, &ours)?;
    let pace = bench.pace.in_longer_turns();
    let loads = race(pace, &others.around(None))?;
    let rate = loads[0].of(RATE).median / 2.0;
    let tail = race(pace, &others.around(Some(rate)))?;
    Ok(vec![together(loads), at_half_load(rate, tail)])
}

/// Whoever else is there.
struct Others {
    ours: Arc<Ours>,
    likes: Arc<Requests>,
    logins: Arc<Requests>,
    uploads: Arc<Requests>,
}

impl Others {
    fn ready(bench: &Bench, ours: &Arc<Ours>) -> Result<Self, Error> {
        let photo = bench.photo(NAMES[0]);
        let uploads = LIKERS.take(UPLOADS).map(|user| ours.upload(user, &photo));
        Ok(Self {
            ours: ours.clone(),
            likes: spread_over(ours, SMALL),
            logins: Requests::same(ours.login("storm")?),
            uploads: Requests::cycle(uploads.collect::<Result<_, _>>()?),
        })
    }

    /// Readers alone, then beside each of the others; as fast as they can, or at a rate.
    fn around(&self, rate: Option<f64>) -> Vec<Contender<'_>> {
        let feed = self.ours.read("/feed", Some(READER));
        let readers = |name: &str| {
            Contender::new(name, &self.ours.server, CONNECTIONS, Requests::same(feed.clone())).at_rate(rate)
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
    let beside = |place: usize, what: &str, share: f64| {
        [
            Bar::share(
                &format!("feed during {what}: requests/s of alone"),
                loads[place].against(&loads[0], RATE),
                share,
            ),
            Bar::ratio(&format!("feed during {what}: p99"), loads[place].against(&loads[0], P99), 3.0),
        ]
    };
    let bars = [
        beside(1, "1,500 likes a second", 0.85),
        beside(2, "a login flood", 0.6),
        beside(3, "an upload flood", 0.5),
    ];
    let rows = loads.iter().enumerate().map(|(place, load)| {
        let meanwhile = load.of(|sample| sample.beside_per_second.unwrap_or(0.0)).median;
        let (rate, slower) = (load.against(&loads[0], RATE), load.against(&loads[0], P99));
        [
            Cell::Text(load.name.clone()),
            meanwhile.into(),
            if place > 0 { factor(rate) } else { "".into() },
            if place > 0 { factor(slower) } else { "".into() },
        ]
    });
    let table =
        Table::new(["readers and", "of those a second", "readers' requests/s ÷ alone", "p99 ÷ alone"], rows);
    let section = Section::new("The feed while something else goes on").note(format!(
        "{CONNECTIONS} readers of the first page, signed in; {LOGINS} connections that sign in with the right password \
         without a pause; {UPLOADS} that post a photo of 12 MP each. All on all cores, the load as well."
    ));
    let bars = bars.into_iter().flatten().collect();
    Section { tables: vec![table], bars, loads, ..section }
}

fn at_half_load(rate: f64, loads: Vec<Entry>) -> Section {
    let rows = loads.iter().map(|load| {
        [
            Cell::Text(load.name.clone()),
            Cell::Whole(load.of(RATE).median as u64),
            millis(load.of(P50).median),
            millis(load.of(P99).median),
            millis(load.of(|sample| sample.p999_us).median),
            millis(load.of(|sample| sample.p999_us).max),
        ]
    });
    let head = ["readers and", "requests/s", "p50 ms", "p99 ms", "p99.9 ms", "worst p99.9"];
    let table = Table::new(head, rows);
    let section = Section::new("The tail at half load").note(format!(
        "The same at {rate:.0} requests a second, half of what the readers alone get answered. A request that is due \
         while its connection still waits counts from when it was due."
    ));
    // The loads stay in the JSON; the table says what matters here.
    Section { tables: vec![table], quiet_loads: loads, ..section }
}
