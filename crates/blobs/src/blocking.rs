//! File operations run on threads that may block, never on the runtime's own.

use crate::Error;

pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(stopped) => Err(Error::Stopped(stopped.to_string())),
    }
}
