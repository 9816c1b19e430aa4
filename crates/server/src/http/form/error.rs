//! Errors of a form.

#[derive(Debug)]
pub(crate) enum FormError {
    Malformed(String),
    TooLarge,
    Timeout,
    UnsupportedMediaType,
    InvalidParameter(&'static str, String),
}
