//! The archive reader: verifies every checksum, count and row, and that every photo has both files and a row.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::Read;

use blobs::{PhotoFile, UnknownPhotoFile};
use bytes::Bytes;
use model::PhotoId;
use store::{ExportRow, Table};

use super::checksummed_folder::{self, ChecksummedFolder};
use super::error::ArchiveError;
use super::manifest::Manifest;
use super::{row_spool, tar};
use crate::expected_files::ExpectedFiles;
use crate::row_rules::RowRules;

/// The unit of reading an archive.
pub(crate) enum Item {
    Photo(PhotoId, Vec<(PhotoFile, Bytes)>),
    /// Some rows of one table.
    Rows(Vec<ExportRow>),
    /// The last item; all items before it are verified unless there was an error.
    End(Manifest),
}

pub(crate) struct Reader<R> {
    tar: tar::Reader<R>,
    /// Photos whose files have been read, but not their row.
    without_row: HashMap<PhotoId, ExpectedFiles>,
    rules: RowRules,
    photos: u64,
    bytes: u64,
    rows: BTreeMap<String, u64>,
    /// The table whose rows are being read; `None` while photos are being read.
    table: Option<Table>,
    /// Damage of the last item, one error for each row.
    pending: VecDeque<ArchiveError>,
    is_damaged: bool,
    is_complete: bool,
}

impl<R: Read> Reader<R> {
    pub(crate) fn new(from: R) -> Self {
        Self {
            tar: tar::Reader::new(from),
            without_row: HashMap::new(),
            rules: RowRules::default(),
            photos: 0,
            bytes: 0,
            rows: Table::ALL.map(|table| (table.name().to_owned(), 0)).into(),
            table: None,
            pending: VecDeque::new(),
            is_damaged: false,
            is_complete: false,
        }
    }

    /// `None` after the end. Calling it after [`ArchiveError::Damaged`] continues without what is damaged;
    /// rows of a file whose checksum does not match are returned if they obey all rules.
    pub(crate) fn next(&mut self) -> Result<Option<Item>, ArchiveError> {
        if let Some(damage) = self.pending.pop_front() {
            return Err(damage);
        }
        let item = self.next_item();
        self.is_damaged |= item.is_err() || !self.pending.is_empty();
        item
    }

    fn next_item(&mut self) -> Result<Option<Item>, ArchiveError> {
        match checksummed_folder::read(&mut self.tar)? {
            None if self.is_complete => Ok(None),
            None => Err(ArchiveError::Truncated { last: "the last entry".to_owned() }),
            Some(folder) if self.is_complete => Err(damaged(&folder, "it follows the manifest")),
            Some(folder) => self.read(folder).map(Some),
        }
    }

    fn read(&mut self, mut folder: ChecksummedFolder) -> Result<Item, ArchiveError> {
        let damage = folder.damage.take();
        let path: Vec<&str> = folder.path.split('/').collect();
        // Nothing follows a manifest, not even a damaged one.
        self.is_complete = path == [""];
        match (&path[..], damage) {
            (["facts", table, _], damage) => {
                self.pending.extend(damage);
                self.read_rows(table, &folder)
            }
            (_, Some(damage)) => Err(damage),
            (["photos", id], None) => self.read_photo(id, &folder),
            ([""], None) => self.read_manifest(&folder),
            _ => Err(damaged(&folder, "an archive has no such folder")),
        }
    }

    fn read_photo(&mut self, id: &str, folder: &ChecksummedFolder) -> Result<Item, ArchiveError> {
        let id: PhotoId = id.parse().map_err(|_| damaged(folder, "its name is not a photo id"))?;
        let file = |(name, bytes): &(String, Bytes)| match name.parse() {
            Ok(file) => Ok((file, bytes.clone())),
            Err(unknown) => Err(damaged(folder, &UnknownPhotoFile::to_string(&unknown))),
        };
        let files = folder.files.iter().map(file);
        let files = files.collect::<Result<Vec<(PhotoFile, Bytes)>, ArchiveError>>()?;
        let lengths = files.iter().map(|(file, bytes)| (*file, bytes.len() as u64));
        let expected = ExpectedFiles::of_files(lengths)
            .ok_or_else(|| damaged(folder, "these are not the files of a photo"))?;
        if self.table.is_some() || self.without_row.contains_key(&id) {
            return Err(damaged(folder, "it is a duplicate, or follows rows"));
        }
        self.without_row.insert(id, expected);
        self.photos += 1;
        self.bytes += expected.bytes;
        Ok(Item::Photo(id, files))
    }

