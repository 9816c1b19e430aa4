//! What can go wrong with a picture, in words for the person who sent it.

use std::any::Any;

use crate::input_format::InputFormat;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The photo: of a kind that is not read here. Holds the name of that kind.
    #[error("{0} cannot be read: send the photo as {formats}", formats = InputFormat::list("or"))]
    Unsupported(&'static str),

    /// The photo: more pixels than allowed.
    #[error(
        "the photo has {} megapixels ({width} × {height}) and {} are allowed: send a smaller version",
        megapixels_up(*width, *height),
        *max_pixels as f64 / 1e6
    )]
    TooLarge { width: u32, height: u32, max_pixels: u64 },

    /// The photo: begins like a picture but is not a whole one. Holds the decoder's words, for the log.
    #[error("the photo is damaged: open it, save it anew and send the copy")]
    Damaged(String),

    /// Not the photo: an encoder failed or a stored master is broken. Holds the cause, for the log.
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

/// The words of a caught panic.
pub(crate) fn panic_words(panic: &(dyn Any + Send)) -> String {
    let words =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the codec panicked: {}", words.unwrap_or("without a word"))
}

/// Rounded up to a tenth, so that what is just over the limit does not read as if it were on it.
fn megapixels_up(width: u32, height: u32) -> f64 {
    (f64::from(width) * f64::from(height) / 1e5).ceil() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_is_wrong_and_what_to_do() {
        let too_large = |width, height| Error::TooLarge { width, height, max_pixels: 64_000_000 }.to_string();
        assert_eq!(
            too_large(10_000, 10_000),
            "the photo has 100 megapixels (10000 × 10000) and 64 are allowed: send a smaller version"
        );
        assert!(too_large(64_000_001, 1).starts_with("the photo has 64.1 megapixels"));
        assert_eq!(
            Error::Unsupported("this kind of file").to_string(),
            format!("this kind of file cannot be read: send the photo as {}", InputFormat::list("or"))
        );
    }

    #[test]
    fn the_decoders_words_stay_in_the_log() {
        assert!(!Error::damaged("bad Huffman code").to_string().contains("Huffman"));
    }
}
