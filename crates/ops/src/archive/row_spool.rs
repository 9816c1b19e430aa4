//! Facts on their way: in a file without a name, so that the database is looked at for as short a time as possible.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, Write};
use std::ops::ControlFlow;
use std::path::Path;

use store::{Fact, PhotoFact, Sink, Table};

pub(crate) struct Ledger {
    file: BufWriter<File>,
    rows: [u64; Table::ALL.len()],
    bytes: u64,
    only_photos: bool,
    trouble: Option<io::Error>,
}

impl Ledger {
    /// For everything; `folder` should have room for some hundred bytes a row.
    pub(crate) fn everything(folder: &Path) -> io::Result<Self> {
        Ok(Self {
            file: BufWriter::new(tempfile::tempfile_in(folder)?),
            rows: [0; Table::ALL.len()],
            bytes: 0,
            only_photos: false,
            trouble: None,
        })
    }

    /// For what is known of photos.
    pub(crate) fn photos(folder: &Path) -> io::Result<Self> {
        Ok(Self { only_photos: true, ..Self::everything(folder)? })
    }

    pub(crate) fn finish(self) -> io::Result<Written> {
        if let Some(trouble) = self.trouble {
            return Err(trouble);
        }
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(Written { file, rows: self.rows, bytes: self.bytes })
    }

    fn write(&mut self, fact: &Fact) -> io::Result<()> {
        serde_json::to_writer(&mut self.file, fact)?;
        self.file.write_all(b"\n")
    }
}

impl Sink for Ledger {
    fn take(&mut self, fact: Fact) -> ControlFlow<()> {
        if self.only_photos && fact.table() != Table::Photos {
            return ControlFlow::Break(());
        }
        if let Err(error) = self.write(&fact) {
            self.trouble = Some(error);
            return ControlFlow::Break(());
        }
        if let Fact::Photo(photo) = &fact {
            self.bytes += photo.bytes;
        }
        self.rows[fact.table() as usize] += 1;
        ControlFlow::Continue(())
    }
}

/// A ledger that is complete. It is read from the beginning each time, by one reader after the other.
pub(crate) struct Written {
    file: File,
    rows: [u64; Table::ALL.len()],
    bytes: u64,
}

impl Written {
    /// How many photos, and how many bytes they have.
    pub(crate) fn totals(&self) -> (u64, u64) {
        (self.rows[Table::Photos as usize], self.bytes)
    }

    pub(crate) fn facts(&self) -> io::Result<impl Iterator<Item = io::Result<Fact>> + Send + use<>> {
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        let tables = Table::ALL.into_iter().zip(self.rows);
        let tables =
            tables.flat_map(|(table, rows)| std::iter::repeat_n(table, usize::try_from(rows).unwrap_or(0)));
        Ok(BufReader::new(file).lines().zip(tables).map(|(line, table)| read(table, &line?)))
    }

    /// They are the first there are.
    pub(crate) fn photos(&self) -> io::Result<impl Iterator<Item = io::Result<PhotoFact>> + Send + use<>> {
        let photo = |fact: io::Result<Fact>| match fact {
            Ok(Fact::Photo(photo)) => Some(Ok(photo)),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        };
        Ok(self.facts()?.map_while(photo))
    }
}

/// A fact from its line.
pub(super) fn read(table: Table, line: &str) -> io::Result<Fact> {
    let mut written = serde_json::Deserializer::from_str(line);
    let fact = table.read(&mut written)?;
    written.end()?;
    Ok(fact)
}
