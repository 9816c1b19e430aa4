//! An error with its causes, as one line.

use std::error::Error;

/// The message of an error, followed by those of its causes that it does not contain itself.
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
    fn a_cause_is_added_unless_the_message_has_it() {
        let layer = |message, source: Option<Layer>| Layer { message, source: source.map(Box::new) };
        let chain =
            layer("cannot connect: refused", Some(layer("refused", Some(layer("os error 111", None)))));
        assert_eq!(error_chain(&chain), "cannot connect: refused: os error 111");
    }
}
