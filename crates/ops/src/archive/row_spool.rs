//! The row spool: exported rows in an unlinked temporary file, so that the database snapshot is short.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, Write};
use std::ops::ControlFlow;
use std::path::Path;

use store::{ExportRow, PhotoRow, Sink, Table};

pub(crate) struct RowSpool {
    file: BufWriter<File>,
    rows: [u64; Table::ALL.len()],
    bytes: u64,
    only_photos: bool,
    error: Option<io::Error>,
}

impl RowSpool {
    /// `folder` needs a few hundred bytes of disk space for each row.
    pub(crate) fn all_tables(folder: &Path) -> io::Result<Self> {
        Ok(Self {
            file: BufWriter::new(tempfile::tempfile_in(folder)?),
            rows: [0; Table::ALL.len()],
            bytes: 0,
            only_photos: false,
            error: None,
        })
    }

    /// Ends the export after the photos table, which is exported first.
    pub(crate) fn photos_only(folder: &Path) -> io::Result<Self> {
        Ok(Self { only_photos: true, ..Self::all_tables(folder)? })
    }

    pub(crate) fn finish(self) -> io::Result<SpooledRows> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(SpooledRows { file, rows: self.rows, bytes: self.bytes })
    }

    fn write(&mut self, row: &ExportRow) -> io::Result<()> {
        serde_json::to_writer(&mut self.file, row)?;
        self.file.write_all(b"\n")
    }
}

impl Sink for RowSpool {
    fn take(&mut self, row: ExportRow) -> ControlFlow<()> {
        if self.only_photos && row.table() != Table::Photos {
            return ControlFlow::Break(());
        }
        if let Err(error) = self.write(&row) {
            self.error = Some(error);
            return ControlFlow::Break(());
        }
        if let ExportRow::Photo(photo) = &row {
            self.bytes += photo.bytes;
        }
        self.rows[row.table() as usize] += 1;
        ControlFlow::Continue(())
    }
}

/// A complete spool. Every iterator rewinds the shared file, so only one may be in use at a time.
pub(crate) struct SpooledRows {
    file: File,
    rows: [u64; Table::ALL.len()],
    bytes: u64,
}

impl SpooledRows {
    /// The number of photos, and the size of their files.
    pub(crate) fn totals(&self) -> (u64, u64) {
        (self.rows[Table::Photos as usize], self.bytes)
    }

    pub(crate) fn rows(&self) -> io::Result<impl Iterator<Item = io::Result<ExportRow>> + Send + use<>> {
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        let tables = Table::ALL.into_iter().zip(self.rows);
        let tables =
            tables.flat_map(|(table, rows)| std::iter::repeat_n(table, usize::try_from(rows).unwrap_or(0)));
        Ok(BufReader::new(file).lines().zip(tables).map(|(line, table)| parse(table, line?.as_bytes())))
    }

    /// The rows of the photos table, which is exported first.
    pub(crate) fn photos(&self) -> io::Result<impl Iterator<Item = io::Result<PhotoRow>> + Send + use<>> {
        let photo = |row: io::Result<ExportRow>| match row {
            Ok(ExportRow::Photo(photo)) => Some(Ok(photo)),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        };
        Ok(self.rows()?.map_while(photo))
    }
}

/// The values are not validated: a backup keeps rows that an import refuses.
pub(super) fn parse(table: Table, line: &[u8]) -> io::Result<ExportRow> {
    let mut json = serde_json::Deserializer::from_slice(line);
    let row = table.deserialize(&mut json)?;
    json.end()?;
    Ok(row)
}
