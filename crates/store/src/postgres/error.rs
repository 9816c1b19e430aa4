//! Converts PostgreSQL's errors by SQLSTATE.

use std::error::Error as _;

use model::error_chain;
use tokio_postgres::error::Severity;

use crate::error::Error;

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        let chain = error_chain(&error);
        let Some(state) = error.code() else {
            // Not an error of the server: a closed connection, a network failure, or else a bug of this
            // client.
            let network = error.source().is_some_and(<dyn std::error::Error + 'static>::is::<std::io::Error>);
            let unavailable = error.is_closed() || network;
            return if unavailable { Self::Unavailable(chain.into()) } else { Self::Database(chain.into()) };
        };
        match state.code() {
            // Serialization failure, deadlock, and foreign key violation: the referenced row was just
            // deleted, which the next attempt sees.
            "40001" | "40P01" | "23503" => Self::Conflict(chain.into()),
            // lock_timeout, statement_timeout: the server is overloaded.
            "55P03" | "57014" => {
                tracing::warn!(error = chain, "statement timed out");
                Self::Busy
            }
            // The server is shutting down or starting up, or a session timeout closed the connection.
            "57P01" | "57P02" | "57P03" | "57P05" | "25P03" => Self::Unavailable(chain.into()),
            // The statement was prepared before a migration changed its table; a new connection prepares it
            // again.
            "0A000" | "26000" => Self::Unavailable(chain.into()),
            // Read-only transaction: the server has become a standby, and another one accepts writes.
            "25006" => Self::Unavailable(chain.into()),
            "53100" => Self::Full(chain.into()),
            // Connection exception, or insufficient resources: connections or memory.
            code if code.starts_with("08") || code.starts_with("53") => Self::Unavailable(chain.into()),
            _ => Self::Database(chain.into()),
        }
    }
}

/// Whether an error of COMMIT proves that the server has rolled back. A fatal error or a lost connection does
/// not: the commit may have succeeded before it.
pub(super) fn confirms_rollback(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|error| error.parsed_severity() == Some(Severity::Error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::test_database;

    #[tokio::test]
    async fn a_full_disk_of_the_server_is_no_outage() {
        let mut tx = test_database::connect(&test_database::create().await).await;
        for (state, is_expected) in [
            ("53100", (|error| matches!(error, Error::Full(_))) as fn(&Error) -> bool),
            ("53200", |error| matches!(error, Error::Unavailable(_))),
            ("40001", |error| matches!(error, Error::Conflict(_))),
        ] {
            let raise = format!("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{state}'; END $$");
            let error = Error::from(tx.client().batch_execute(&raise).await.unwrap_err());
            assert!(is_expected(&error), "{state}: {error:?}");
        }
    }
}
