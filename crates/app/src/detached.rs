//! Work that a cancelled request does not cancel.

use futures_util::FutureExt;

use crate::Error;

/// Runs `work` to its end even if the caller is cancelled: a client that hangs up must not leave a photo
/// without its post, or bytes without their row.
pub(crate) async fn detached<T: Send + 'static>(
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    // Boxed, so that a task is compiled once for each result and not for each work.
    match tokio::spawn(work.boxed()).await {
        Ok(outcome) => outcome,
        Err(failed) => Err(Error::internal(failed)),
    }
}
