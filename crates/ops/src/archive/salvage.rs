//! What is left of a damaged archive: both copies of the rows, and the files of damaged photos, in a
//! temporary
//! file until the whole archive has been read.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::iter::Peekable;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use blobs::{PhotoFile, PhotoFiles};
use bytes::{Buf, Bytes};
use model::PhotoId;
use store::{ExportRow, Table};

use super::checksummed_folder::{ChecksummedFolder, Integrity};
use super::manifest::Manifest;
use super::row_spool::{self, FileSlice};
use super::writer::ChangeFilter;

/// The two copies of the rows in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    /// At the beginning: all rows of the snapshot.
    Copy,
    /// At the end: without the posts of photos that are not in the archive.
    Last,
}

impl Section {
    pub(super) fn of_folder(name: &str) -> Option<Self> {
        match name {
            "copy" => Some(Self::Copy),
            "facts" => Some(Self::Last),
            _ => None,
        }
    }
}

pub(super) struct Salvage {
    file: Arc<File>,
    length: u64,
    rows: Vec<RowFile>,
    photos: HashMap<PhotoId, Vec<SavedFile>>,
}

/// A file of rows.
#[derive(Clone)]
struct RowFile {
    section: Section,
    table: Table,
    path: String,
    at: Range<u64>,
    lines: u64,
    is_intact: bool,
}

/// A file of a photo of which another file is damaged or lost.
struct SavedFile {
    file: PhotoFile,
    at: Range<u64>,
    is_verified: bool,
}

impl Salvage {
    pub(super) fn new() -> io::Result<Self> {
        let file = Arc::new(tempfile::tempfile()?);
        Ok(Self { file, length: 0, rows: Vec::new(), photos: HashMap::new() })
    }

    pub(super) fn add_rows(
        &mut self,
        section: Section,
        table: Table,
        folder: &ChecksummedFolder,
    ) -> io::Result<()> {
        for (name, bytes, integrity) in folder.examine() {
            let path = format!("{}/{name}", folder.path);
            // Each ends with a line break.
            let lines = bytes.split(|byte| *byte == b'\n').skip(1).count() as u64;
            let is_intact = integrity == Integrity::Intact;
            let at = self.add(bytes)?;
            self.rows.push(RowFile { section, table, path, at, lines, is_intact });
        }
        Ok(())
    }

    /// Keeps the files of a photo that are not known to be damaged.
    pub(super) fn add_photo(&mut self, id: PhotoId, folder: &ChecksummedFolder) -> io::Result<()> {
        if self.photos.contains_key(&id) {
            return Ok(());
        }
        let mut files = Vec::new();
        for (name, bytes, integrity) in folder.examine() {
            if let (Ok(file), Integrity::Intact | Integrity::Unknown) = (name.parse(), integrity) {
                let at = self.add(bytes)?;
                files.push(SavedFile { file, at, is_verified: integrity == Integrity::Intact });
            }
        }
        files.sort_by_key(|saved| saved.file);
        files.dedup_by_key(|saved| saved.file);
        self.photos.insert(id, files);
        Ok(())
    }

    /// The files of a damaged photo.
    pub(super) fn photo(&self, id: PhotoId) -> io::Result<Option<PhotoFiles>> {
        let Some(saved) = self.photos.get(&id) else { return Ok(None) };
        let mut files = PhotoFiles::default();
        for SavedFile { file, at, is_verified } in saved {
            files.intact.push((*file, self.read(at.clone())?.into()));
            files.unverified.extend((!is_verified).then_some(*file));
        }
        Ok(Some(files))
    }

    pub(super) fn is_damaged_photo(&self, id: PhotoId) -> bool {
        self.photos.contains_key(&id)
    }

    /// The best rows of each table, and a line for each table that needs the copy.
    pub(super) fn rows(self: &Arc<Self>, manifest: Option<&Manifest>) -> (Rows, Vec<String>) {
        let names =
            manifest.iter().flat_map(|manifest| manifest.deleted_meanwhile.iter().chain(&manifest.missing));
        // The copy has their rows.
        let skipped = names.filter_map(|name| name.parse().ok()).collect();
        let (mut tables, mut notes) = (Vec::new(), Vec::new());
        for table in Table::ALL {
            let Choice { copy, facts, is_copy_needed } = self.choose(table, manifest);
            notes.extend(is_copy_needed.then(|| {
                format!("the rows of {table} are completed from the copy at the beginning of the archive")
            }));
            let lines = |files| Lines::new(self.clone(), files).peekable();
            tables.push(Merged { copy: lines(copy), facts: lines(facts) });
        }
        let filter = ChangeFilter::new(skipped, HashMap::new());
        (Rows { lines: tables.into_iter().flatten(), filter }, notes)
    }