    fn read_rows(&mut self, table: &str, folder: &ChecksummedFolder) -> Result<Item, ArchiveError> {
        let known = Table::ALL.into_iter().find(|known| known.name() == table);
        let table = known.filter(|known| self.table <= Some(*known));
        let table = table.ok_or_else(|| damaged(folder, "its table is unknown, or out of order"))?;
        self.table = Some(table);
        let mut rows = Vec::new();
        for (name, bytes) in &folder.files {
            let entry = |line: usize| format!("{}/{name} line {line}", folder.path);
            let mut parsed = Vec::new();
            for (line, number) in bytes.split(|byte| *byte == b'\n').zip(1..) {
                match row_spool::parse(table, line) {
                    Ok(row) => parsed.push((number, row)),
                    // After the last line.
                    Err(_) if line.is_empty() => {}
                    Err(cause) => self.pending.push_back(ArchiveError::Damaged {
                        entry: entry(number),
                        what: format!("it is not a row of {table}: {cause}"),
                    }),
                }
            }
            let mut parsed = parsed.into_iter().peekable();
            while let Some((number, mut row)) = parsed.next() {
                let following = parsed.peek().map(|(_, row)| row);
                let Err(what) = self.check(&row, following) else {
                    rows.push(row);
                    continue;
                };
                self.pending
                    .push_back(ArchiveError::Damaged { entry: format!("{} ({row})", entry(number)), what });
                // A user can be kept without their profile photo.
                if let ExportRow::User(user) = &mut row
                    && user.photo_id.take().is_some()
                    && self.check(&row, following).is_ok()
                {
                    rows.push(row);
                }
            }
        }
        *self.rows.entry(table.name().to_owned()).or_default() += rows.len() as u64;
        Ok(Item::Rows(rows))
    }

    /// The error is the rule that the row breaks.
    fn check(&mut self, row: &ExportRow, following: Option<&ExportRow>) -> Result<(), String> {
        if let ExportRow::Photo(photo) = row {
            match self.without_row.get(&photo.id) {
                None => return Err("its files are not in the archive".to_owned()),
                Some(files) if *files != photo.into() => {
                    return Err("its files have other sizes or lengths than the row says".to_owned());
                }
                Some(_) => {}
            }
        }
        self.rules.check(row, following).map_err(|rule| rule.to_string())?;
        if let ExportRow::Photo(photo) = row {
            self.without_row.remove(&photo.id);
        }
        Ok(())
    }

    fn read_manifest(&mut self, folder: &ChecksummedFolder) -> Result<Item, ArchiveError> {
        let damaged =
            |what: &str| ArchiveError::Damaged { entry: "manifest.json".to_owned(), what: what.to_owned() };
        let [(name, text)] = &folder.files[..] else {
            return Err(damaged("other files are beside it"));
        };
        if name != "manifest.json" {
            return Err(damaged("it is missing"));
        }
        let manifest = Manifest::read(text)?;
        // After damage, every difference is a consequence of it.
        if !self.is_damaged {
            self.pending.extend(self.contradiction(&manifest, folder).map(|what| damaged(&what)));
        }
        Ok(Item::End(manifest))
    }

    /// What the archive has other than its manifest says.
    fn contradiction(&self, manifest: &Manifest, folder: &ChecksummedFolder) -> Option<String> {
        if manifest.sha256 != folder.digest_before {
            return Some("the checksum of the whole archive does not match".to_owned());
        }
        if (manifest.photos, manifest.bytes) != (self.photos, self.bytes)
            || non_empty(&manifest.rows) != non_empty(&self.rows)
        {
            return Some("its counts do not match the photos or rows of the archive".to_owned());
        }
        self.without_row.keys().next().map(|photo| format!("photo {photo} has no row"))
    }
}

fn damaged(folder: &ChecksummedFolder, what: &str) -> ArchiveError {
    ArchiveError::Damaged { entry: folder.path.clone(), what: what.to_owned() }
}

/// Without empty tables: an archive of an older version does not list tables that were added later.
fn non_empty(counts: &BTreeMap<String, u64>) -> BTreeMap<&str, u64> {
    counts.iter().filter(|(_, rows)| **rows > 0).map(|(table, rows)| (table.as_str(), *rows)).collect()
}
