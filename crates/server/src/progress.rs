//! How far a long job is: a bar on a terminal, now and then a line elsewhere.

use std::io::{IsTerminal, Write, stderr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ops::{Progress, count, size};

/// How long a bar is where there is room, and the shortest that is worth drawing.
const WIDTH: usize = 24;
const LEAST_WIDTH: usize = 6;

/// Where a terminal does not say how wide it is.
const COLUMNS: usize = 80;

/// How often a bar is drawn, and how often a line is written.
const BAR_EVERY: Duration = Duration::from_millis(100);
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Before that, what is left is not told.
const SOON: Duration = Duration::from_secs(1);

/// On stderr: the output may be an archive.
pub(crate) struct Shown {
    is_terminal: bool,
    job: Mutex<Option<Job>>,
}

struct Job {
    deed: String,
    done: Amount,
    total: Amount,
    began: Instant,
    shown: Instant,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Amount {
    photos: u64,
    bytes: u64,
}

impl Shown {
    pub(crate) fn new() -> Self {
        Self { is_terminal: stderr().is_terminal(), job: Mutex::new(None) }
    }

    /// Clears the bar away: what follows are the last words.
    pub(crate) fn end(&self) {
        if self.lock().take().is_some() && self.is_terminal {
            self.print("\r\x1b[2K");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Job>> {
        self.job.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A terminal that has gone is no reason to stop.
    fn print(&self, text: &str) {
        if stderr().write_all(text.as_bytes()).is_err() {
            tracing::debug!("nobody sees how far the job is");
        }
    }
}

impl Progress for Shown {
    fn begin(&self, deed: &str, photos: u64, bytes: u64) {
        let now = Instant::now();
        let total = Amount { photos, bytes };
        let job = Job { deed: deed.to_owned(), done: Amount::default(), total, began: now, shown: now };
        *self.lock() = Some(job);
    }

    fn advance(&self, photos: u64, bytes: u64) {
        let mut job = self.lock();
        let Some(job) = job.as_mut() else { return };
        job.done.photos += photos;
        job.done.bytes += bytes;
        let every = if self.is_terminal { BAR_EVERY } else { LINE_EVERY };
        if job.shown.elapsed() < every {
            return;
        }
        job.shown = Instant::now();
        let line = line(&job.deed, job.done, job.total, job.began.elapsed());
        if self.is_terminal {
            self.print(&format!("\r\x1b[2K{}", fitted(&line, job.done, job.total, columns())));
        } else {
            self.print(&format!("{line}\n"));
        }
    }

    fn note(&self, line: &str) {
        let clear = if self.is_terminal { "\r\x1b[2K" } else { "" };
        self.print(&format!("{clear}{line}\n"));
    }
}

/// Where nobody looks.
pub(crate) struct Silence;

impl Progress for Silence {
    fn begin(&self, _: &str, _: u64, _: u64) {}

    fn advance(&self, _: u64, _: u64) {}

    fn note(&self, _: &str) {}
}

fn columns() -> usize {
    let known = rustix::termios::tcgetwinsize(stderr()).map_or(0, |size| usize::from(size.ws_col));
    if known == 0 { COLUMNS } else { known }
}

/// In one line of the terminal: one that wraps could not be drawn over. The bar gives way first, then the end.
fn fitted(line: &str, done: Amount, total: Amount, columns: usize) -> String {
    // Some terminals wrap as soon as the last column is used.
    let room = columns.saturating_sub(1);
    let spare = room.saturating_sub(line.chars().count() + "[] ".len()).min(WIDTH);
    let bar = if spare >= LEAST_WIDTH { bar(done, total, spare) } else { String::new() };
    format!("{bar}{line}").chars().take(room).collect()
}

/// Nothing where the end is not known.
fn bar(done: Amount, total: Amount, width: usize) -> String {
    let Some(share) = share(done, total) else { return String::new() };
    let filled = (share * width as f64) as usize;
    format!("[{}{}] ", "#".repeat(filled), "-".repeat(width - filled))
}

fn line(deed: &str, done: Amount, total: Amount, took: Duration) -> String {
    let mut line = format!("{deed}: ");
    if total.photos > 0 {
        line += &format!("{} of {}", done.photos, count(total.photos, "photo"));
    } else {
        line += &count(done.photos, "photo");
    }
    if done.bytes > 0 {
        let second = (done.bytes as f64 / took.as_secs_f64().max(0.001)) as u64;
        line += &format!(", {}, {} a second", size(done.bytes), size(second));
    }
    // In the first moments, and from next to nothing, nobody can tell.
    if let Some(share) = share(done, total).filter(|share| (0.01..1.0).contains(share))
        && took >= SOON
    {
        let left = took.as_secs_f64() * (1.0 - share) / share;
        line += &format!(", {}", left_over(left.ceil() as u64));
    }
    line
}

/// How much of it is done, from none to all, by bytes where they are known.
fn share(done: Amount, total: Amount) -> Option<f64> {
    let (done, total) = if total.bytes > 0 { (done.bytes, total.bytes) } else { (done.photos, total.photos) };
    (total > 0).then(|| (done as f64 / total as f64).min(1.0))
}

fn left_over(seconds: u64) -> String {
    match seconds {
        0..100 => format!("{seconds} s left"),
        100..6_000 => format!("{} min left", seconds / 60),
        _ => format!("{} h left", seconds / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_is_done_and_what_is_left() {
        let done = Amount { photos: 50, bytes: 64 << 20 };
        let total = Amount { photos: 200, bytes: 256 << 20 };
        let took = Duration::from_secs(32);
        assert_eq!(
            line("copying", done, total, took),
            "copying: 50 of 200 photos, 64.0 MiB, 2.0 MiB a second, 96 s left"
        );
        assert_eq!(bar(done, total, 24), "[######------------------] ");
        let unknown = Amount::default();
        assert_eq!(
            line("verifying", done, unknown, took),
            "verifying: 50 photos, 64.0 MiB, 2.0 MiB a second"
        );
        assert_eq!(bar(done, unknown, 24), "");
        let only_photos = Amount { photos: 200, bytes: 0 };
        assert_eq!(
            line("looking", Amount { photos: 50, bytes: 0 }, only_photos, Duration::from_secs(600)),
            "looking: 50 of 200 photos, 30 min left"
        );
    }

    #[test]
    fn what_is_left_goes_by_bytes_and_by_parts_of_a_second() {
        let total = Amount { photos: 10, bytes: 1_000 };
        let told = |photos, bytes, millis| {
            line("copying", Amount { photos, bytes }, total, Duration::from_millis(millis))
        };
        assert!(told(9, 150, 1_500).ends_with(", 9 s left"), "{}", told(9, 150, 1_500));
        assert!(!told(9, 150, 400).contains("left"), "too early to tell");
        assert!(!told(10, 1_000, 5_000).contains("left"), "nothing is left");
    }

    #[test]
    fn it_never_wraps() {
        let (done, total) =
            (Amount { photos: 5_000, bytes: 64 << 20 }, Amount { photos: 20_000, bytes: 256 << 20 });
        let line = line("copying", done, total, Duration::from_secs(32));
        for columns in [1, 10, 40, 80, 100, 200] {
            assert!(fitted(&line, done, total, columns).chars().count() < columns, "{columns}");
        }
        let usual = fitted(&line, done, total, 80);
        assert!(usual.starts_with("[#") && usual.ends_with("96 s left"), "{usual}");
        assert!(fitted(&line, done, total, 40).starts_with("copying: 5000 of 20000 photos"));
    }
}
