//! A thread pool for work that would block the runtime, behind a [`FairQueue`] that admits its jobs.
//!
//! A job that exceeds its time limit fails for its caller, and a new slot replaces that of the stuck thread,
//! which cannot be stopped. Only when the job ends are its own slot and memory released.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::scheduler::{FairQueue, MemoryReservation, SlotPermit};
use crate::{Client, Error};

/// Counts its thread as idle when its work is done.
type Job = Box<dyn FnOnce() + Send>;

/// A thread without a job ends after this time.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct ThreadPool {
    queue: FairQueue,
    threads: Arc<Threads>,
    /// For the jobs of networks that run no other one, so that they get a core before the second and further
    /// jobs of another network.
    first_threads: Arc<Threads>,
    /// The time limit of a job, from its start.
    limit: Option<Duration>,
    timed_out: Arc<AtomicU64>,
}

/// The threads are started when jobs need them, so there are never more than admitted jobs.
#[derive(Debug)]
struct Threads {
    name: &'static str,
    nice: i32,
    /// Threads that wait for a job and are not yet claimed by one.
    idle: AtomicUsize,
    jobs: Sender<Job>,
    queue: Receiver<Job>,
}

/// The sender of a job's result. The job and its watchdog compete for it; the first to take it sends.
type Reply<T> = Arc<Mutex<Option<oneshot::Sender<Result<T, TimedOut>>>>>;

#[derive(Debug)]
struct TimedOut;

impl ThreadPool {
    /// A job that runs longer than `limit` fails.
    pub(crate) fn new(queue: FairQueue, limit: Option<Duration>) -> Self {
        let (threads, first_threads) =
            (Threads::new(queue.name(), NICE), Threads::new(queue.name(), FIRST_NICE));
        Self { queue, threads, first_threads, limit, timed_out: Arc::default() }
    }

    /// A pool for work that no client waits for: of the lowest priority, without a time limit.
    pub(crate) fn background(queue: FairQueue) -> Self {
        let threads = Threads::new(queue.name(), BACKGROUND_NICE);
        Self { queue, first_threads: threads.clone(), threads, limit: None, timed_out: Arc::default() }
    }

    /// Waits for a slot and for `memory` bytes, and runs `work` on one of the threads. Returns its result
    /// with the memory, which the caller may keep. A panic becomes an error. If the caller is cancelled, the
    /// job keeps slot and memory until it ends.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        client: Client,
        memory: u64,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<(MemoryReservation, T), Error> {
        let permit = self.acquire(client, memory).await?;
        self.run_admitted(permit, work).await
    }

    /// The slot and the memory of a job that has to prepare something before it runs.
    pub(crate) async fn acquire(&self, client: Client, memory: u64) -> Result<SlotPermit, Error> {
        self.queue.acquire(client, memory).await
    }

    /// The same as [`run`](Self::run) for a job that has been admitted.
    pub(crate) async fn run_admitted<T: Send + 'static>(
        &self,
        permit: SlotPermit,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<(MemoryReservation, T), Error> {
        let (reply, result) = oneshot::channel();
        let reply: Reply<_> = Arc::new(Mutex::new(Some(reply)));
        let watchdog = self.limit.map(|limit| {
            Handle::current().spawn(watch(self.queue.clone(), limit, reply.clone(), self.timed_out.clone()))
        });
        let threads = if permit.is_first() { &self.first_threads } else { &self.threads };
        let (queue, own_threads) = (self.queue.clone(), threads.clone());
        let job = move || {
            let outcome = catch_unwind(AssertUnwindSafe(work));
            // Before the slot is released: the next job takes this thread instead of starting one, whose
            // allocator arena would keep memory.
            own_threads.idle.fetch_add(1, Ordering::AcqRel);
            let sender = take_sender(&reply);
            if let Some(watchdog) = watchdog {
                watchdog.abort();
            }
            let memory = permit.into_memory();
            match sender {
                // Dropped with its memory if the caller was cancelled.
                Some(sender) => drop(sender.send(Ok((memory, outcome)))),
                None => queue.set_stuck(false),
            }
        };
        threads.run(Box::new(job)).map_err(Error::internal)?;
        let result = result.await.map_err(|_| Error::internal(Panicked(self.threads.name)))?;
        let (memory, outcome) = result.map_err(|TimedOut| Error::TimedOut(self.threads.name))?;
        let value = outcome.map_err(|_| Error::internal(Panicked(self.threads.name)))?;
        Ok((memory, value))
    }

