use std::net::Ipv4Addr;
use std::sync::mpsc;

use super::*;
use crate::scheduler::{QueueLimits, Scheduler};

const CLIENT: fn() -> Client = || Client::anonymous(Ipv4Addr::LOCALHOST.into());

fn pool(slots: usize, max_waiting: usize, limit: Option<Duration>) -> ThreadPool {
    let limits = QueueLimits {
        name: "test",
        slots,
        extra_slots: 0,
        max_waiting,
        max_wait: Duration::from_secs(60),
        max_memory: 6,
        is_background: false,
    };
    ThreadPool::new(Scheduler::new(6).add_queue(limits), limit)
}

impl ThreadPool {
    async fn value<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
        self.run(CLIENT(), 0, work).await.map(|(_, value)| value)
    }

    async fn drained(&self) {
        while self.queue.depth() > 0 {
            tokio::task::yield_now().await;
        }
    }
}

/// The test's ends of a job that reports its start and runs until it is told to finish.
struct BlockedJob {
    began: mpsc::Receiver<()>,
    finish: mpsc::Sender<()>,
}

fn blocked_job() -> (BlockedJob, impl FnOnce() + Send + 'static) {
    let (begin, began) = mpsc::channel();
    let (finish, may_finish) = mpsc::channel::<()>();
    let job = move || {
        begin.send(()).unwrap();
        may_finish.recv().unwrap();
    };
    (BlockedJob { began, finish }, job)
}

#[tokio::test]
async fn threads_are_reused() {
    let pool = pool(1, 0, None);
    let thread = || std::thread::current().id();
    let first = pool.value(thread).await.unwrap();
    for _ in 0..100 {
        assert_eq!(pool.value(thread).await.unwrap(), first);
    }
}

#[tokio::test]
async fn a_running_job_keeps_its_slot_when_its_caller_is_cancelled() {
    let pool = pool(1, 0, None);
    let (blocked, job) = blocked_job();
    let mut work = Box::pin(pool.value(job));
    assert!(futures_util::poll!(&mut work).is_pending());
    blocked.began.recv().unwrap();
    drop(work);
    assert!(matches!(pool.value(|| 1).await, Err(Error::Busy("test"))));
    blocked.finish.send(()).unwrap();
    pool.drained().await;
    assert_eq!(pool.value(|| 1).await.unwrap(), 1);
}

#[tokio::test]
async fn a_panicking_job_is_an_error_and_releases_its_slot() {
    let pool = pool(1, 0, None);
    let panicked = pool.value(|| panic!("on purpose")).await;
    assert!(matches!(panicked, Err(Error::Internal(_))));
    assert_eq!(pool.value(|| 1).await.unwrap(), 1);
}

/// Longer than a trivial job takes on a machine that runs other tests at the same time.
const LIMIT: Duration = Duration::from_millis(500);

#[tokio::test]
async fn a_job_that_times_out_fails_and_its_slot_is_replaced() {
    let pool = pool(1, 3, Some(LIMIT));
    let (first, job) = blocked_job();
    let outcome = pool.value(job).await;
    assert!(matches!(outcome, Err(Error::TimedOut("test"))), "{outcome:?}");
    assert_eq!((pool.timed_out(), pool.queue.depth()), (1, 1), "the job still runs");

    // The next job gets stuck as well. A pool of one slot gets no second replacement.
    let (second, job) = blocked_job();
    assert!(matches!(pool.value(job).await, Err(Error::TimedOut(_))));
    let mut third = Box::pin(pool.value(|| 3));
    assert!(futures_util::poll!(&mut third).is_pending());
    assert_eq!((pool.timed_out(), pool.queue.depth()), (2, 3));

    first.finish.send(()).unwrap();
    assert_eq!(third.await.unwrap(), 3, "after the end of one stuck job, the other one is replaced");
    second.finish.send(()).unwrap();
    pool.drained().await;
    assert_eq!(pool.value(|| 4).await.unwrap(), 4);
    assert_eq!(pool.timed_out(), 2);
}

#[tokio::test]
async fn a_job_of_a_cancelled_caller_times_out_and_keeps_its_memory_until_it_ends() {
    let pool = pool(1, 1, Some(LIMIT));
    let (stuck, job) = blocked_job();
    let mut work = Box::pin(pool.run(CLIENT(), 6, job));
    assert!(futures_util::poll!(&mut work).is_pending());
    stuck.began.recv().unwrap();
    drop(work);
    assert_eq!(pool.value(|| 1).await.unwrap(), 1, "in the slot that replaces the stuck one");
    assert_eq!(pool.timed_out(), 1);
    let mut next = Box::pin(pool.run(CLIENT(), 6, || 2));
    assert!(futures_util::poll!(&mut next).is_pending(), "the running job must keep its memory");
    stuck.finish.send(()).unwrap();
    assert_eq!(next.await.unwrap().1, 2);
}
