//! Bounded threads for work that would block the runtime, with a queue that says no when it is full.
//!
//! A job that takes too long is given up: whoever waits for it gets an answer, and a fresh thread takes the
//! place of the one that is stuck, which nothing can stop. It ends when its job does, and only then are the
//! job's place and memory free again.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError, oneshot};

use crate::Error;

type Job = Box<dyn FnOnce() -> Ended + Send>;

#[derive(Debug, PartialEq, Eq)]
enum Ended {
    InTime,
    /// After it had been given up.
    TooLate,
}

#[derive(Debug)]
pub(crate) struct Workers {
    crew: Arc<Crew>,
    jobs: Sender<Job>,
    /// One place for every job that runs or waits.
    places: Arc<Semaphore>,
    capacity: usize,
    shed: AtomicU64,
}

/// A place in the queue, given back when dropped.
#[derive(Debug)]
pub(crate) struct Place(#[expect(dead_code, reason = "held for its drop")] OwnedSemaphorePermit);

/// The threads, and those of them that are stuck.
#[derive(Debug)]
struct Crew {
    name: &'static str,
    threads: usize,
    work: Receiver<Job>,
    /// How long a job may run.
    limit: Option<Duration>,
    stuck: Mutex<Stuck>,
    abandoned: AtomicU64,
}

#[derive(Debug, Default)]
struct Stuck {
    /// Threads that were given up and have a successor; they end with their job.
    replaced: usize,
    /// Threads that were given up without one, because there were too many; they go on after their job.
    missed: usize,
}

/// The sender of a job's answer. Whoever takes it gives the answer: the job at its end, or its watch before.
type Reply<T> = Arc<Mutex<Option<oneshot::Sender<Result<T, Overdue>>>>>;

#[derive(Debug)]
struct Overdue;

impl Workers {
    /// Starts the threads. Jobs may run for as long as `limit` says.
    pub(crate) fn start(
        name: &'static str,
        threads: usize,
        queue: usize,
        limit: Option<Duration>,
    ) -> io::Result<Self> {
        // Places bound the queue; the channel itself never has to refuse.
        let (jobs, work) = crossbeam_channel::unbounded::<Job>();
        let (stuck, abandoned) = (Mutex::default(), AtomicU64::new(0));
        let crew = Arc::new(Crew { name, threads, work, limit, stuck, abandoned });
        for _ in 0..threads {
            crew.spawn()?;
        }
        let capacity = threads + queue;
        Ok(Self { crew, jobs, places: Arc::new(Semaphore::new(capacity)), capacity, shed: AtomicU64::new(0) })
    }

    /// Takes a place, or learns at once that there is none.
    pub(crate) fn enter(&self) -> Result<Place, Error> {
        self.places.clone().try_acquire_owned().map(Place).map_err(|_| {
            self.shed.fetch_add(1, Ordering::Relaxed);
            Error::Busy(self.crew.name)
        })
    }

    /// Runs `work` on one of the threads and hands the place back with its result. A panic in it is an
    /// error, not an outage. If the caller goes away, the job keeps the place as long as it runs.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        place: Place,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<(Place, T), Error> {
        let (reply, answer) = oneshot::channel();
        let reply: Reply<_> = Arc::new(Mutex::new(Some(reply)));
        let (crew, runtime) = (self.crew.clone(), Handle::current());
        let job: Job = Box::new(move || {
            // Nobody waits any more: leave the thread to those who do.
            if reply.lock().as_ref().is_none_or(tokio::sync::oneshot::Sender::is_closed) {
                return Ended::InTime;
            }
            // Only now: waiting in the queue is nobody's fault. By a task of its own: the caller may leave.
            let watch = crew.limit.map(|limit| runtime.spawn(watch(crew, limit, reply.clone())));
            let outcome = catch_unwind(AssertUnwindSafe(work));
            let in_time = take(&reply);
            if let Some(watch) = watch {
                watch.abort();
            }
            match in_time {
                Some(reply) => {
                    drop(reply.send(Ok((place, outcome))));
                    Ended::InTime
                }
                None => Ended::TooLate,
            }
        });
        self.jobs.send(job).map_err(|_| Error::internal(Stopped))?;
        let answer = answer.await.map_err(|_| Error::internal(Stopped))?;
        let (place, outcome) = answer.map_err(|Overdue| Error::Overdue(self.crew.name))?;
        let value = outcome.map_err(|_| Error::internal(Panicked(self.crew.name)))?;
        Ok((place, value))
    }

    pub(crate) fn name(&self) -> &'static str {
        self.crew.name
    }

    /// Jobs that run, given up or not, or wait.
    pub(crate) fn depth(&self) -> usize {
        self.capacity - self.places.available_permits()
    }

    /// Jobs that were refused.
    pub(crate) fn shed(&self) -> u64 {
        self.shed.load(Ordering::Relaxed)
    }

    /// Jobs that were given up.
    pub(crate) fn abandoned(&self) -> u64 {
        self.crew.abandoned.load(Ordering::Relaxed)
    }
}

