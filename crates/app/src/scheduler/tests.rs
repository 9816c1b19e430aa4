use std::net::IpAddr;

use model::UserId;

use super::*;

const MAX_WAIT: Duration = Duration::from_secs(60);

const LIMITS: QueueLimits = QueueLimits {
    name: "test",
    slots: 1,
    extra_slots: 0,
    max_waiting: 4,
    max_wait: MAX_WAIT,
    max_memory: 0,
    is_background: false,
};

fn client(host: u8, user: i64) -> Client {
    Client::anonymous(IpAddr::from([10, 0, 0, host])).with_user(UserId(user))
}

/// The state of a job in a queue.
#[derive(Debug)]
enum Job {
    Running(SlotPermit),
    Queued,
    Shed,
}

/// Jobs in the order of their start, each with its future.
struct Jobs<'a> {
    queue: &'a FairQueue,
    pending: Vec<(&'static str, futures_util::future::LocalBoxFuture<'a, Result<SlotPermit, Error>>)>,
}

impl<'a> Jobs<'a> {
    fn new(queue: &'a FairQueue) -> Self {
        Self { queue, pending: Vec::new() }
    }

    async fn start(&mut self, name: &'static str, client: Client, memory: u64) -> Job {
        self.pending.push((name, Box::pin(self.queue.acquire(client, memory))));
        self.poll(name).await
    }

    async fn poll(&mut self, name: &'static str) -> Job {
        let position = self.pending.iter().position(|(job, _)| *job == name).unwrap();
        match futures_util::poll!(&mut self.pending[position].1) {
            std::task::Poll::Pending => Job::Queued,
            std::task::Poll::Ready(outcome) => {
                drop(self.pending.remove(position));
                outcome.map_or(Job::Shed, Job::Running)
            }
        }
    }

    /// The names of the jobs that run next, in their order, each of which ends at once.
    async fn run_all(&mut self) -> Vec<&'static str> {
        let mut order = Vec::new();
        while !self.pending.is_empty() {
            for name in self.pending.iter().map(|(name, _)| *name).collect::<Vec<_>>() {
                match self.poll(name).await {
                    Job::Running(permit) => {
                        order.push(name);
                        drop(permit);
                        break;
                    }
                    Job::Queued => {}
                    Job::Shed => panic!("{name} was shed"),
                }
            }
        }
        order
    }
}

