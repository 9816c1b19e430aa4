//! Work that a cancelled request does not cancel.

use crate::Error;

/// Runs `work` to its end even if the caller is cancelled: a client that hangs up must not leave a photo without its
/// post, or bytes without their row.
pub(crate) async fn detached<T: Send + 'static>(
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    match tokio::spawn(work).await {
        Ok(outcome) => outcome,
        Err(failed) => Err(Error::internal(failed)),
    }
}
