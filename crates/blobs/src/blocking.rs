//! Runs file operations on tokio's blocking threads, so that they do not stall the runtime.

use crate::Error;

type Work<T> = Box<dyn FnOnce() -> Result<T, Error> + Send>;

pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    // Boxed, so that the task is compiled once per result type and not once per closure.
    let work: Work<T> = Box::new(work);
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(stopped) => Err(Error::Stopped(stopped.to_string())),
    }
}
