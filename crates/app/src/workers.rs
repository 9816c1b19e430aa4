//! Bounded threads for work that would block the runtime, with a queue that says no when it is full.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_channel::Sender;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::Error;

type Job = Box<dyn FnOnce() + Send>;

#[derive(Debug)]
pub(crate) struct Workers {
    name: &'static str,
    jobs: Sender<Job>,
    /// One place for every job that runs or waits.
    places: Arc<Semaphore>,
    capacity: usize,
    shed: AtomicU64,
}

/// A place in the queue, given back when dropped.
#[derive(Debug)]
pub(crate) struct Place(#[expect(dead_code, reason = "held for its drop")] OwnedSemaphorePermit);

impl Workers {
    pub(crate) fn start(name: &'static str, threads: usize, queue: usize) -> io::Result<Self> {
        // Places bound the queue; the channel itself never has to refuse.
        let (jobs, work) = crossbeam_channel::unbounded::<Job>();
        for number in 0..threads {
            let work = work.clone();
            std::thread::Builder::new().name(format!("{name}-{number}")).spawn(move || {
                while let Ok(job) = work.recv() {
                    job();
                }
            })?;
        }
        let capacity = threads + queue;
        Ok(Self { name, jobs, places: Arc::new(Semaphore::new(capacity)), capacity, shed: AtomicU64::new(0) })
    }

    /// Takes a place, or learns at once that there is none.
    pub(crate) fn enter(&self) -> Result<Place, Error> {
        self.places.clone().try_acquire_owned().map(Place).map_err(|_| {
            self.shed.fetch_add(1, Ordering::Relaxed);
            Error::Busy(self.name)
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
        let job: Job = Box::new(move || {
            // Nobody waits any more: leave the thread to those who do.
            if reply.is_closed() {
                return;
            }
            let outcome = catch_unwind(AssertUnwindSafe(work));
            drop(reply.send((place, outcome)));
        });
        self.jobs.send(job).map_err(|_| Error::internal(Stopped))?;
        let (place, outcome) = answer.await.map_err(|_| Error::internal(Stopped))?;
        let value = outcome.map_err(|_| Error::internal(Panicked(self.name)))?;
        Ok((place, value))
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Jobs that run or wait.
    pub(crate) fn depth(&self) -> usize {
        self.capacity - self.places.available_permits()
    }

    /// Jobs that were refused.
    pub(crate) fn shed(&self) -> u64 {
        self.shed.load(Ordering::Relaxed)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the worker threads have stopped")]
struct Stopped;

#[derive(Debug, thiserror::Error)]
#[error("a job on the {0} threads panicked")]
struct Panicked(&'static str);

/// Memory shared by everyone who decodes pictures, reserved before a decode begins.
#[derive(Debug)]
pub(crate) struct Budget {
    kibibytes: Arc<Semaphore>,
    total: u32,
}

impl Budget {
    pub(crate) fn new(bytes: u64) -> Self {
        let total = kibibytes(bytes).max(1);
        Self { kibibytes: Arc::new(Semaphore::new(total as usize)), total }
    }

    /// Waits until `bytes` are free. A job larger than the whole budget gets all of it: it runs alone.
    pub(crate) async fn reserve(&self, bytes: u64) -> Result<Memory, Error> {
        let wanted = kibibytes(bytes).min(self.total);
        self.kibibytes.clone().acquire_many_owned(wanted).await.map(Memory).map_err(Error::internal)
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
        let workers = Workers::start("test", 1, 1).unwrap();
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
        let workers = Workers::start("test", 1, 0).unwrap();
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
        let workers = Workers::start("test", 1, 1).unwrap();
        let place = workers.enter().unwrap();
        let panicked = workers.run(place, || panic!("on purpose")).await;
        assert!(matches!(panicked, Err(Error::Internal(_))));
        assert_eq!(workers.run(workers.enter().unwrap(), || 1).await.unwrap().1, 1);
    }

    #[tokio::test]
    async fn a_job_beyond_the_budget_runs_alone() {
        let budget = Budget::new(10 * 1024);
        let all = budget.reserve(1 << 40).await.unwrap();
        assert_eq!(budget.kibibytes.available_permits(), 0);
        drop(all);
        let mut some = budget.reserve(4 * 1024).await.unwrap();
        assert_eq!(budget.kibibytes.available_permits(), 6);
        some.shrink_to(5 * 1024);
        assert_eq!(budget.kibibytes.available_permits(), 6, "it never grows");
        some.shrink_to(1);
        assert_eq!(budget.kibibytes.available_permits(), 9);
    }
}
