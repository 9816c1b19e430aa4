//! Many who do the same at the same moment.

use std::sync::Barrier;

/// Runs the same act on `count` threads, all let go at once, and collects what each of them got.
pub fn at_once<T: Send>(count: usize, act: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let start = Barrier::new(count);
    let run = |n: usize| {
        start.wait();
        act(n)
    };
    let run = &run;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|n| scope.spawn(move || run(n))).collect();
        threads.into_iter().map(|thread| thread.join().expect("nobody in the crowd fails")).collect()
    })
}
