//! The reasons why a form body is rejected.

use model::ValidationError;

#[derive(Debug)]
pub(crate) enum FormError {
    Malformed(String),
    TooLarge,
    /// There is no memory for it.
    Busy,
    Timeout,
    UnsupportedMediaType,
    InvalidParameter(&'static str, ValidationError),
}