    pub(crate) fn queue(&self) -> &FairQueue {
        &self.queue
    }

    /// Jobs that exceeded the time limit.
    pub(crate) fn timed_out(&self) -> u64 {
        self.timed_out.load(Ordering::Relaxed)
    }
}

/// High enough that a runtime thread preempts a pool thread when it wakes, instead of waiting milliseconds
/// for the end of its time slice; low enough that on a saturated machine a pool thread still gets about a
/// thirtieth of a core.
const NICE: i32 = 15;

/// Nine times the share of a core.
const FIRST_NICE: i32 = 5;

/// The lowest: a twentieth of the share of the first jobs of networks.
const BACKGROUND_NICE: i32 = 19;

/// Requests take microseconds and jobs take long, so the threads of the runtime get a core first.
fn lower_priority(nice: i32) {
    // On other systems the priority belongs to the process, not to the thread.
    if cfg!(target_os = "linux")
        && let Err(error) = rustix::process::setpriority_process(None, nice)
    {
        tracing::debug!(%error, "thread priority not lowered");
    }
}

impl Threads {
    fn new(name: &'static str, nice: i32) -> Arc<Self> {
        let (jobs, queue) = crossbeam_channel::unbounded();
        Arc::new(Self { name, nice, idle: AtomicUsize::new(0), jobs, queue })
    }

    /// Runs the job on an idle thread, or on a new one.
    fn run(self: &Arc<Self>, job: Job) -> io::Result<()> {
        if self.claim_idle() {
            // The receiver is a field beside it, so the channel is open.
            return self.jobs.send(job).map_err(|_| io::ErrorKind::BrokenPipe.into());
        }
        let threads = self.clone();
        std::thread::Builder::new().name(self.name.into()).spawn(move || threads.run_jobs(job)).map(drop)
    }

    fn run_jobs(&self, first: Job) {
        lower_priority(self.nice);
        first();
        loop {
            match self.queue.recv_timeout(IDLE_TIMEOUT) {
                Ok(job) => job(),
                Err(_) if self.claim_idle() => return,
                // A job has claimed this thread and is on its way.
                Err(_) => match self.queue.recv() {
                    Ok(job) => job(),
                    Err(_) => return,
                },
            }
        }
    }

    /// Takes one of the idle threads for a job, or for an exit.
    fn claim_idle(&self) -> bool {
        let claim = |idle: usize| idle.checked_sub(1);
        self.idle.fetch_update(Ordering::AcqRel, Ordering::Acquire, claim).is_ok()
    }
}

/// The watchdog of a job: after the limit, the job fails for its caller.
async fn watch<T>(queue: FairQueue, limit: Duration, reply: Reply<T>, timed_out: Arc<AtomicU64>) {
    tokio::time::sleep(limit).await;
    if let Some(sender) = take_sender(&reply) {
        timed_out.fetch_add(1, Ordering::Relaxed);
        queue.set_stuck(true);
        tracing::warn!(pool = queue.name(), "job timed out; thread abandoned");
        drop(sender.send(Err(TimedOut)));
    }
}

fn take_sender<T>(reply: &Reply<T>) -> Option<oneshot::Sender<Result<T, TimedOut>>> {
    reply.lock().take()
}

#[derive(Debug, thiserror::Error)]
#[error("a job of the {0} threads panicked")]
struct Panicked(&'static str);

#[cfg(test)]
mod tests;
