//! People who write all the time, whatever happens, and a finger on their pulse.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use e2e::ledger::{Deed, Unanswered, Worker};
use e2e::{Client, at_once, eventually, unique};

/// Enough to meet each other in every queue; few, because each costs a password hash.
const WORKERS: usize = 6;

/// What must come true comes true within this time, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(120);

/// After a write that failed, as a polite client does.
const PAUSE: Duration = Duration::from_millis(50);

/// People who have just joined, each with a post that all may like.
pub(crate) fn crew(base: &str) -> Vec<Worker> {
    at_once(WORKERS, |_| {
        let person = Client::anonymous(base).join(&unique("worker"));
        let mut worker = Worker::new(person, fastrand::u64(..));
        worker.upload().expect("nothing is wrong yet");
        worker
    })
}

/// What those who write have seen so far.
pub(crate) struct Pulse {
    /// What counts as a write in this story; all, if nothing is said.
    counted: Option<Deed>,
    acknowledged: Mutex<Vec<Instant>>,
    refused: AtomicUsize,
    unanswered: AtomicUsize,
    is_over: AtomicBool,
    /// Somebody was told what cannot be.
    is_broken: AtomicBool,
}

/// Everybody writes while the story is told. Afterwards the gap is told.
pub(crate) fn under_load(fault: &str, crew: &mut [Worker], story: impl FnOnce(&Pulse)) {
    watch(None, fault, crew, story);
}

/// The same where only uploads tell how the service is.
pub(crate) fn under_uploads(fault: &str, crew: &mut [Worker], story: impl FnOnce(&Pulse)) {
    watch(Some(Deed::Photo), fault, crew, story);
}

fn watch(counted: Option<Deed>, fault: &str, crew: &mut [Worker], story: impl FnOnce(&Pulse)) {
    let common: Vec<i64> = crew.iter().flat_map(Worker::living).collect();
    let pulse = Pulse {
        counted,
        acknowledged: Mutex::default(),
        refused: AtomicUsize::new(0),
        unanswered: AtomicUsize::new(0),
        is_over: AtomicBool::new(false),
        is_broken: AtomicBool::new(false),
    };
    std::thread::scope(|scope| {
        for worker in crew {
            let (pulse, common) = (&pulse, &common);
            scope.spawn(move || pulse.of(worker, common));
        }
        // However the story ends, those who write are sent home.
        let _end = Raised(&pulse.is_over);
        story(&pulse);
    });
    pulse.tell(fault);
}

impl Pulse {
    fn of(&self, worker: &mut Worker, common: &[i64]) {
        let broken = Raised(&self.is_broken);
        while !self.is_over.load(Ordering::Relaxed) {
            let count = match worker.write(common) {
                Ok(deed) => {
                    if self.counted.is_none_or(|counted| counted == deed) {
                        self.acknowledged.lock().unwrap().push(Instant::now());
                    }
                    continue;
                }
                Err(Unanswered::Unavailable(_)) => &self.refused,
                Err(Unanswered::Dead(_) | Unanswered::Lost(_)) => &self.unanswered,
            };
            count.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(PAUSE);
        }
        std::mem::forget(broken);
    }

    /// Waits until so many more writes are acknowledged: the service is well, or well again.
    #[track_caller]
    pub(crate) fn beats(&self, more: usize) {
        let count = || self.acknowledged.lock().unwrap().len();
        let enough = count() + more;
        self.wait("writes are acknowledged", || count() >= enough);
    }

    /// Waits until somebody is told that the service cannot: 503, in words and not by a dead line.
    #[track_caller]
    pub(crate) fn refusal(&self) {
        let before = self.refused.load(Ordering::Relaxed);
        self.wait("a write is refused", || self.refused.load(Ordering::Relaxed) > before);
    }

    #[track_caller]
    fn wait(&self, what: &str, is_true: impl Fn() -> bool) {
        eventually(what, PATIENCE, || {
            assert!(!self.is_broken.load(Ordering::Relaxed), "somebody was told what cannot be");
            is_true().then_some(())
        });
    }

    fn tell(&self, fault: &str) {
        let times = self.acknowledged.lock().unwrap();
        let mut sorted = times.clone();
        sorted.sort_unstable();
        let gap = sorted.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default();
        let (refused, unanswered) =
            (self.refused.load(Ordering::Relaxed), self.unanswered.load(Ordering::Relaxed));
        // Past the test runner, which shows what passing tests say to nobody.
        let told = writeln!(
            std::io::stderr(),
            "write gap after {fault}: {:.3} s ({} acknowledged, {refused} refused, {unanswered} unanswered)",
            gap.as_secs_f64(),
            times.len(),
        );
        told.expect("somebody reads along");
    }
}

/// A flag that goes up when whoever holds this is gone.
struct Raised<'f>(&'f AtomicBool);

impl Drop for Raised<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
