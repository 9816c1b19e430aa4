//! An error and its sources as one line of text.

use std::error::Error;

/// The message of an error, followed by the messages of its sources that are not part of it already.
pub fn error_chain(error: &dyn Error) -> String {
    let mut chain = error.to_string();
    for cause in std::iter::successors(error.source(), |&cause| cause.source()) {
        let message = cause.to_string();
        if !chain.contains(&message) {
            chain += &format!(": {message}");
        }
    }
    chain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{message}")]
    struct Layer {
        message: &'static str,
        source: Option<Box<Layer>>,
    }

    #[test]
    fn a_source_is_appended_unless_the_message_contains_it() {
        let layer = |message, source: Option<Layer>| Layer { message, source: source.map(Box::new) };
        let chain =
            layer("cannot connect: refused", Some(layer("refused", Some(layer("os error 111", None)))));
        assert_eq!(error_chain(&chain), "cannot connect: refused: os error 111");
    }
}
