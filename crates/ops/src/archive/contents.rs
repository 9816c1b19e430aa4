//! Reads an archive and checks every checksum, every count, and that rows refer only to photos in it.

use std::collections::{BTreeMap, HashSet};
use std::io::Read;

use blobs::{Part, UnknownPart};
use bytes::Bytes;
use model::PhotoId;
use store::{ExportRow, Table};

use super::error::ArchiveError;
use super::group::{self, Group};
use super::manifest::Manifest;
use super::{row_spool, tar};

pub(crate) enum Content {
    Photo(PhotoId, Vec<(Part, Bytes)>),
    /// Some rows of one table.
    Rows(Vec<ExportRow>),
    /// Comes last; everything before it has been verified.
    End(Manifest),
}

pub(crate) struct Contents<R> {
    tar: tar::Reader<R>,
    /// Photos whose files were read, and whose row was not yet.
    without_row: HashSet<PhotoId>,
    photos: u64,
    bytes: u64,
    rows: BTreeMap<String, u64>,
    /// The table whose rows are being read; `None` while photos are.
    table: Option<Table>,
    is_complete: bool,
}

impl<R: Read> Contents<R> {
    pub(crate) fn new(from: R) -> Self {
        Self {
            tar: tar::Reader::new(from),
            without_row: HashSet::new(),
            photos: 0,
            bytes: 0,
            rows: Table::ALL.map(|table| (table.name().to_owned(), 0)).into(),
            table: None,
            is_complete: false,
        }
    }

    /// `None` after the end. It may be called after an error to find further damage; what it returns then is
    /// not verified.
    pub(crate) fn next(&mut self) -> Result<Option<Content>, ArchiveError> {
        match group::read(&mut self.tar)? {
            None if self.is_complete => Ok(None),
            None => Err(ArchiveError::CutOff { last: "the last entry".to_owned() }),
            Some(group) if self.is_complete => Err(damaged(&group, "it comes after the end")),
            Some(group) => self.read(group).map(Some),
        }
    }

    fn read(&mut self, group: Group) -> Result<Content, ArchiveError> {
        let path: Vec<&str> = group.folder.split('/').collect();
        match path[..] {
            ["photos", id] => self.read_photo(id, &group),
            ["facts", table, _] => self.read_rows(table, &group),
            [""] => self.read_manifest(&group),
            _ => Err(damaged(&group, "an archive has no such entry")),
        }
    }

    fn read_photo(&mut self, id: &str, group: &Group) -> Result<Content, ArchiveError> {
        let id: PhotoId = id.parse().map_err(|_| damaged(group, "its name is not that of a photo"))?;
        if self.table.is_some() || !self.without_row.insert(id) {
            return Err(damaged(group, "it comes twice, or too late"));
        }
        let part = |(name, bytes): &(String, Bytes)| match name.parse() {
            Ok(part) => Ok((part, bytes.clone())),
            Err(unknown) => Err(damaged(group, &UnknownPart::to_string(&unknown))),
        };
        let files = group.files.iter().map(part).collect::<Result<Vec<(Part, Bytes)>, ArchiveError>>()?;
        self.photos += 1;
        self.bytes += files.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>();
        Ok(Content::Photo(id, files))
    }

    fn read_rows(&mut self, table: &str, group: &Group) -> Result<Content, ArchiveError> {
        let known = Table::ALL.into_iter().find(|known| known.name() == table);
        let table = known.filter(|known| self.table <= Some(*known));
        let table = table.ok_or_else(|| damaged(group, "its rows are unknown, or come too late"))?;
        self.table = Some(table);
        let mut rows = Vec::new();
        for (_, bytes) in &group.files {
            let text = std::str::from_utf8(bytes).map_err(|cause| damaged(group, &cause.to_string()))?;
            for (line, number) in text.lines().zip(1..) {
                let unread = |cause| damaged(group, &format!("line {number} is no row of {table}: {cause}"));
                let row = row_spool::read(table, line).map_err(unread)?;
                if let ExportRow::Photo(photo) = &row
                    && !self.without_row.remove(&photo.id)
                {
                    return Err(damaged(group, &format!("photo {} has no files in the archive", photo.id)));
                }
                rows.push(row);
            }
        }
        *self.rows.entry(table.name().to_owned()).or_default() += rows.len() as u64;
        Ok(Content::Rows(rows))
    }

    fn read_manifest(&mut self, group: &Group) -> Result<Content, ArchiveError> {
        let damaged =
            |what: &str| ArchiveError::Damaged { entry: "manifest.json".to_owned(), what: what.to_owned() };
        let [(name, text)] = &group.files[..] else { return Err(damaged("it is not alone")) };
        if name != "manifest.json" {
            return Err(damaged("it is not there"));
        }
        let manifest = Manifest::read(text)?;
        if manifest.sha256 != group.before {
            return Err(damaged("what comes before it does not match the checksum over all of it"));
        }
        if (manifest.photos, manifest.bytes) != (self.photos, self.bytes)
            || with_rows(&manifest.rows) != with_rows(&self.rows)
        {
            return Err(damaged("it counts other photos or rows than there are"));
        }
        if let Some(photo) = self.without_row.iter().next() {
            return Err(damaged(&format!("photo {photo} has no row")));
        }
        self.is_complete = true;
        Ok(Content::End(manifest))
    }
}

fn damaged(group: &Group, what: &str) -> ArchiveError {
    ArchiveError::Damaged { entry: group.folder.clone(), what: what.to_owned() }
}

/// The tables that have rows. An archive does not list the tables that came after its version.
fn with_rows(counts: &BTreeMap<String, u64>) -> BTreeMap<&str, u64> {
    counts.iter().filter(|(_, rows)| **rows > 0).map(|(table, rows)| (table.as_str(), *rows)).collect()
}