    /// A file that fails its checksum is not read if the other files have all rows without it.
    fn choose(&self, table: Table, manifest: Option<&Manifest>) -> Choice {
        let files = |section| {
            let files = self.rows.iter().filter(move |file| (file.table, file.section) == (table, section));
            files.cloned().collect::<Vec<_>>()
        };
        let (copy, facts) = (files(Section::Copy), files(Section::Last));
        let intact = |files: &[RowFile]| {
            files.iter().filter(|file| file.is_intact).map(|file| file.lines).sum::<u64>()
        };
        let is_intact = |files: &[RowFile]| files.iter().all(|file| file.is_intact);
        let expected = manifest.map(|manifest| manifest.rows.get(table.name()).copied().unwrap_or(0));
        let is_complete = |files: &[RowFile]| match expected {
            Some(expected) => intact(files) >= expected,
            None => is_intact(files) && !files.is_empty(),
        };
        let only_intact =
            |files: Vec<RowFile>| files.into_iter().filter(|file| file.is_intact).collect::<Vec<_>>();
        let is_copy_needed = !copy.is_empty() && !is_complete(&facts);
        if expected.is_some() && is_complete(&facts) {
            return Choice { copy: Vec::new(), facts: only_intact(facts), is_copy_needed: false };
        }
        // Sequences have no order in which they could be merged.
        if table == Table::Sequences {
            let is_usable = |files: &[RowFile]| is_intact(files) && !files.is_empty();
            let is_copy = is_usable(&copy) && !is_usable(&facts);
            let (copy, facts) =
                if is_copy || facts.is_empty() { (copy, Vec::new()) } else { (Vec::new(), facts) };
            return Choice { is_copy_needed: !copy.is_empty(), copy, facts };
        }
        if is_complete(&copy) {
            return Choice { copy: only_intact(copy), facts: only_intact(facts), is_copy_needed };
        }
        Choice { copy, facts, is_copy_needed }
    }

    fn add(&mut self, bytes: &[u8]) -> io::Result<Range<u64>> {
        let start = self.length;
        self.file.write_all_at(bytes, start)?;
        self.length += bytes.len() as u64;
        Ok(start..self.length)
    }

    fn read(&self, at: Range<u64>) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        FileSlice { file: self.file.clone(), at }.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// The files from which the rows of a table are read.
struct Choice {
    copy: Vec<RowFile>,
    facts: Vec<RowFile>,
    is_copy_needed: bool,
}

/// A row, or the reason why it is not one.
pub(super) struct Line {
    pub(super) entry: String,
    pub(super) table: Table,
    pub(super) row: Result<ExportRow, String>,
    is_intact: bool,
}

/// The rows of all tables in the order of an export.
pub(super) struct Rows {
    lines: std::iter::Flatten<std::vec::IntoIter<Merged>>,
    filter: ChangeFilter,
}

impl Iterator for Rows {
    type Item = io::Result<Line>;

    fn next(&mut self) -> Option<io::Result<Line>> {
        loop {
            match self.lines.next()? {
                Ok(Line { row: Ok(row), entry, table, is_intact }) => {
                    if let Some(row) = self.filter.apply(row) {
                        return Some(Ok(Line { row: Ok(row), entry, table, is_intact }));
                    }
                }
                other => return Some(other),
            }
        }
    }
}

/// The rows of a table from both copies, each once.
struct Merged {
    copy: Peekable<Lines>,
    facts: Peekable<Lines>,
}

impl Iterator for Merged {
    type Item = io::Result<Line>;

    fn next(&mut self) -> Option<io::Result<Line>> {
        let (Some(copy), Some(facts)) = (self.copy.peek(), self.facts.peek()) else {
            return self.facts.next().or_else(|| self.copy.next());
        };
        let (Ok(copy), Ok(facts)) = (copy, facts) else {
            return if copy.is_err() { self.copy.next() } else { self.facts.next() };
        };
        match (&copy.row, &facts.row) {
            (Err(_), _) => self.copy.next(),
            (_, Err(_)) => self.facts.next(),
            (Ok(in_copy), Ok(in_facts)) if in_facts.is_after(in_copy) => self.copy.next(),
            (Ok(in_copy), Ok(in_facts)) if in_copy.is_after(in_facts) => self.facts.next(),
            _ if copy.is_intact && !facts.is_intact => {
                self.facts.next();
                self.copy.next()
            }
            _ => {
                self.copy.next();
                self.facts.next()
            }
        }
    }
}

/// The lines of some files of rows.
struct Lines {
    salvage: Arc<Salvage>,
    files: std::vec::IntoIter<RowFile>,
    current: Option<(RowFile, Bytes, usize)>,
}

impl Lines {
    fn new(salvage: Arc<Salvage>, files: Vec<RowFile>) -> Self {
        Self { salvage, files: files.into_iter(), current: None }
    }
}

impl Iterator for Lines {
    type Item = io::Result<Line>;

    fn next(&mut self) -> Option<io::Result<Line>> {
        loop {
            let Some((file, rest, number)) = &mut self.current else {
                let file = self.files.next()?;
                match self.salvage.read(file.at.clone()) {
                    Ok(bytes) => self.current = Some((file, bytes.into(), 0)),
                    Err(error) => return Some(Err(error)),
                }
                continue;
            };
            if rest.is_empty() {
                self.current = None;
                continue;
            }
            let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            let line = rest.split_to(length);
            // The line break.
            rest.advance(1.min(rest.len()));
            *number += 1;
            if line.is_empty() {
                continue;
            }
            let row = row_spool::parse(file.table, &line);
            let row = row.map_err(|cause| row_spool::not_a_row(file.table, &cause));
            let entry = format!("{} line {number}", file.path);
            return Some(Ok(Line { entry, table: file.table, row, is_intact: file.is_intact }));
        }
    }
}
