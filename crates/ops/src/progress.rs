//! Progress reports of a long operation.

/// Implementations must not block: the methods are called from async tasks.
pub trait Progress: Send + Sync {
    /// Starts an operation with its totals; 0 where a total is unknown.
    fn begin(&self, operation: &str, photos: u64, bytes: u64);

    /// Adds to the photos and bytes that are done.
    fn advance(&self, photos: u64, bytes: u64);

    /// Prints a line of its own.
    fn note(&self, line: &str);
}
