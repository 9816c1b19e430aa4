//! PostgreSQL's errors as ours.

use std::error::Error as _;

use model::error_chain;
use tokio_postgres::error::Severity;

use crate::error::Error;

/// Why a connection could not be made, with a hint where the client's own message does not say what to do.
pub(super) fn connect_error(error: &tokio_postgres::Error) -> String {
    const UNKNOWN: &str = "name the file with the certificate of its authority by sslrootcert";
    let chain = error_chain(error);
    let hints = [
        ("UnknownIssuer", UNKNOWN),
        // An authority of that name is known, with another key.
        ("BadSignature", UNKNOWN),
        (
            "CaUsedAsEndEntity",
            "it shows the certificate of an authority as its own; make it one with CA:FALSE",
        ),
        ("does not allow writes", "it is a standby; name the primary, or both"),
        ("not valid for name", "name the server in the address as its certificate does"),
    ];
    match hints.iter().find(|(sign, _)| chain.contains(sign)) {
        Some((_, hint)) => format!("{chain} ({hint})"),
        None => chain,
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        let chain = error_chain(&error);
        let Some(state) = error.code() else {
            // Not an answer of the server: a closed connection or a failure of the network. What is left is
            // our own mistake.
            let network = error.source().is_some_and(<dyn std::error::Error + 'static>::is::<std::io::Error>);
            let unavailable = error.is_closed() || network;
            return if unavailable { Self::Unavailable(chain.into()) } else { Self::Database(chain.into()) };
        };
        match state.code() {
            // Serialization failure, deadlock; and what a row refers to has just been deleted, which the next
            // attempt sees.
            "40001" | "40P01" | "23503" => Self::Conflict(chain.into()),
            // lock_timeout, statement_timeout: the server is overloaded.
            "55P03" | "57014" => {
                tracing::warn!(error = chain, "statement timed out");
                Self::Busy
            }
            // Shutting down, starting up, or the connection was idle in a transaction for too long.
            "57P01" | "57P02" | "57P03" | "57P05" | "25P03" => Self::Unavailable(chain.into()),
            // Prepared before a newer node changed the tables: on another connection it is prepared again.
            "0A000" | "26000" => Self::Unavailable(chain.into()),
            // It is a standby; another server accepts writes.
            "25006" => Self::Unavailable(chain.into()),
            // The connection failed, or the server is out of connections, memory or disk.
            code if code.starts_with("08") || code.starts_with("53") => Self::Unavailable(chain.into()),
            _ => Self::Database(chain.into()),
        }
    }
}

/// Whether the server says by this that it has rolled back. A fatal error or a lost connection does not: the
/// commit may have been done before it.
pub(super) fn is_refusal(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|error| error.parsed_severity() == Some(Severity::Error))
}