/// Far enough back that a request which wakes up need not wait for the end of our slice of time, which is
/// milliseconds, and not so far that a machine full of requests makes a picture take for ever: a thirtieth of
/// a core is left.
#[cfg(target_os = "linux")]
const NICE: i32 = 15;

/// Whoever answers requests goes first where both want a core: their work is microseconds, ours is long.
fn step_back() {
    // Elsewhere this would slow down the whole process, not this thread.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICE) {
        tracing::debug!(%error, "long work runs at the same priority as requests");
    }
}

impl Crew {
    fn spawn(self: &Arc<Self>) -> io::Result<()> {
        let crew = self.clone();
        std::thread::Builder::new().name(self.name.into()).spawn(move || crew.work()).map(drop)
    }

    fn work(&self) {
        step_back();
        while let Ok(job) = self.work.recv() {
            if job() == Ended::TooLate && !self.is_missed() {
                return;
            }
        }
    }

    /// A thread is stuck. There are never more successors than there were threads: each stuck one takes a
    /// core and holds memory, and a crowd of them must not take all.
    fn give_up(self: &Arc<Self>) {
        self.abandoned.fetch_add(1, Ordering::Relaxed);
        let mut stuck = self.stuck.lock();
        let successor = stuck.replaced < self.threads && self.spawn().is_ok();
        if successor {
            stuck.replaced += 1;
        } else {
            stuck.missed += 1;
        }
        tracing::warn!(
            threads = self.name,
            replaced = stuck.replaced,
            missed = stuck.missed,
            "a job took too long and was given up"
        );
    }

    /// A thread that was given up is back: whether it is missed, because somebody has no successor.
    fn is_missed(&self) -> bool {
        let mut stuck = self.stuck.lock();
        let missed = stuck.missed > 0;
        if missed {
            stuck.missed -= 1;
        } else {
            stuck.replaced -= 1;
        }
        missed
    }
}

/// Gives a job up when its time is over.
async fn watch<T>(crew: Arc<Crew>, limit: Duration, reply: Reply<T>) {
    tokio::time::sleep(limit).await;
    if let Some(reply) = take(&reply) {
        crew.give_up();
        drop(reply.send(Err(Overdue)));
    }
}

fn take<T>(reply: &Reply<T>) -> Option<oneshot::Sender<Result<T, Overdue>>> {
    reply.lock().take()
}

#[derive(Debug, thiserror::Error)]
#[error("the worker threads have stopped")]
struct Stopped;

