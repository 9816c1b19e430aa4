//! Exports all rows from one snapshot.

use std::ops::ControlFlow;

use futures_util::FutureExt;

use crate::error::Error;
use crate::store::Store;
use crate::table::EXPORT_PAGE;
use crate::tables::{ExportRow, SequenceRow, Table, TableSpec, sequences};
use crate::tx::Tx;

/// Receives exported rows one by one.
pub trait Sink: Send + 'static {
    /// `Break` ends the export; the sink itself keeps the reason.
    fn take(&mut self, row: ExportRow) -> ControlFlow<()>;
}

impl Store {
    /// Passes every row to `sink`, table by table in the order of [`Table::ALL`], and returns the sink.
    pub async fn export<S: Sink>(&self, mut sink: S) -> Result<S, Error> {
        self.snapshot(move |tx| {
            async move {
                for table in Table::ALL {
                    let flow = match table.spec() {
                        Some(spec) => export_table(tx, spec, &mut sink).await?,
                        None => export_sequences(tx, &mut sink).await?,
                    };
                    if flow.is_break() {
                        break;
                    }
                }
                Ok(sink)
            }
            .boxed()
        })
        .await
    }
}

/// Reads a table in pages, so that it need not fit into memory.
async fn export_table(
    tx: &mut Tx<'_>,
    table: &'static TableSpec,
    sink: &mut impl Sink,
) -> Result<ControlFlow<()>, Error> {
    let mut last: Option<ExportRow> = None;
    loop {
        let key = last.as_ref().map_or_else(table.least_key, ExportRow::key);
        let page = tx.all(table.export, &key, table.read).await?;
        let is_last = page.len() < EXPORT_PAGE;
        last = page.last().cloned();
        for row in page {
            if sink.take(row).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        if is_last {
            return Ok(ControlFlow::Continue(()));
        }
    }
}

async fn export_sequences(tx: &mut Tx<'_>, sink: &mut impl Sink) -> Result<ControlFlow<()>, Error> {
    for (table, _) in sequences() {
        let last = tx.last_id(table).await?;
        let row = SequenceRow { table: table.to_owned(), last };
        if sink.take(ExportRow::Sequence(row)).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}
