//! Runs work in a task of its own, which a cancelled request does not cancel.

use futures_util::FutureExt;

use crate::Error;

/// Completes `work` even if the caller is cancelled: a client that disconnects must not leave a photo without
/// its post, or files without their row.
pub(crate) async fn detached<T: Send + 'static>(
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    // Boxed, so that the task is compiled once per result type and not once per future.
    match tokio::spawn(work.boxed()).await {
        Ok(outcome) => outcome,
        Err(failed) => Err(Error::internal(failed)),
    }
}
