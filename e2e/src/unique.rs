//! Names that no other test uses.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A name that neither another test nor an earlier run against the same service has used.
pub fn unique(prefix: &str) -> String {
    static RUN: LazyLock<String> = LazyLock::new(|| format!("{:08x}", fastrand::u32(..)));
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{prefix}-{}-{}", *RUN, NEXT.fetch_add(1, Ordering::Relaxed))
}
