//! Runs exports, imports and integrity checks without a time limit, each on a new connection that is closed
//! afterwards.

use std::sync::Arc;
use std::time::Duration;

use super::connector::Connector;
use super::tx::{CommitError, PostgresTx};
use crate::changes::Change;
use crate::error::Error;
use crate::work::{ErasedWork, run_on_postgres};

pub(super) const STATEMENT_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// The sink of an export or the source of an import may pause between two statements.
const SETTINGS: &str = "SET idle_in_transaction_session_timeout = 0;";

pub(super) struct DedicatedConnector(Arc<Connector>);

impl DedicatedConnector {
    pub(super) fn new(connector: Arc<Connector>) -> Self {
        Self(connector)
    }

    /// All statements of `work` see one snapshot.
    pub(super) async fn snapshot(&self, work: &mut dyn ErasedWork) -> Result<(), Error> {
        let mut tx = self.begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        run_on_postgres(&mut tx, work).await
    }

    pub(super) async fn write(&self, work: &mut dyn ErasedWork) -> Result<(), Error> {
        let mut tx = self.begin("BEGIN").await?;
        run_on_postgres(&mut tx, work).await?;
        // An import changes more than is worth listing.
        tx.publish(Change::Everything);
        tx.flush_changes().await?;
        tx.commit().await.map_err(|(CommitError::RolledBack(error) | CommitError::Unknown(error))| error)
    }

    async fn begin(&self, statement: &str) -> Result<PostgresTx, Error> {
        let mut tx = self.0.connect().await?;
        tx.client().batch_execute(&format!("{SETTINGS} {statement}")).await?;
        Ok(tx)
    }
}
