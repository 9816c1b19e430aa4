//! The kinds of failure a use case has. The server turns each into a status and words.

use std::sync::Arc;

#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Forbidden(&'static str),
    #[error("{0}")]
    NotFound(&'static str),
    #[error("{message}")]
    Invalid { field: &'static str, message: String },
    /// Deliberately silent about which of the two was wrong.
    #[error("the username or the password is wrong")]
    WrongCredentials,
    #[error("{message}")]
    Conflict { field: Option<&'static str>, message: &'static str },
    /// A bounded queue is full: nothing is broken, and a little later there is room.
    #[error("the service is busy: {0} has no room right now")]
    Busy(&'static str),
    /// A job was given up because it took too long.
    #[error("a job on the {0} threads took too long and was given up")]
    Overdue(&'static str),
    /// Something we cannot do without is away for the moment. What was asked for may have been done.
    #[error("{0} cannot be reached: {1}")]
    Unavailable(&'static str, Arc<str>),
    /// The cause is for the log, never for the client.
    #[error("internal error: {0}")]
    Internal(Arc<dyn std::error::Error + Send + Sync>),
}

impl Error {
    pub(crate) fn internal(cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Internal(Arc::new(cause))
    }

    pub fn invalid(field: &'static str, rule: impl ToString) -> Self {
        Self::Invalid { field, message: rule.to_string() }
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Busy | store::Error::Conflict(_) => Self::Busy("the database"),
            store::Error::Unavailable(cause) => Self::Unavailable("the database", cause),
            other => Self::internal(other),
        }
    }
}

impl From<blobs::Error> for Error {
    fn from(error: blobs::Error) -> Self {
        match error {
            blobs::Error::Unavailable(trouble) => {
                Self::Unavailable("the blob store", trouble.to_string().into())
            }
            other => Self::internal(other),
        }
    }
}
