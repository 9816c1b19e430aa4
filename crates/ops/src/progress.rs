//! How far a long job is, for whoever waits for it.

/// Is told by the tasks that do the work, so it must be quick.
pub trait Progress: Send + Sync {
    /// A part of the job begins, with so many photos of so many bytes; none where that is not known.
    fn begin(&self, deed: &str, photos: u64, bytes: u64);

    /// So much more of it is done.
    fn advance(&self, photos: u64, bytes: u64);

    /// Something worth a line, whatever else is shown.
    fn note(&self, line: &str);
}
