//! Workers that write during a fault, and a monitor that counts their acknowledged and failed writes.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use e2e::oracle::{UnknownOutcome, Worker, WriteKind};
use e2e::{Client, concurrently, eventually, unique};

/// Enough to queue behind each other; few, because each join costs a password hash.
const WORKERS: usize = 6;

/// The timeout of every wait, generous for a busy machine.
pub(crate) const WAIT_TIMEOUT: Duration = Duration::from_secs(120);

/// A worker's pause after a failed write.
pub(crate) const RETRY_DELAY: Duration = Duration::from_millis(50);

/// Workers that have just joined, each with a post that all may like.
pub(crate) fn start_workers(base: &str) -> Vec<Worker> {
    concurrently(WORKERS, |_| {
        let client = Client::anonymous(base).join(&unique("worker"));
        let mut worker = Worker::new(client, fastrand::u64(..));
        worker.upload().expect("the service is healthy before the fault");
        worker
    })
}

/// Counts the outcomes of the workers' writes.
pub(crate) struct LoadMonitor {
    /// The kind of write that counts as acknowledged; `None` counts every kind.
    counted: Option<WriteKind>,
    acknowledged: Mutex<Vec<Instant>>,
    rejected: AtomicUsize,
    unanswered: AtomicUsize,
    is_over: AtomicBool,
    /// A worker has panicked on a wrong response.
    has_failed: AtomicBool,
}

/// Runs `scenario` while all workers write, then prints the write gap.
pub(crate) fn under_load(fault: &str, workers: &mut [Worker], scenario: impl FnOnce(&LoadMonitor)) {
    run_under_load(None, fault, workers, scenario);
}

/// Like `under_load`, but only uploads count as acknowledged writes.
pub(crate) fn under_upload_load(fault: &str, workers: &mut [Worker], scenario: impl FnOnce(&LoadMonitor)) {
    run_under_load(Some(WriteKind::Upload), fault, workers, scenario);
}

fn run_under_load(
    counted: Option<WriteKind>,
    fault: &str,
    workers: &mut [Worker],
    scenario: impl FnOnce(&LoadMonitor),
) {
    let shared: Vec<i64> = workers.iter().flat_map(Worker::writable_posts).collect();
    let monitor = LoadMonitor {
        counted,
        acknowledged: Mutex::default(),
        rejected: AtomicUsize::new(0),
        unanswered: AtomicUsize::new(0),
        is_over: AtomicBool::new(false),
        has_failed: AtomicBool::new(false),
    };
    std::thread::scope(|scope| {
        for worker in workers {
            let (monitor, shared) = (&monitor, &shared);
            scope.spawn(move || monitor.write_until_over(worker, shared));
        }
        // The workers stop even when the scenario panics.
        let _over = SetOnDrop(&monitor.is_over);
        scenario(&monitor);
    });
    monitor.print_write_gap(fault);
}

impl LoadMonitor {
    fn write_until_over(&self, worker: &mut Worker, shared: &[i64]) {
        let failed = SetOnDrop(&self.has_failed);
        while !self.is_over.load(Ordering::Relaxed) {
            let count = match worker.write(shared) {
                Ok(kind) => {
                    if self.counted.is_none_or(|counted| counted == kind) {
                        self.acknowledged.lock().unwrap().push(Instant::now());
                    }
                    continue;
                }
                Err(UnknownOutcome::Unavailable(_)) => &self.rejected,
                Err(UnknownOutcome::ConnectionLost(_) | UnknownOutcome::BadGateway(_)) => &self.unanswered,
                Err(UnknownOutcome::Failed(response)) => panic!("{response}"),
            };
            count.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(RETRY_DELAY);
        }
        std::mem::forget(failed);
    }

    /// Waits until `more` further writes are acknowledged: the service works, or works again.
    #[track_caller]
    pub(crate) fn wait_for_writes(&self, more: usize) {
        let count = || self.acknowledged.lock().unwrap().len();
        let target = count() + more;
        self.wait("writes are acknowledged", || count() >= target);
    }

    /// Waits until a worker gets a 503, as opposed to a lost connection.
    #[track_caller]
    pub(crate) fn wait_for_rejection(&self) {
        let before = self.rejected.load(Ordering::Relaxed);
        self.wait("a write is rejected", || self.rejected.load(Ordering::Relaxed) > before);
    }

    #[track_caller]
    fn wait(&self, what: &str, is_true: impl Fn() -> bool) {
        eventually(what, WAIT_TIMEOUT, || {
            assert!(!self.has_failed.load(Ordering::Relaxed), "a worker has panicked on a wrong response");
            is_true().then_some(())
        });
    }

    fn print_write_gap(&self, fault: &str) {
        let times = self.acknowledged.lock().unwrap();
        let mut sorted = times.clone();
        sorted.sort_unstable();
        let gap = sorted.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default();
        let (rejected, unanswered) =
            (self.rejected.load(Ordering::Relaxed), self.unanswered.load(Ordering::Relaxed));
        // Not eprintln!: the test runner captures the output of passing tests.
        let written = writeln!(
            std::io::stderr(),
            "write gap after {fault}: {:.3} s ({} acknowledged, {rejected} rejected, {unanswered} unanswered)",
            gap.as_secs_f64(),
            times.len(),
        );
        written.expect("stderr is open");
    }
}

/// Sets the flag when it is dropped, also during a panic.
pub(crate) struct SetOnDrop<'f>(pub(crate) &'f AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
