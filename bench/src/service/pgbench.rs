//! A limit: PostgreSQL with nothing around it. Its own pgbench runs the statements of a page or of a like in
//! a loop.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use store::sql;

use super::fill::{AUTHORS, READER};
use super::histogram::Histogram;
use super::load::{Answers, Running, Window};
use super::{Bench, SMALL};
use crate::error::{Error, create_folder, read, write};
use crate::measure::cpu_of;

/// Connections of its own. With more of them than it has cores many times over, PostgreSQL gets slower.
pub(super) const CLIENTS: u64 = 16;

/// The session settings that the service sets on its connections.
const SESSION_OPTIONS: &str = "-c jit=off -c max_parallel_workers_per_gather=0";

/// Beyond the window, because pgbench knows whole seconds only and has to connect first.
const SLACK: Duration = Duration::from_millis(200);

#[derive(Clone)]
pub(super) struct Script {
    program: PathBuf,
    address: SocketAddr,
    /// With the script, and what pgbench writes about each time it ran.
    folder: PathBuf,
    /// Runs so far: each begins with other posts.
    runs: Arc<AtomicU64>,
    /// Where pgbench runs.
    pub(super) core: Option<usize>,
}

impl Script {
    pub(super) fn new(
        bench: &Bench,
        program: PathBuf,
        address: SocketAddr,
        name: &str,
        text: &str,
    ) -> Result<Self, Error> {
        let folder = bench.fresh(&format!("pgbench-{name}"))?;
        write(&folder.join("script.sql"), text)?;
        Ok(Self { program, address, folder, runs: Arc::new(AtomicU64::new(0)), core: None })
    }

    pub(super) fn start(self, window: Window) -> Result<Running, Error> {
        Running::on_a_thread(move || self.run(window))
    }

    fn run(self, window: Window) -> Result<Answers, Error> {
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        let (now, time) = (Instant::now(), SystemTime::now());
        let wanted = window.to.saturating_duration_since(now);
        let seconds = (wanted + SLACK).as_secs_f64().ceil();
        let log = self.folder.join(run.to_string());
        create_folder(&log)?;
        let cpu = cpu_of(&mut self.command(run, seconds as u64, &log))?;

        let of_day = |moment: Instant| micros(time + moment.saturating_duration_since(now));
        let mut answers = Answers::new();
        for file in std::fs::read_dir(&log).map_err(Error::system(log.display()))? {
            let path = file.map_err(Error::system(log.display()))?.path();
            let text = String::from_utf8(read(&path)?).map_err(Error::measure)?;
            let latency = within(&text, of_day(window.from)..of_day(window.to));
            let unread = || Error::measure("void: pgbench reports a transaction that failed");
            answers.latency.merge(&latency.ok_or_else(unread)?);
        }
        // Scaled to the window over which the other candidates are measured.
        answers.cpu = cpu.mul_f64(wanted.as_secs_f64() / seconds);
        Ok(answers)
    }

    fn command(&self, run: u64, seconds: u64, log: &Path) -> Command {
        let mut command = match self.core {
            Some(core) => {
                let mut pinned = Command::new("taskset");
                pinned.args(["-c", &core.to_string()]).arg(&self.program);
                pinned
            }
            None => Command::new(&self.program),
        };
        let address = self.address;
        command.args(["-h", &address.ip().to_string(), "-p", &address.port().to_string(), "-U", "pinhole"]);
        command.args(["--no-vacuum", "--protocol=prepared", "--jobs=1"]);
        command.arg(format!("--client={CLIENTS}")).arg(format!("--time={seconds}"));
        // One run uses up fewer than ten posts.
        for variable in ["turn=0".to_owned(), format!("first={}", 1 + 10 * run)] {
            command.arg(format!("--define={variable}"));
        }
        command.arg("--log").arg(format!("--log-prefix={}", log.join("transactions").display()));
        command.arg("--file").arg(self.folder.join("script.sql")).arg("pinhole");
        command.env("PGOPTIONS", SESSION_OPTIONS);
        command
    }
}

/// The statement of one page: posts, and which of them the caller likes. `before` is an expression of
/// pgbench.
fn page(before: &str) -> String {
    let page = bound(sql::FEED_PAGE, &[READER.to_string(), ":before".into(), "21".into()]);
    format!("\\set before {before}\n{page}")
}

/// A statement of the service with values or variables of pgbench for its parameters. The last come first,
/// because `$1` is the beginning of `$10`.
fn bound(statement: &str, values: &[String]) -> String {
    let numbered = values.iter().enumerate().rev();
    numbered.fold(format!("{statement};\n"), |text, (at, value)| text.replace(&format!("${}", at + 1), value))
}

/// The first page.
pub(super) fn first_page() -> String {
    page(&(SMALL + 1).to_string())
}

/// Any page that is full.
pub(super) fn any_page() -> String {
    page(&format!("random(22, {SMALL})"))
}

/// Likes of random posts, a transaction for each, by users that no node's load uses, so no two likes
/// conflict.
pub(super) fn spread_likes() -> String {
    likes(&format!("random(1, {SMALL})"))
}

/// Likes on one post; after every user has liked it, on the next one.
pub(super) fn likes_on_one() -> String {
    likes(&format!(":first + :number / {AUTHORS}"))
}

fn likes(post: &str) -> String {
    let insert = bound(sql::INSERT_LIKE, &[":user".into(), "1".into(), ":post".into()]);
    let count = bound(sql::COUNT_LIKE, &["1".into(), ":post".into()]);
    format!(
        "\\set number :turn * {CLIENTS} + :client_id
\\set turn :turn + 1
\\set user 1 + :number % {AUTHORS}
\\set post {post}
BEGIN;
{insert}{count}COMMIT;
"
    )
}

/// How long the transactions took that ended within these microseconds since 1970; `None` when one failed. A
/// line is the client, its transaction, the microseconds it took, the script, and when it ended in seconds
/// and microseconds.
fn within(log: &str, window: std::ops::Range<u128>) -> Option<Histogram> {
    let mut latency = Histogram::new();
    for line in log.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (took, seconds, rest) = (words.get(2)?, words.get(4)?, words.get(5)?);
        let took = Duration::from_micros(took.parse().ok()?);
        let ended = seconds.parse::<u128>().ok()? * 1_000_000 + rest.parse::<u128>().ok()?;
        if window.contains(&ended) {
            latency.add(took);
        }
    }
    Some(latency)
}

fn micros(time: SystemTime) -> u128 {
    time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_micros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_ended_within_the_window() {
        let log = "0 1 900 0 7 999999\n1 1 2000 0 8 0\n0 2 2000 0 8 500000\n1 2 900 0 9 0\n";
        let latency = within(log, 8_000_000..9_000_000).unwrap();
        assert_eq!(latency.total(), 2);
        assert!((latency.quantile_us(0.5) / 2000.0 - 1.0).abs() < 0.016);
        assert!(within("0 1 failed 0 8 0\n", 0..1).is_none());
    }

    #[test]
    fn the_parameters_of_statements_are_replaced() {
        let page = first_page();
        assert!(page.starts_with("\\set before 100001\nSELECT "), "{page}");
        assert!(
            page.ends_with("WHERE p.id < :before AND p.hidden_reason IS NULL ORDER BY p.id DESC LIMIT 21;\n"),
            "{page}"
        );
        assert!(!(page + &spread_likes()).contains('$'), "a parameter without a value");
    }
}
