//! What PostgreSQL says went wrong, as a kind of failure of ours.

use std::error::Error as StdError;

use tokio_postgres::error::Severity;

use crate::Error;

/// A failure together with everything that led to it, for the log: the client's own words alone say little.
pub(crate) fn told(error: &dyn StdError) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !told.contains(&words) {
            told = format!("{told}: {words}");
        }
        cause = error.source();
    }
    told
}

/// Why a connection could not be made, with what to do where the client's own words do not say.
pub(super) fn told_of_connecting(error: &tokio_postgres::Error) -> String {
    const UNKNOWN: &str = "name the file with the certificate of its authority by sslrootcert";
    let told = told(error);
    let hints = [
        ("UnknownIssuer", UNKNOWN),
        // An authority of that name is known, and it is not the one.
        ("BadSignature", UNKNOWN),
        (
            "CaUsedAsEndEntity",
            "it shows the certificate of an authority as its own; make it one with CA:FALSE",
        ),
        ("does not allow writes", "it is a standby; name the primary, or both"),
        ("not valid for name", "name the server in the address as its certificate does"),
    ];
    match hints.iter().find(|(sign, _)| told.contains(sign)) {
        Some((_, hint)) => format!("{told} ({hint})"),
        None => told,
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        let words = told(&error);
        let Some(state) = error.code() else {
            // Whatever is no answer of the server's is trouble on the way to it; all but what we did wrong ourselves,
            // which has neither a closed connection nor the network for its cause.
            let network = error.source().is_some_and(|cause| cause.is::<std::io::Error>());
            let away = error.is_closed() || network;
            return if away { Self::Unavailable(words.into()) } else { Self::Database(words.into()) };
        };
        match state.code() {
            // Serialization failure, deadlock; and what a row refers to has just been deleted, which the next attempt sees.
            "40001" | "40P01" | "23503" => Self::Conflict(words.into()),
            // Not within lock_timeout, not within statement_timeout: the server has more to do than it can.
            "55P03" | "57014" => {
                tracing::warn!(error = words, "a statement took too long and was given up");
                Self::Busy
            }
            // Shutting down, starting up, or this connection was idle for too long in the middle of something.
            "57P01" | "57P02" | "57P03" | "57P05" | "25P03" => Self::Unavailable(words.into()),
            // A statement was prepared before a newer node changed the tables: on another connection it is a new one.
            "0A000" | "26000" => Self::Unavailable(words.into()),
            // It has become, or is still, a standby: somewhere else there is one that takes writes.
            "25006" => Self::Unavailable(words.into()),
            // Trouble with the connection, or with what the server has left: connections, memory, disk.
            code if code.starts_with("08") || code.starts_with("53") => Self::Unavailable(words.into()),
            _ => Self::Database(words.into()),
        }
    }
}

/// Whether the server says by this that it has undone the transaction. A fatal error or a lost connection says nothing
/// of the kind: the commit may have been done before it.
pub(super) fn is_refusal(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|error| error.parsed_severity() == Some(Severity::Error))
}