#[derive(Debug, thiserror::Error)]
#[error("a job on the {0} threads panicked")]
struct Panicked(&'static str);

/// Memory shared by everyone who works on pixels, reserved before the work begins.
///
/// A quarter is for renders alone. Whoever waits is served in turn, so in one common line an image of a few
/// kilobytes would stand behind every large upload that waits for the uploads before it; and readers, who are
/// the most, would pay for what few send. The other way round a render may use what uploads leave free, but
/// never waits for it.
///
/// Nobody waits for ever: a decode that was given up keeps its memory until it ends, which may be never.
///
/// No job waits for memory while it holds some, and memory is asked for with a place in the queue already in
/// hand, so whoever has memory runs next and gives it back.
#[derive(Debug)]
pub(crate) struct Budget {
    uploads: Share,
    renders: Share,
    patience: Duration,
}

#[derive(Debug)]
struct Share {
    kibibytes: Arc<Semaphore>,
    total: u32,
}

impl Budget {
    pub(crate) fn new(bytes: u64, patience: Duration) -> Self {
        let total = kibibytes(bytes).max(2);
        let renders = (total / 4).max(1);
        Self { uploads: Share::new(total - renders), renders: Share::new(renders), patience }
    }

    /// Waits until `bytes` are free. An upload larger than all there is for uploads gets all of it: no other
    /// is decoded at the same time.
    pub(crate) async fn for_upload(&self, bytes: u64) -> Result<Memory, Error> {
        self.wait(&self.uploads, kibibytes(bytes)).await
    }

    /// The same for a render, from the renders' own part or what uploads leave free.
    pub(crate) async fn for_render(&self, bytes: u64) -> Result<Memory, Error> {
        let wanted = kibibytes(bytes);
        for share in [&self.renders, &self.uploads] {
            if let Some(memory) = share.if_free(wanted)? {
                return Ok(memory);
            }
        }
        self.wait(&self.renders, wanted).await
    }

    async fn wait(&self, share: &Share, kibibytes: u32) -> Result<Memory, Error> {
        let reserved = share.kibibytes.clone().acquire_many_owned(kibibytes.min(share.total));
        match tokio::time::timeout(self.patience, reserved).await {
            Ok(reserved) => reserved.map(Memory).map_err(Error::internal),
            Err(_) => Err(Error::Busy("memory for pictures")),
        }
    }
}

impl Share {
    fn new(total: u32) -> Self {
        Self { kibibytes: Arc::new(Semaphore::new(total as usize)), total }
    }

    /// Only if nobody waits: what becomes free goes to them first.
    fn if_free(&self, kibibytes: u32) -> Result<Option<Memory>, Error> {
        match self.kibibytes.clone().try_acquire_many_owned(kibibytes) {
            Ok(reserved) => Ok(Some(Memory(reserved))),
            Err(TryAcquireError::NoPermits) => Ok(None),
            Err(closed) => Err(Error::internal(closed)),
        }
    }
}

/// A share of a budget, given back when dropped.
#[derive(Debug)]
pub(crate) struct Memory(OwnedSemaphorePermit);

impl Memory {
    /// Gives back all but so many bytes.
    pub(crate) fn shrink_to(&mut self, bytes: u64) {
        let spare = self.0.num_permits().saturating_sub(kibibytes(bytes) as usize);
        drop(self.0.split(spare));
    }
}

fn kibibytes(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(1024))
        .unwrap_or(u32::MAX)
        .min(Semaphore::MAX_PERMITS.try_into().unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn says_no_when_full_and_yes_again_after() {
        let workers = Workers::start("test", 1, 1, None).unwrap();
        let (first, second) = (workers.enter().unwrap(), workers.enter().unwrap());
        assert!(matches!(workers.enter(), Err(Error::Busy("test"))));
        assert_eq!((workers.depth(), workers.shed()), (2, 1));
        let (first, answer) = workers.run(first, || 6 * 7).await.unwrap();
        assert_eq!(answer, 42);
        assert!(workers.enter().is_err(), "both places are still held");
        drop((first, second));
        workers.enter().unwrap();
    }

    #[tokio::test]
    async fn a_job_keeps_its_place_when_its_caller_goes_away() {
        let workers = Workers::start("test", 1, 0, None).unwrap();
        let (started, has_started) = std::sync::mpsc::channel();
        let (finish, may_finish) = std::sync::mpsc::channel::<()>();
        let work = workers.run(workers.enter().unwrap(), move || {
            started.send(()).unwrap();
            may_finish.recv().unwrap();
        });
        let mut work = Box::pin(work);
        assert!(futures_util::poll!(&mut work).is_pending());
        has_started.recv().unwrap();
        drop(work);
        assert!(workers.enter().is_err(), "it still runs");
        finish.send(()).unwrap();
        while workers.depth() > 0 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn survives_a_panicking_job() {
        let workers = Workers::start("test", 1, 1, None).unwrap();
        let place = workers.enter().unwrap();
        let panicked = workers.run(place, || panic!("on purpose")).await;
        assert!(matches!(panicked, Err(Error::Internal(_))));
        assert_eq!(workers.run(workers.enter().unwrap(), || 1).await.unwrap().1, 1);
    }

    /// Long enough for a job that does nothing, on a machine busy with other tests.
    const LIMIT: Duration = Duration::from_millis(500);

    /// A job that runs until it is let go, and says when it began.
    struct Held {
        began: std::sync::mpsc::Receiver<()>,
        finish: std::sync::mpsc::Sender<()>,
    }

    fn held() -> (Held, impl FnOnce() + Send + 'static) {
        let (begin, began) = std::sync::mpsc::channel();
        let (finish, may_finish) = std::sync::mpsc::channel::<()>();
        let job = move || {
            begin.send(()).unwrap();
            may_finish.recv().unwrap();
        };
        (Held { began, finish }, job)
    }

    #[tokio::test]
    async fn a_job_that_takes_too_long_is_given_up_and_its_thread_replaced() {
        let workers = Workers::start("test", 1, 3, Some(LIMIT)).unwrap();
        let (first, job) = held();
        let outcome = workers.run(workers.enter().unwrap(), job).await;
        assert!(matches!(outcome, Err(Error::Overdue("test"))), "{outcome:?}");
        assert_eq!((workers.abandoned(), workers.depth()), (1, 1), "it still has its place");

        // A fresh thread does the next job, and is stuck as well: one successor is all that one thread gets.
        let (second, job) = held();
        assert!(matches!(workers.run(workers.enter().unwrap(), job).await, Err(Error::Overdue(_))));
        second.began.recv().unwrap();
        assert_eq!(Arc::strong_count(&workers.crew), 3, "held by us and by the two that are stuck");
        let mut third = Box::pin(workers.run(workers.enter().unwrap(), || 3));
        assert!(futures_util::poll!(&mut third).is_pending());
        assert_eq!((workers.abandoned(), workers.depth()), (2, 3));

        // The first one back takes the place of the second, which then simply ends.
        first.finish.send(()).unwrap();
        assert_eq!(third.await.unwrap().1, 3);
        second.finish.send(()).unwrap();
        while workers.depth() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(workers.run(workers.enter().unwrap(), || 4).await.unwrap().1, 4);
        // One thread has the crew in hand, and we do.
        let one_is_left = async {
            while Arc::strong_count(&workers.crew) > 2 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), one_is_left).await.expect("the other thread is gone");
        assert_eq!(workers.abandoned(), 2);
    }

    #[tokio::test]
    async fn a_job_is_given_up_even_if_nobody_waits_for_it_and_keeps_its_memory() {
        let workers = Workers::start("test", 1, 1, Some(LIMIT)).unwrap();
        let budget = Budget::new(8 * 1024, Duration::from_secs(60));
        let memory = budget.for_upload(6 * 1024).await.unwrap();
        let (stuck, job) = held();
        let mut work = Box::pin(workers.run(workers.enter().unwrap(), move || {
            job();
            memory
        }));
        assert!(futures_util::poll!(&mut work).is_pending());
        stuck.began.recv().unwrap();
        drop(work);
        assert_eq!(workers.run(workers.enter().unwrap(), || 1).await.unwrap().1, 1, "there is a successor");
        assert_eq!(workers.abandoned(), 1);
        assert_eq!(budget.uploads.kibibytes.available_permits(), 0);
        stuck.finish.send(()).unwrap();
        drop(budget.for_upload(6 * 1024).await.unwrap());
    }

    #[tokio::test]
    async fn a_job_beyond_the_budget_runs_alone() {
        let budget = Budget::new(12 * 1024, Duration::from_secs(60));
        let free = || budget.uploads.kibibytes.available_permits();
        let all = budget.for_upload(1 << 40).await.unwrap();
        assert_eq!(free(), 0);
        drop(all);
        let mut some = budget.for_upload(4 * 1024).await.unwrap();
        assert_eq!(free(), 5);
        some.shrink_to(5 * 1024);
        assert_eq!(free(), 5, "it never grows");
        some.shrink_to(1);
        assert_eq!(free(), 8);
    }

    #[tokio::test]
    async fn renders_do_not_stand_in_line_behind_uploads() {
        let budget = Budget::new(40 * 1024, Duration::from_secs(60));
        let _decoding = budget.for_upload(20 * 1024).await.unwrap();
        let mut waiting = Box::pin(budget.for_upload(30 * 1024));
        assert!(futures_util::poll!(&mut waiting).is_pending());
        // Their own ten; the ten that uploads have free are promised to the one who waits.
        let first = budget.for_render(6 * 1024).await.unwrap();
        let _second = budget.for_render(4 * 1024).await.unwrap();
        let mut third = Box::pin(budget.for_render(6 * 1024));
        assert!(futures_util::poll!(&mut third).is_pending());
        drop(first);
        third.await.unwrap();
        assert!(futures_util::poll!(&mut waiting).is_pending());

        // What nobody else wants may be used as well, without waiting for it.
        drop(waiting);
        let large = budget.for_render(9 * 1024).await.unwrap();
        assert_eq!(budget.uploads.kibibytes.available_permits(), 1);
        drop(large);
    }

    #[tokio::test]
    async fn nobody_waits_for_ever_for_memory_that_does_not_come_back() {
        let budget = Budget::new(8 * 1024, Duration::from_millis(1));
        let _stuck = budget.for_upload(6 * 1024).await.unwrap();
        let outcome = budget.for_upload(1024).await;
        assert!(matches!(outcome, Err(Error::Busy(_))), "{outcome:?}");
    }
}
