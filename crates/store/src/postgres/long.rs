//! Work that takes as long as it takes, on a connection of its own that ends with it: what is given away, brought in or
//! examined as a whole.

use std::sync::Arc;
use std::time::Duration;

use super::link::Link;
use super::session::Fate;
use crate::tx::Tx;
use crate::{Error, Once};

/// For one statement. Whoever asks for more has waited for a day.
pub(super) const STATEMENT_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// A sink or a source may keep us waiting between two statements.
const TERMS: &str = "SET idle_in_transaction_session_timeout = 0;";

pub(super) struct Long(Arc<Link>);

impl Long {
    pub(super) fn new(link: Arc<Link>) -> Self {
        Self(link)
    }

    /// All of it sees what was committed at its first statement.
    pub(super) async fn view<T>(&self, work: impl Once<T>) -> Result<T, Error> {
        let mut tx = self.begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        work(&mut tx).await
    }

    pub(super) async fn write<T>(&self, work: impl Once<T>) -> Result<T, Error> {
        let mut tx = self.begin("BEGIN").await?;
        let outcome = work(&mut tx).await?;
        match tx.session().commit().await {
            Fate::Committed => Ok(outcome),
            Fate::Undone(error) | Fate::Unknown(error) => Err(error),
        }
    }

    async fn begin(&self, how: &str) -> Result<Tx, Error> {
        let mut session = self.0.connect().await?;
        session.client().batch_execute(&format!("{TERMS} {how}")).await?;
        Ok(Tx::on_postgres(session))
    }
}
