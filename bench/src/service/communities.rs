//! What communities cost: a reader who has blocked others, and an account that is deleted under load.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use serde_json::Value;

use super::compare::{Candidate, RATE, compare};
use super::fill::{AUTHORS, Filled, LIKERS, spread};
use super::load::Requests;
use super::pinhole::{self, Pinhole, bearer};
use super::process::run;
use super::wire::request;
use super::{Bench, CONNECTIONS, SMALL};
use crate::error::Error;
use crate::measure::{Ratio, median};
use crate::report::{Cell, Section, Table, Target, thousands};

/// Readers without likes. The second one has blocked the authors of every tenth post that is measured, the
/// third one those of every second.
const READERS: [u64; 3] = [LIKERS.end - 1, LIKERS.end - 2, LIKERS.end - 3];
const BLOCKS: usize = 100;

/// Accounts that are deleted, and the posts and likes of each.
const LEAVERS: u64 = 4;
const POSTS: u64 = 10_000;
const LIKES: u64 = SMALL;

/// Windows before and after each deletion.
const QUIET_WINDOWS: usize = 4;
const LONGEST_DELETION: Duration = Duration::from_secs(180);

pub(super) fn sections(bench: &Bench) -> Result<Vec<Section>, Error> {
    Ok(vec![blocks(bench)?, deletions(bench)?])
}

fn blocks(bench: &Bench) -> Result<Section, Error> {
    let filled = Filled::with(bench, SMALL)?.copy(bench, "communities")?;
    let pinhole = Pinhole::start(bench, &filled.folder, Some(bench.cores.server), &[])?;
    let [free, tenth, half] = READERS;
    let pages = pinhole.page_paths(3, Some(free))?;
    let second = pages.first().ok_or_else(|| Error::measure("the feed has one page only"))?;
    for (reader, step) in [(tenth, 10), (half, 2)] {
        block_authors(&pinhole, reader, &["/feed", second], step)?;
    }
    let asks = |name: &str, path: &str, user| {
        let requests = Requests::same(pinhole.read(path, Some(user)));
        Candidate::new(name, &pinhole.server, CONNECTIONS, requests).with_load_on(bench.cores.load)
    };
    let loads = compare(
        bench.pace,
        &[
            asks("page 1, no blocks", "/feed", free),
            asks("page 1, 100 blocks, 1 of 10 posts", "/feed", tenth),
            asks("page 2, no blocks", second, free),
            asks("page 2, 100 blocks, 1 of 10 posts", second, tenth),
            asks("page 2, 100 blocks, 1 of 2 posts", second, half),
        ],
    )?;
    let targets = [("page 1", 0), ("page 2", 2)].map(|(page, at)| {
        let what = format!("{page} with {BLOCKS} blocks: requests/s of a reader without");
        Target::share(&what, loads[at + 1].against(&loads[at], RATE), 0.9)
    });
    let section = Section::new("A reader with 100 blocks").note(format!(
        "{} posts, {CONNECTIONS} connections, signed in. One of ten posts, or of two, on both pages is by a blocked \
         user, so that older posts take their places.",
        thousands(SMALL)
    ));
    Ok(Section { loads, targets: targets.into(), ..section })
}

/// Blocks the author of every `step`-th post on these pages, and others, [`BLOCKS`] in all.
fn block_authors(pinhole: &Pinhole, reader: u64, pages: &[&str], step: usize) -> Result<(), Error> {
    let mut client = pinhole.server.client()?;
    let mut blocked = Vec::new();
    for path in pages {
        let page = client.ask(&pinhole.read(path, Some(reader)))?.success()?.json()?;
        let authors = page["data"].as_array().into_iter().flatten().step_by(step);
        blocked.extend(authors.filter_map(|post| post["user"]["username"].as_str().map(str::to_owned)));
    }
    blocked.extend((1..=AUTHORS).rev().map(|id| format!("user-{id:06}")));
    blocked.truncate(BLOCKS);
    let authorization = bearer(reader);
    for name in &blocked {
        let headers = [("authorization", authorization.as_str())];
        let path = format!("/me/blocks/{name}");
        client.ask(&request("PUT", pinhole.server.address, &path, &headers, None))?.success()?;
    }
    Ok(())
}

/// A load during one deletion, in requests per second.
struct Deletion {
    load: &'static str,
    before: f64,
    during: Vec<f64>,
    after: f64,
    answered: Duration,
    finished: Duration,
}

impl Deletion {
    /// Of the rate before and after, since the table of likes grows meanwhile.
    fn shares(&self) -> Vec<f64> {
        let quiet = f64::midpoint(self.before, self.after);
        self.during.iter().map(|rate| rate / quiet).collect()
    }
}

