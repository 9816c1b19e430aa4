//! File operations run on threads that may block, never on the runtime's own.

use crate::Error;

type Work<T> = Box<dyn FnOnce() -> Result<T, Error> + Send>;

pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    // Boxed, so that a task is compiled once for each result and not for each work.
    let work: Work<T> = Box::new(work);
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(stopped) => Err(Error::Stopped(stopped.to_string())),
    }
}
