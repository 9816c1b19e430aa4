//! The same closure on several threads that start together.

use std::sync::Barrier;

/// Runs `task` on `count` threads that a barrier releases together; returns the results in thread order.
pub fn concurrently<T: Send>(count: usize, task: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let start = Barrier::new(count);
    let run = |n: usize| {
        start.wait();
        task(n)
    };
    let run = &run;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|n| scope.spawn(move || run(n))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no concurrent task panics")).collect()
    })
}