fn running(job: Job) -> SlotPermit {
    match job {
        Job::Running(permit) => permit,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn networks_take_turns_and_so_do_the_users_of_one() {
    let queue = Scheduler::new(0).add_queue(QueueLimits { max_waiting: 8, ..LIMITS });
    let mut jobs = Jobs::new(&queue);
    let first = running(jobs.start("first", client(1, 1), 0).await);
    for (name, client) in [
        ("a1", client(1, 1)),
        ("a2", client(1, 1)),
        ("a3", client(1, 1)),
        ("a-other-1", client(1, 2)),
        ("b1", client(2, 3)),
        ("b2", client(2, 3)),
    ] {
        assert!(matches!(jobs.start(name, client, 0).await, Job::Queued), "{name}");
    }
    drop(first);
    assert_eq!(jobs.run_all().await, ["b1", "a-other-1", "b2", "a1", "a2", "a3"]);
    assert_eq!(queue.depth(), 0);
}

#[tokio::test]
async fn a_full_queue_sheds_the_newest_job_of_the_largest_holder() {
    let queue = Scheduler::new(0).add_queue(LIMITS);
    let mut jobs = Jobs::new(&queue);
    let _first = running(jobs.start("first", client(1, 1), 0).await);
    for name in ["a1", "a2", "a3", "a4"] {
        assert!(matches!(jobs.start(name, client(1, 1), 0).await, Job::Queued), "{name}");
    }
    assert!(matches!(jobs.start("a5", client(1, 1), 0).await, Job::Shed), "its own queue is full");
    assert!(matches!(jobs.start("b1", client(2, 2), 0).await, Job::Queued));
    assert!(matches!(jobs.poll("a4").await, Job::Shed), "the newest of the larger holder");
    assert!(matches!(jobs.start("a-other", client(1, 3), 0).await, Job::Queued), "another user");
    assert!(matches!(jobs.poll("a3").await, Job::Shed));
    assert!(matches!(jobs.poll("a1").await, Job::Queued));
    assert_eq!((queue.depth(), queue.rejected()), (5, 3));
}

#[tokio::test]
async fn a_network_without_a_running_job_does_not_wait_for_the_jobs_of_another() {
    let queue = Scheduler::new(0).add_queue(QueueLimits { extra_slots: 1, ..LIMITS });
    let mut jobs = Jobs::new(&queue);
    let first = running(jobs.start("first", client(1, 1), 0).await);
    assert!(matches!(jobs.start("a1", client(1, 1), 0).await, Job::Queued), "the slots are taken");
    let other = running(jobs.start("b1", client(2, 2), 0).await);
    assert!(matches!(jobs.start("c1", client(3, 3), 0).await, Job::Queued), "no extra slot is left");
    drop(other);
    let third = running(jobs.poll("c1").await);
    drop(first);
    let next = running(jobs.poll("a1").await);
    assert!(matches!(jobs.start("a2", client(1, 1), 0).await, Job::Queued), "its network runs one");
    drop((next, third));
    running(jobs.poll("a2").await);
}

#[tokio::test]
async fn a_small_job_does_not_wait_for_the_memory_of_large_ones() {
    let scheduler = Scheduler::new(160);
    let queue = scheduler.add_queue(QueueLimits { slots: 3, max_memory: 140, ..LIMITS });
    let mut jobs = Jobs::new(&queue);
    let first = running(jobs.start("first", client(1, 1), 135).await);
    assert!(matches!(jobs.start("large", client(1, 1), 90).await, Job::Queued));
    assert!(matches!(jobs.start("medium", client(2, 2), 17).await, Job::Queued), "it must not overtake");
    let small = running(jobs.start("small", client(1, 3), 10).await);
    let mut memory = first.into_memory();
    assert!(matches!(jobs.poll("medium").await, Job::Queued));
    memory.shrink_to(20);
    let (large, medium) = (running(jobs.poll("large").await), running(jobs.poll("medium").await));
    drop((small, memory, large, medium));
    assert_eq!(scheduler.state.lock().memory, 0);
}

#[tokio::test]
async fn one_network_leaves_a_quarter_of_the_memory_to_others() {
    let queue = Scheduler::new(160).add_queue(QueueLimits { slots: 4, max_memory: 160, ..LIMITS });
    let mut jobs = Jobs::new(&queue);
    let first = running(jobs.start("first", client(1, 1), 60).await);
    let _second = running(jobs.start("second", client(1, 2), 60).await);
    assert!(matches!(jobs.start("third", client(1, 3), 20).await, Job::Queued));
    let _other = running(jobs.start("other", client(2, 4), 40).await);
    drop(first);
    running(jobs.poll("third").await);
}

#[tokio::test]
async fn queues_share_the_memory_of_their_scheduler() {
    let scheduler = Scheduler::new(100);
    let uploads = scheduler.add_queue(QueueLimits { slots: 2, max_memory: 75, ..LIMITS });
    let renders = scheduler.add_queue(QueueLimits { slots: 2, max_memory: 100, ..LIMITS });
    let (mut uploading, mut rendering) = (Jobs::new(&uploads), Jobs::new(&renders));
    let upload = running(uploading.start("upload", client(1, 1), 75).await);
    assert!(matches!(rendering.start("render", client(2, 2), 60).await, Job::Queued));
    drop(upload);
    let render = running(rendering.poll("render").await);
    assert!(matches!(uploading.start("next", client(1, 1), 60).await, Job::Queued));
    drop(render);
    running(uploading.poll("next").await);
}

#[tokio::test]
async fn a_background_job_starts_while_no_other_queue_has_jobs() {
    let scheduler = Scheduler::new(100);
    let renders = scheduler.add_queue(QueueLimits { slots: 2, max_memory: 100, ..LIMITS });
    let background = scheduler.add_queue(QueueLimits { max_memory: 50, is_background: true, ..LIMITS });
    let (mut rendering, mut encoding) = (Jobs::new(&renders), Jobs::new(&background));
    let render = running(rendering.start("render", client(1, 1), 10).await);
    assert!(matches!(encoding.start("first", client(2, 2), 50).await, Job::Queued));
    let next = running(rendering.start("next", client(1, 1), 10).await);
    drop(render);
    assert!(matches!(encoding.poll("first").await, Job::Queued));
    // A stuck render has failed for its client, and may take long.
    renders.set_stuck(true);
    let first = running(encoding.poll("first").await);
    assert!(matches!(encoding.start("second", client(2, 2), 50).await, Job::Queued), "one at a time");
    renders.set_stuck(false);
    drop(next);
    let render = running(rendering.start("beside", client(1, 1), 50).await);
    assert!(matches!(rendering.start("large", client(3, 3), 60).await, Job::Queued), "memory is shared");
    drop((first, render));
    running(rendering.poll("large").await);
    running(encoding.poll("second").await);
}

#[tokio::test]
async fn a_job_larger_than_the_memory_runs_beside_small_ones_only() {
    let scheduler = Scheduler::new(100);
    let uploads = scheduler.add_queue(QueueLimits { slots: 3, max_memory: 75, ..LIMITS });
    let renders = scheduler.add_queue(QueueLimits { slots: 3, max_memory: 100, ..LIMITS });
    let (mut uploading, mut rendering) = (Jobs::new(&uploads), Jobs::new(&renders));
    let render = running(rendering.start("render", client(2, 2), 20).await);
    assert!(matches!(uploading.start("oversized", client(1, 1), 120).await, Job::Queued));
    drop(render);
    let oversized = running(uploading.poll("oversized").await);
    assert!(matches!(rendering.start("large", client(2, 2), 20).await, Job::Queued));
    let small = running(rendering.start("small", client(2, 2), 10).await);
    assert!(matches!(rendering.start("second", client(3, 3), 5).await, Job::Queued), "130 bytes are used");
    assert!(matches!(uploading.start("another", client(3, 3), 120).await, Job::Queued));
    let mut memory = oversized.into_memory();
    memory.shrink_to(15);
    running(rendering.poll("large").await);
    drop((memory, small));
    assert_eq!(scheduler.state.lock().queues[0].oversized, 120, "the next one runs");
}

#[tokio::test]
async fn a_cancelled_job_leaves_the_queue() {
    let queue = Scheduler::new(0).add_queue(QueueLimits { max_waiting: 1, ..LIMITS });
    let mut jobs = Jobs::new(&queue);
    let first = running(jobs.start("first", client(1, 1), 0).await);
    assert!(matches!(jobs.start("cancelled", client(1, 1), 0).await, Job::Queued));
    jobs.pending.clear();
    assert!(matches!(jobs.start("next", client(1, 1), 0).await, Job::Queued));
    drop(first);
    // Cancelled after its grant: the permit is released.
    jobs.pending.clear();
    assert_eq!(queue.depth(), 0);
    running(jobs.start("last", client(1, 1), 0).await);
}

#[tokio::test]
async fn waiting_for_memory_that_is_not_released_times_out() {
    let max_wait = Duration::from_millis(1);
    let queue = Scheduler::new(10).add_queue(QueueLimits { slots: 2, max_wait, max_memory: 10, ..LIMITS });
    let _stuck = queue.acquire(client(1, 1), 10).await.unwrap();
    let outcome = queue.acquire(client(2, 2), 5).await;
    assert!(matches!(outcome, Err(Error::Busy("test"))), "{outcome:?}");
    assert_eq!((queue.depth(), queue.rejected()), (1, 1));
}