fn deletions(bench: &Bench) -> Result<Section, Error> {
    let filled = Filled::with(bench, SMALL)?.copy(bench, "deletions")?;
    add_leavers(&filled.database()).map_err(Error::measure)?;
    let pinhole = Arc::new(Pinhole::start(bench, &filled.folder, None, &[])?);
    let pages = pinhole.page_paths(3, Some(READERS[0]))?;
    let second = pages.first().ok_or_else(|| Error::measure("the feed has one page only"))?;
    let liked = pinhole.clone();
    let likes = Requests::new(move |number, out| {
        // Not those of the accounts that are deleted.
        let (user, post) = spread(number, SMALL - LEAVERS * POSTS);
        out.extend(liked.like(user, post + LEAVERS * POSTS));
    });
    let reads = Requests::same(pinhole.read(second, Some(READERS[0])));
    let mut measured = Vec::new();
    for leaver in 0..LEAVERS {
        let (load, requests) = match leaver % 2 {
            0 => ("likes", likes.clone()),
            _ => ("page 2 of the feed", reads.clone()),
        };
        let candidate = Candidate::new(load, &pinhole.server, CONNECTIONS, requests);
        measured.push(delete_during(bench, load, &candidate, &filled.folder, leaver)?);
    }
    let rows = measured.iter().map(|deletion| {
        [
            deletion.load.into(),
            Cell::Integer(deletion.before as u64),
            Cell::Integer(median(&deletion.during) as u64),
            Cell::Integer(deletion.after as u64),
            Cell::Text(format!("{:.2}", median(&deletion.shares()))),
            Cell::Text(format!("{:.0}", deletion.answered.as_secs_f64() * 1e3)),
            Cell::Text(format!("{:.0}", deletion.finished.as_secs_f64())),
        ]
    });
    let head = [
        "load",
        "requests/s before",
        "during",
        "after",
        "during ÷ before and after",
        "answered ms",
        "done s",
    ];
    let table = Table::new(head, rows);
    let targets = ["likes", "page 2 of the feed"].map(|load| {
        let shares = measured.iter().filter(|deletion| deletion.load == load).flat_map(Deletion::shares);
        let shares: Vec<f64> = shares.collect();
        let (min, max) =
            shares.iter().fold((f64::INFINITY, 0.0), |(min, max), share| (share.min(min), share.max(max)));
        let what = format!("{load} while an account is deleted: requests/s of before and after");
        Target::share(&what, Ratio { median: median(&shares), min, max }, 0.8)
    });
    let section = Section::new("Deleting an account under load").note(format!(
        "Accounts with {} posts and {} likes, deleted one after another with `pinhole user delete` beside the load of \
         {CONNECTIONS} connections. Nothing is pinned. `answered` includes the start of the command.",
        thousands(POSTS),
        thousands(LIKES)
    ));
    Ok(Section { tables: vec![table], targets: targets.into(), ..section })
}

fn delete_during(
    bench: &Bench,
    load: &'static str,
    candidate: &Candidate,
    folder: &Path,
    leaver: u64,
) -> Result<Deletion, Error> {
    let window = || Ok::<_, Error>(RATE(&candidate.measure(bench.pace.warm_up, bench.pace.window)?));
    let quiet = || {
        let rates = (0..QUIET_WINDOWS).map(|_| window()).collect::<Result<Vec<f64>, Error>>()?;
        Ok::<_, Error>(median(&rates))
    };
    let operator = |args: &[&str]| {
        let mut command = pinhole::command(bench);
        run(command.args(args).arg("--data-dir").arg(folder).arg("--json"))
    };
    let before = quiet()?;
    let began = Instant::now();
    operator(&["user", "delete", &format!("leaver-{leaver}")])?;
    let answered = began.elapsed();
    let mut during = Vec::new();
    loop {
        let rate = window()?;
        let stats: Value = serde_json::from_str(&operator(&["stats"])?).map_err(Error::measure)?;
        // The last window, in which it ended, counts only if there is no other.
        let is_done = stats["deleting"] == 0;
        if !is_done || during.is_empty() {
            during.push(rate);
        }
        if is_done {
            break;
        }
        if began.elapsed() > LONGEST_DELETION {
            return Err(Error::measure("the deletion of an account does not end"));
        }
    }
    Ok(Deletion { load, before, during, after: quiet()?, answered, finished: began.elapsed() })
}

/// Gives the oldest posts to new users, each of whom also likes every post.
fn add_leavers(database: &Path) -> rusqlite::Result<()> {
    let conn = Connection::open(database)?;
    for leaver in 0..LEAVERS {
        let name = format!("leaver-{leaver}");
        conn.execute(
            "INSERT INTO users (username, username_key, password_hash, created_at) VALUES (?1, ?1, '', 1)",
            params![name],
        )?;
        let user = conn.last_insert_rowid();
        let first = (leaver * POSTS) as i64;
        conn.execute(
            "UPDATE posts SET user_id = ?1 WHERE id > ?2 AND id <= ?2 + ?3",
            params![user, first, POSTS as i64],
        )?;
        conn.execute(
            "INSERT INTO likes (user_id, post_id, created_at) SELECT ?1, id, 1 FROM posts WHERE id <= ?2",
            params![user, LIKES as i64],
        )?;
        conn.execute("UPDATE posts SET like_count = like_count + 1 WHERE id <= ?1", params![LIKES as i64])?;
    }
    Ok(())
}
