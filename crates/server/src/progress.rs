//! Progress of a long operation on stderr: a bar on a terminal, a line every ten seconds elsewhere.

use std::io::{Write, stderr};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressDrawTarget, ProgressFinish, ProgressStyle};
use model::Clock;
use ops::{Progress, count, size};
use parking_lot::{Mutex, MutexGuard};

/// The interval between lines if stderr is not a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// The remaining time is estimated after this; earlier estimates are noise.
const ESTIMATE_AFTER: Duration = Duration::from_secs(1);

/// Draws to stderr, because stdout may be an archive. `finish` or a drop clears the bar.
#[derive(Default)]
pub(crate) struct ProgressBar {
    operation: Mutex<Option<Operation>>,
}

struct Operation {
    name: String,
    /// Its unit is bytes, or photos if the total of bytes is unknown.
    bar: indicatif::ProgressBar,
    done: Amount,
    total: Amount,
    last_line: Instant,
}

#[derive(Debug, Clone, Copy, Default)]
struct Amount {
    photos: u64,
    bytes: u64,
}

impl ProgressBar {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn finish(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Operation>> {
        self.operation.lock()
    }
}

impl Progress for ProgressBar {
    fn begin(&self, operation: &str, photos: u64, bytes: u64) {
        let total = Amount { photos, bytes };
        *self.lock() = Some(Operation::new(operation, total, ProgressDrawTarget::stderr()));
    }

    fn advance(&self, photos: u64, bytes: u64) {
        if let Some(operation) = self.lock().as_mut() {
            operation.advance(Amount { photos, bytes });
        }
    }

    fn note(&self, line: &str) {
        match self.lock().as_ref() {
            Some(operation) => operation.bar.suspend(|| print_line(line)),
            None => print_line(line),
        }
    }
}

/// Reports nothing, for output that a program reads.
pub(crate) struct NoProgress;

impl Progress for NoProgress {
    fn begin(&self, _: &str, _: u64, _: u64) {}

    fn advance(&self, _: u64, _: u64) {}

    fn note(&self, _: &str) {}
}

impl Operation {
    fn new(name: &str, total: Amount, target: ProgressDrawTarget) -> Self {
        let length = Some(total.position(total)).filter(|length| *length > 0);
        // `wide_bar` fills the columns that the message leaves.
        let template = if length.is_some() { "{msg} [{wide_bar}]" } else { "{spinner} {msg}" };
        let style = ProgressStyle::with_template(template).expect("both templates are valid");
        let bar = indicatif::ProgressBar::with_draw_target(length, target)
            .with_style(style.progress_chars("##-"))
            .with_finish(ProgressFinish::AndClear);
        Self { name: name.to_owned(), bar, done: Amount::default(), total, last_line: Clock::monotonic() }
    }

    fn advance(&mut self, more: Amount) {
        self.done.photos += more.photos;
        self.done.bytes += more.bytes;
        self.bar.set_message(self.text());
        self.bar.set_position(self.done.position(self.total));
        if self.bar.is_hidden() && self.last_line.elapsed() >= LINE_INTERVAL {
            self.last_line = Clock::monotonic();
            print_line(&self.text());
        }
    }

    fn text(&self) -> String {
        let Self { name, bar, done, total, .. } = self;
        let mut text = match total.photos {
            0 => format!("{name}: {}", count(done.photos, "photo")),
            _ => format!("{name}: {} of {}", done.photos, count(total.photos, "photo")),
        };
        if done.bytes > 0 {
            text += &format!(", {}, {}/s", size(done.bytes), size(bar.per_sec() as u64));
        }
        if bar.length().is_some() && bar.elapsed() >= ESTIMATE_AFTER {
            text += &format!(", {:#} left", HumanDuration(bar.eta()));
        }
        text
    }
}

impl Amount {
    /// The amount in the unit of the bar, which depends on the totals that are known.
    fn position(self, total: Self) -> u64 {
        if total.photos > 0 && total.bytes == 0 { self.photos } else { self.bytes }
    }
}

/// An error is ignored: closing the terminal must not abort the operation.
fn print_line(line: &str) {
    if let Err(error) = writeln!(stderr(), "{line}") {
        tracing::debug!(%error, "progress line not printed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(total: Amount, done: Amount) -> Operation {
        let mut operation = Operation::new("copying", total, ProgressDrawTarget::hidden());
        operation.advance(done);
        operation
    }

    #[test]
    fn the_text_omits_unknown_totals() {
        let done = Amount { photos: 50, bytes: 64 << 20 };
        for (total, expected) in [
            (Amount { photos: 200, bytes: 256 << 20 }, "copying: 50 of 200 photos, 64.0 MiB, "),
            (Amount { photos: 0, bytes: 0 }, "copying: 50 photos, 64.0 MiB, "),
        ] {
            let text = operation(total, done).text();
            assert!(text.starts_with(expected) && text.ends_with("/s"), "{text}");
        }
        let photos_only = operation(Amount { photos: 200, bytes: 0 }, Amount { photos: 50, bytes: 0 });
        assert_eq!(photos_only.text(), "copying: 50 of 200 photos");
    }

    #[test]
    fn the_bar_counts_bytes_where_their_total_is_known_and_photos_otherwise() {
        let done = Amount { photos: 50, bytes: 64 };
        for (total, position, length) in [
            (Amount { photos: 200, bytes: 256 }, 64, Some(256)),
            (Amount { photos: 200, bytes: 0 }, 50, Some(200)),
            (Amount { photos: 0, bytes: 0 }, 64, None),
        ] {
            let bar = operation(total, done).bar;
            assert_eq!((bar.position(), bar.length()), (position, length));
        }
    }
}
