//! The progress of a long operation, reported to its caller.

/// Called by the tasks that do the work, so an implementation must not block.
pub trait Progress: Send + Sync {
    /// Starts an operation over so many photos and bytes; 0 where the total is unknown.
    fn begin(&self, operation: &str, photos: u64, bytes: u64);

    /// Adds to what is done.
    fn advance(&self, photos: u64, bytes: u64);

    /// Prints a line of its own.
    fn note(&self, line: &str);
}
