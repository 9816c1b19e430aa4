//! Bounds the memory of a fuzz target. libFuzzer's own limit of an allocation needs a sanitizer.

use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Panics if `check` allocates more than `limit` bytes at once.
pub fn within_memory(limit: usize, check: impl FnOnce()) {
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    check();
    let peak = ALLOCATOR.peak_usage().saturating_sub(before);
    assert!(peak <= limit, "{peak} bytes were allocated at once, the limit is {limit}");
}
