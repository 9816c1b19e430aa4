//! How far a long job is: a bar on a terminal, now and then a line elsewhere.

use std::io::{IsTerminal, Write, stderr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use app::Progress;

const WIDTH: u64 = 24;

/// How often a bar is drawn, and how often a line is written.
const BAR_EVERY: Duration = Duration::from_millis(100);
const LINE_EVERY: Duration = Duration::from_secs(10);

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
            self.print(&format!("\r\x1b[2K{}{line}", bar(job.done, job.total)));
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

/// Nothing where the end is not known.
fn bar(done: Amount, total: Amount) -> String {
    let Some(filled) = share(done, total, WIDTH) else { return String::new() };
    let (filled, empty) = (filled as usize, (WIDTH - filled) as usize);
    format!("[{}{}] ", "#".repeat(filled), "-".repeat(empty))
}

fn line(deed: &str, done: Amount, total: Amount, took: Duration) -> String {
    let mut line = format!("{deed}: {}", done.photos);
    if total.photos > 0 {
        line += &format!(" of {}", total.photos);
    }
    line += " photos";
    if done.bytes > 0 {
        let second = (done.bytes as f64 / took.as_secs_f64().max(0.001)) as u64;
        line += &format!(", {}, {} a second", size(done.bytes), size(second));
    }
    if let Some(percent) = share(done, total, 100).filter(|percent| (1..100).contains(percent)) {
        let left = took.as_secs() * (100 - percent) / percent;
        line += &format!(", {}", left_over(left));
    }
    line
}

/// How many of `parts` are done, by bytes where they are known.
fn share(done: Amount, total: Amount, parts: u64) -> Option<u64> {
    let (done, total) = if total.bytes > 0 { (done.bytes, total.bytes) } else { (done.photos, total.photos) };
    let share = u128::from(done) * u128::from(parts) / u128::from(total.max(1));
    (total > 0).then(|| u64::try_from(share).unwrap_or(parts).min(parts))
}

fn left_over(seconds: u64) -> String {
    match seconds {
        0..100 => format!("{seconds} s left"),
        100..6_000 => format!("{} min left", seconds / 60),
        _ => format!("{} h left", seconds / 3_600),
    }
}

/// `1.5 GiB`.
pub(crate) fn size(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match units.into_iter().find(|(_, shift)| bytes >> shift > 0) {
        Some((unit, shift)) => format!("{:.1} {unit}", bytes as f64 / f64::from(1_u32 << shift)),
        None => format!("{bytes} bytes"),
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
        assert_eq!(bar(done, total), "[######------------------] ");
        let unknown = Amount::default();
        assert_eq!(
            line("verifying", done, unknown, took),
            "verifying: 50 photos, 64.0 MiB, 2.0 MiB a second"
        );
        assert_eq!(bar(done, unknown), "");
        let only_photos = Amount { photos: 200, bytes: 0 };
        assert_eq!(
            line("looking", Amount { photos: 50, bytes: 0 }, only_photos, Duration::from_secs(600)),
            "looking: 50 of 200 photos, 30 min left"
        );
    }

    #[test]
    fn sizes_are_short() {
        for (bytes, text) in [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (3 << 30, "3.0 GiB")] {
            assert_eq!(size(bytes), text);
        }
    }
}
