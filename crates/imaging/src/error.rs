//! Errors of image processing. The messages are shown to the uploader.

use std::any::Any;

use crate::input_format::InputFormat;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The upload has a format or a feature that is not supported. Contains its name.
    #[error("{0} cannot be read: send the photo as {formats}", formats = InputFormat::list("or"))]
    Unsupported(&'static str),

    /// The upload has more pixels than allowed.
    #[error(
        "the photo has {} megapixels ({width} × {height}) and {} are allowed: send a smaller version",
        megapixels_rounded_up(*width, *height),
        *max_pixels as f64 / 1e6
    )]
    TooLarge { width: u32, height: u32, max_pixels: u64 },

    /// A side of the upload has more pixels than allowed.
    #[error(
        "the photo has {width} × {height} pixels and {max_side} are allowed on a side: send a smaller version"
    )]
    TooLong { width: u32, height: u32, max_side: u32 },

    /// The upload has a known signature but is truncated or corrupt. Contains the decoder's message, for the
    /// log.
    #[error("the photo is damaged: open it, save it again and send the copy")]
    Damaged(String),

    /// An encoder failed or a stored master is corrupt: not the uploader's fault. Contains the cause, for the
    /// log.
    #[error("the photo could not be processed: {0}")]
    Internal(String),
}

impl Error {
    pub(crate) fn damaged(cause: impl ToString) -> Self {
        Self::Damaged(cause.to_string())
    }

    pub(crate) fn internal(cause: impl ToString) -> Self {
        Self::Internal(cause.to_string())
    }
}

/// The message of a caught panic.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let message =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the codec panicked: {}", message.unwrap_or("no message"))
}

/// Rounded up to a tenth, so an image just over the limit is not reported as exactly the limit.
fn megapixels_rounded_up(width: u32, height: u32) -> f64 {
    (f64::from(width) * f64::from(height) / 1e5).ceil() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_state_the_error_and_the_remedy() {
        let too_large = |width, height| Error::TooLarge { width, height, max_pixels: 64_000_000 }.to_string();
        assert_eq!(
            too_large(10_000, 10_000),
            "the photo has 100 megapixels (10000 × 10000) and 64 are allowed: send a smaller version"
        );
        assert!(too_large(64_000_001, 1).starts_with("the photo has 64.1 megapixels"));
        let too_long = Error::TooLong { width: 70_000, height: 1, max_side: 65_535 };
        let sentence =
            "the photo has 70000 × 1 pixels and 65535 are allowed on a side: send a smaller version";
        assert_eq!(too_long.to_string(), sentence);
        assert_eq!(
            Error::Unsupported("this kind of file").to_string(),
            format!("this kind of file cannot be read: send the photo as {}", InputFormat::list("or"))
        );
    }

    #[test]
    fn decoder_messages_are_not_shown_to_the_uploader() {
        assert!(!Error::damaged("bad Huffman code").to_string().contains("Huffman"));
    }
}
