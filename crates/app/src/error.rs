//! The errors of the use cases. The server maps each kind to a status and a message.

use std::sync::Arc;
use std::time::Duration;

use model::{PostId, Refusal, Status, ValidationError};

#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("{1}")]
    Forbidden(Refusal, &'static str),
    #[error("{0}")]
    NotFound(&'static str),
    #[error("{rule}")]
    Invalid { field: &'static str, rule: ValidationError },
    /// Does not tell which of the two is wrong, so that usernames cannot be probed.
    #[error("the username or the password is wrong")]
    WrongCredentials,
    /// The caller, who has a session, does not know the password of the account.
    #[error("the password is wrong")]
    WrongPassword { field: &'static str },
    /// An act that needs the password of the caller besides the session.
    #[error("this needs your password: {0}")]
    Unconfirmed(Refusal),
    #[error("the username or the recovery code is wrong, or the code has been used")]
    WrongRecoveryCode,
    #[error("this account is not active: {0}")]
    Inactive(Status),
    /// The session that has started what still runs.
    #[error("the session that has started this has ended")]
    SessionEnded,
    #[error("registration is closed")]
    RegistrationClosed,
    #[error("joining needs an invitation")]
    InvitationRequired,
    /// A quota of the caller is reached. It frees itself after `retry_after`, else only by deleting.
    #[error("{rule}")]
    Quota { rule: ValidationError, retry_after: Option<Duration> },
    /// The caller has as many items of a kind as a user may have.
    #[error("{0}")]
    TooMany(ValidationError),
    #[error("{message}")]
    Conflict { field: Option<&'static str>, refusal: Refusal, message: &'static str },
    /// The idempotency key of the request is that of another one, which created this post.
    #[error("the idempotency key was used for post {0}")]
    KeyReused(PostId),
    /// A request would append elsewhere than at the end of an upload, or another has appended meanwhile.
    #[error("the upload has received {received} bytes")]
    OffsetMismatch { received: u64 },
    /// A bounded resource is exhausted; a retry may succeed.
    #[error("the service is busy: {0} is at its limit")]
    Busy(&'static str),
    /// A job exceeded its time limit.
    #[error("a job of the {0} threads timed out")]
    TimedOut(&'static str),
    /// The database or the blob store is unavailable. The operation may have succeeded.
    #[error("{0} is unavailable: {1}")]
    Unavailable(&'static str, Arc<str>),
    /// The disk is full, or too full for what was to be stored. Nothing was changed.
    #[error("no space left for {0}: {1}")]
    NoSpace(&'static str, Arc<str>),
    /// An error of the database reports damage of its file, which only the operator can repair.
    #[error("the database is damaged, or its disk fails: {0}")]
    Damaged(Arc<str>),
    /// The original of a photo fails its checksum. The images of the photo do not need it.
    #[error("the original of this photo is damaged")]
    OriginalDamaged,
    /// The cause is for the log, never for the client.
    #[error("internal error: {0}")]
    Internal(Arc<dyn std::error::Error + Send + Sync>),
}

impl Error {
    pub(crate) const NO_SUCH_PHOTO: Self = Self::NotFound("there is no such photo");
    pub(crate) const NO_SUCH_POST: Self = Self::NotFound("there is no such post");
    pub(crate) const NO_SUCH_USER: Self = Self::NotFound("there is no such user");

    pub(crate) fn internal(cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Internal(Arc::new(cause))
    }

    pub fn invalid(field: &'static str, rule: impl Into<ValidationError>) -> Self {
        Self::Invalid { field, rule: rule.into() }
    }

    /// A quota, or a number of items of a kind, that the caller has reached.
    pub(crate) fn limit(refusal: Refusal, limit: u64, message: impl Into<String>) -> ValidationError {
        ValidationError::refused(refusal, message).with_limit(limit)
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Busy | store::Error::Conflict(_) => Self::Busy("the database"),
            store::Error::Unavailable(cause) => Self::Unavailable("the database", cause),
            store::Error::Full(cause) => Self::NoSpace("this change", cause),
            store::Error::Damaged(cause) => Self::Damaged(cause),
            other => Self::internal(other),
        }
    }
}

impl From<blobs::Error> for Error {
    fn from(error: blobs::Error) -> Self {
        match error {
            blobs::Error::Unavailable(cause) => Self::Unavailable("the blob store", cause.to_string().into()),
            full if full.is_no_space() => Self::NoSpace("photos", full.to_string().into()),
            other => Self::internal(other),
        }
    }
}
