//! The row spool: exported rows in an unlinked temporary file, so that the database snapshot is short.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

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
        Ok(SpooledRows { file: Arc::new(file), rows: self.rows, bytes: self.bytes })
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

/// A complete spool.
pub(crate) struct SpooledRows {
    file: Arc<File>,
    rows: [u64; Table::ALL.len()],
    bytes: u64,
}

impl SpooledRows {
    /// The number of photos, and the size of their files.
    pub(crate) fn totals(&self) -> (u64, u64) {
        (self.rows[Table::Photos as usize], self.bytes)
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = io::Result<ExportRow>> + Send + use<> {
        let file = FileSlice { file: self.file.clone(), at: 0..u64::MAX };
        let tables = Table::ALL.into_iter().zip(self.rows);
        let tables =
            tables.flat_map(|(table, rows)| std::iter::repeat_n(table, usize::try_from(rows).unwrap_or(0)));
        BufReader::new(file).lines().zip(tables).map(|(line, table)| parse(table, line?.as_bytes()))
    }

    /// The rows of the photos table, which is exported first.
    pub(crate) fn photos(&self) -> impl Iterator<Item = io::Result<PhotoRow>> + Send + use<> {
        let photo = |row: io::Result<ExportRow>| match row {
            Ok(ExportRow::Photo(photo)) => Some(Ok(photo)),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        };
        self.rows().map_while(photo)
    }
}

/// Reads a part of a file that others read and append to at the same time.
pub(super) struct FileSlice {
    pub(super) file: Arc<File>,
    pub(super) at: Range<u64>,
}

impl Read for FileSlice {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = usize::try_from(self.at.end - self.at.start).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.file.read_at(&mut buffer[..length], self.at.start)?;
        self.at.start += read as u64;
        Ok(read)
    }
}

/// The values are not validated: a backup keeps rows that an import refuses.
pub(super) fn parse(table: Table, line: &[u8]) -> io::Result<ExportRow> {
    let mut json = serde_json::Deserializer::from_slice(line);
    let row = table.deserialize(&mut json)?;
    json.end()?;
    Ok(row)
}

/// Says that a line is not a row.
pub(super) fn not_a_row(table: Table, cause: &io::Error) -> String {
    format!("it is not a row of {table}: {cause}")
}
