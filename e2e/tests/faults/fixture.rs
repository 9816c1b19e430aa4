//! A service whose file operations fail on request, and a worker that records what was acknowledged.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use e2e::faults::{Faults, FileCall, FileOperation, Rule, Trace};
use e2e::oracle::{UnknownOutcome, Worker, verify};
use e2e::{Response, Service, eventually, program};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// SQLite's database file and its write-ahead log.
pub(crate) const DATABASE: &str = "pinhole.db";
pub(crate) const LOG: &str = "pinhole.db-wal";

/// No disk cache, since its thread would write at any time.
const FLAGS: [&str; 2] = ["--cache-disk", "0"];

/// What the log says of an injected error. SQLite takes the I/O error of a read for damage.
const CAUSES: [&str; 6] = [
    "os error 5)",
    "os error 28)",
    "os error 122)",
    "disk I/O error (",
    "database or disk is full",
    "damaged, or its disk fails",
];

pub(crate) struct Fixture {
    /// Absent only while it is restarted.
    service: Option<Service>,
    pub(crate) faults: Faults,
    workers: [Worker; 1],
    /// Exists for the whole test, and is never liked.
    post: i64,
    started: Instant,
}

/// Maintenance commits what earlier faults have left, a minute after a start: a trace must not contain that.
const MAX_UPTIME: Duration = Duration::from_secs(20);

impl Fixture {
    pub(crate) fn start() -> Self {
        let faults = Faults::new();
        let service = faults.start(&FLAGS);
        let mut worker = Worker::new(service.new_user("worker"), fastrand::u64(..));
        worker.upload().unwrap();
        let post = worker.writable_posts()[0];
        Self { faults, service: Some(service), workers: [worker], post, started: Instant::now() }
    }

    pub(crate) fn service(&self) -> &Service {
        self.service.as_ref().unwrap()
    }

    pub(crate) fn worker(&mut self) -> &mut Worker {
        &mut self.workers[0]
    }

    /// Compares the service with what was acknowledged, and resolves what was not. Returns the number of
    /// photos.
    pub(crate) fn verify(&mut self) -> usize {
        let base = self.service().base().to_owned();
        verify(&base, &mut self.workers)
    }

    /// The number of files that no photo needs: of failed uploads and deletes, until maintenance removes
    /// them.
    pub(crate) fn orphans(&mut self) -> usize {
        let photos = self.verify();
        let service = self.service();
        originals(service).checked_sub(photos).expect("every photo has its files")
            + service.files("tmp").len()
    }

    /// Runs `operation` under faults.
    pub(crate) fn inject<T>(
        &mut self,
        rules: &[Rule],
        operation: impl FnOnce(&mut Worker) -> T,
    ) -> (T, Trace) {
        self.faults.arm(rules);
        let outcome = operation(&mut self.workers[0]);
        (outcome, self.faults.disarm())
    }

    /// A full disk releases the reserve file. It is allocated again after a second, or after a write that
    /// frees space, such as this unlike of a post that is not liked.
    pub(crate) fn wait_until_writable(&mut self) {
        let (worker, post) = (&mut self.workers[0], self.post);
        eventually("writes are accepted again", TIMEOUT, || {
            worker.client.delete(&format!("/posts/{post}/likes")).expect(409);
            match worker.edit(post) {
                Ok(_) => Some(()),
                Err(UnknownOutcome::Failed(response)) if response.status == 507 => {
                    worker.reject_last();
                    None
                }
                Err(outcome) => panic!("{outcome:?}"),
            }
        });
    }

    /// `kill -9`, if the service has not ended by itself, and a start.
    pub(crate) fn restart(&mut self) {
        drop(self.service.take());
        self.service = Some(self.faults.start(&FLAGS));
        self.started = Instant::now();
        self.verify();
    }

    /// Restarts a service whose maintenance is about to run.
    pub(crate) fn restart_before_maintenance(&mut self) {
        if self.started.elapsed() > MAX_UPTIME {
            self.restart();
        }
    }

    /// `kill -9`, and a start without faults: everything acknowledged is there, and nothing else.
    pub(crate) fn finish(self) {
        let Self { faults, service, mut workers, .. } = self;
        drop(service);
        let service = Service::start_in(&faults.data_dir(), &[]);
        let photos = verify(service.base(), &mut workers);
        eventually("unfinished uploads and deletes are cleaned up", TIMEOUT, || {
            (originals(&service) == photos && service.files("tmp").is_empty()).then_some(())
        });
        service.terminate();
        service.assert_clean_exit();
        assert_healthy(&faults.data_dir());
    }
}

/// Asserts that the log has the cause of an error, under the id of its request.
#[track_caller]
pub(crate) fn assert_cause_logged(service: &Service, response: &Response) {
    let id = response.header("x-request-id").unwrap_or_else(|| panic!("{response}"));
    eventually(&format!("the log has the cause of {response}"), TIMEOUT, || {
        service.log().iter().any(|line| line.contains(id) && names_cause(line)).then_some(())
    });
}

pub(crate) fn names_cause(line: &str) -> bool {
    CAUSES.iter().any(|cause| line.contains(cause))
}

/// The number of stored photos, which have one such file each.
fn originals(service: &Service) -> usize {
    let is_original = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("original");
    service.files("photos").iter().filter(|path| is_original(path)).count()
}

fn assert_healthy(data_dir: &Path) {
    let output = Command::new(program()).args(["doctor", "--data-dir"]).arg(data_dir).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// The number of commits in a trace. The log's header has an fsync of its own, after one write.
pub(crate) fn commits(calls: &[FileCall]) -> usize {
    let (mut commits, mut writes) = (0, 0);
    for call in calls {
        if call.is(FileOperation::Write, LOG) {
            writes += 1;
        } else if call.is(FileOperation::Sync, LOG) {
            commits += usize::from(writes > 1);
            writes = 0;
        }
    }
    commits
}

/// The first two calls of every run of these operations, as `run` and `call` of a rule: SQLite writes the
/// header and the page of a frame from two places.
pub(crate) fn first_calls(calls: &[FileCall], operations: &[FileOperation]) -> Vec<(u64, u64)> {
    let matching: Vec<&FileCall> = calls.iter().filter(|call| operations.contains(&call.operation)).collect();
    let runs = matching.chunk_by(|one, next| one == next);
    (1..)
        .zip(runs)
        .flat_map(|(run, calls)| (1..=calls.len().min(2) as u64).map(move |call| (run, call)))
        .collect()
}
