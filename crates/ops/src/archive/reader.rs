//! The archive reader: verifies every checksum, count and row, and that every photo has both files and a row.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::Read;
use std::iter::Peekable;
use std::sync::Arc;

use blobs::{PhotoFile, UnknownPhotoFile};
use bytes::Bytes;
use model::{PhotoId, validate_dimensions};
use store::{ExportRow, Table};

use super::checksummed_folder::{ChecksummedFolder, Folders};
use super::error::ArchiveError;
use super::manifest::Manifest;
use super::row_spool;
use super::salvage::{Line, Rows, Salvage, Section};
use crate::examined_photo::ExaminedPhoto;
use crate::expected_files::ExpectedFiles;
use crate::row_rules::RowRules;

/// Rows that a salvaging reader returns at once.
const BATCH: usize = 1_000;

/// The unit of reading an archive.
pub(crate) enum Item {
    Photo(PhotoId, Vec<(PhotoFile, Bytes)>),
    /// Rows in the order of an export.
    Rows(Vec<ExportRow>),
    /// The last item; all items before it are verified unless there was an error.
    End(Manifest),
}

pub(crate) struct Reader<R> {
    folders: Folders<R>,
    phase: Phase,
    /// The files of photos that have been read, but not their row.
    without_row: HashMap<PhotoId, ExpectedFiles>,
    rules: RowRules,
    photos: u64,
    bytes: u64,
    rows: BTreeMap<String, u64>,
    /// The table whose rows are being read; `None` while photos are being read.
    table: Option<Table>,
    manifest: Option<Manifest>,
    /// Damage of the last item, one error for each row.
    pending: VecDeque<ArchiveError>,
    /// The number of rows that were left out, by table.
    left_out: BTreeMap<Table, u64>,
    is_damaged: bool,
    is_truncated: bool,
    is_complete: bool,
}

enum Phase {
    /// Reads the archive, and returns the rows at its end.
    Stream,
    /// Reads the archive, and saves all rows and what is left of damaged photos.
    Save(Salvage),
    /// Rebuilds photos.
    Rebuild(Arc<Salvage>, Box<Rows>),
    /// Returns the best rows of both copies.
    Rows(Arc<Salvage>, Box<Peekable<Rows>>),
    Done,
}

enum Step {
    Item(Box<Item>),
    Next,
    End,
}

impl<R: Read> Reader<R> {
    /// It verifies everything. After damage it continues, in order to find more.
    pub(crate) fn new(from: R) -> Self {
        Self {
            folders: Folders::new(from),
            phase: Phase::Stream,
            without_row: HashMap::new(),
            rules: RowRules::default(),
            photos: 0,
            bytes: 0,
            rows: Table::ALL.map(|table| (table.name().to_owned(), 0)).into(),
            table: None,
            manifest: None,
            pending: VecDeque::new(),
            left_out: BTreeMap::new(),
            is_damaged: false,
            is_truncated: false,
            is_complete: false,
        }
    }

    /// It returns all that is left of a damaged archive: it rebuilds the files of photos, and completes rows
    /// from
    /// their copy. A row of a file whose checksum does not match is returned if no copy is intact and it
    /// obeys
    /// all rules.
    pub(crate) fn salvaging(from: R) -> Result<Self, ArchiveError> {
        let phase = Phase::Save(Salvage::new().map_err(ArchiveError::Spool)?);
        Ok(Self { phase, ..Self::new(from) })
    }

    /// `None` after the end. Calling it after damage continues without what is damaged.
    pub(crate) fn next(&mut self) -> Result<Option<Item>, ArchiveError> {
        loop {
            let step = match self.pending.pop_front() {
                Some(damage) => Err(damage),
                None => self.step(),
            };
            self.is_truncated |= matches!(step, Err(ArchiveError::Truncated { .. }));
            self.is_damaged |= step.is_err() || !self.pending.is_empty();
            match step? {
                Step::Item(item) => return Ok(Some(*item)),
                Step::End if self.pending.is_empty() => return Ok(None),
                Step::Next | Step::End => {}
            }
        }
    }

    fn step(&mut self) -> Result<Step, ArchiveError> {
        match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Done => Ok(Step::End),
            Phase::Rebuild(salvage, rows) => self.rebuild(salvage, rows),
            Phase::Rows(salvage, rows) => self.salvaged_rows(salvage, rows),
            reading => {
                self.phase = reading;
                match self.folders.next()? {
                    Some(folder) if self.is_complete => Err(damaged(&folder, "it follows the manifest")),
                    Some(folder) => self.read(folder),
                    None if self.is_complete || self.is_truncated => Ok(self.end()),
                    None => Err(ArchiveError::Truncated { last: "the last entry".to_owned() }),
                }
            }
        }
    }

    /// The end of the archive.
    fn end(&mut self) -> Step {
        let Phase::Save(salvage) = std::mem::replace(&mut self.phase, Phase::Done) else { return Step::End };
        let salvage = Arc::new(salvage);
        let (rows, notes) = salvage.rows(self.manifest.as_ref());
        self.pending.extend(notes.into_iter().map(ArchiveError::Repaired));
        self.phase = Phase::Rebuild(salvage, Box::new(rows));
        Step::Next
    }

    fn read(&mut self, mut folder: ChecksummedFolder) -> Result<Step, ArchiveError> {
        let damage = std::mem::take(&mut folder.damage);
        let is_damaged = !damage.is_empty();
        self.pending.extend(damage);
        let path: Vec<&str> = folder.path.split('/').collect();
        // Nothing follows a manifest, not even a damaged one.
        self.is_complete = path == [""];
        match path[..] {
            [section, table, _] if let Some(section) = Section::of_folder(section) => {
                self.read_rows(section, table, &folder)
            }
            ["photos", id] if is_damaged => {
                if let (Phase::Save(salvage), Ok(id)) = (&mut self.phase, id.parse()) {
                    salvage.add_photo(id, &folder).map_err(ArchiveError::Spool)?;
                }
                Ok(Step::Next)
            }
            _ if is_damaged => Ok(Step::Next),
            ["photos", id] => self.read_photo(id, &folder),
            [""] => self.read_manifest(&folder),
            _ => Err(damaged(&folder, "an archive has no such folder")),
        }
    }

    fn read_photo(&mut self, id: &str, folder: &ChecksummedFolder) -> Result<Step, ArchiveError> {
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
        Ok(self.add_photo(id, expected, files))
    }

    fn add_photo(&mut self, id: PhotoId, expected: ExpectedFiles, files: Vec<(PhotoFile, Bytes)>) -> Step {
        self.without_row.insert(id, expected);
        self.photos += 1;
        self.bytes += expected.bytes;
        Step::Item(Box::new(Item::Photo(id, files)))
    }

    fn read_rows(
        &mut self,
        section: Section,
        table: &str,
        folder: &ChecksummedFolder,
    ) -> Result<Step, ArchiveError> {
        let known = Table::ALL.into_iter().find(|known| known.name() == table);
        let known = known.filter(|known| section == Section::Copy || self.table <= Some(*known));
        let table = known.ok_or_else(|| damaged(folder, "its table is unknown, or out of order"))?;
        if section == Section::Last {
            self.table = Some(table);
        }
        if let Phase::Save(salvage) = &mut self.phase {
            salvage.add_rows(section, table, folder).map_err(ArchiveError::Spool)?;
            return Ok(Step::Next);
        }
        if section == Section::Copy {
            return Ok(Step::Next);
        }
        let mut rows = Vec::new();
        for (name, bytes) in &folder.files {
            let entry = |line: usize| format!("{}/{name} line {line}", folder.path);
            let mut parsed = Vec::new();
            for (line, number) in bytes.split(|byte| *byte == b'\n').zip(1..) {
                match row_spool::parse(table, line) {
                    Ok(row) => parsed.push((number, row)),
                    // After the last line.
                    Err(_) if line.is_empty() => {}
                    Err(cause) => self.leave_out(table, entry(number), row_spool::not_a_row(table, &cause)),
                }
            }
            let mut parsed = parsed.into_iter().peekable();
            while let Some((number, row)) = parsed.next() {
                rows.extend(self.accept(row, parsed.peek().map(|(_, row)| row), &entry(number)));
            }
        }
        *self.rows.entry(table.name().to_owned()).or_default() += rows.len() as u64;
        Ok(Step::Item(Box::new(Item::Rows(rows))))
    }

    /// Photos have to precede the rows, so those that lack files are rebuilt before any row is returned.
    fn rebuild(&mut self, salvage: Arc<Salvage>, mut rows: Box<Rows>) -> Result<Step, ArchiveError> {
        let line = rows.next().transpose().map_err(ArchiveError::Spool)?;
        // They are the first table.
        let Some(line) = line.filter(|line| line.table == Table::Photos) else {
            let (rows, _) = salvage.rows(self.manifest.as_ref());
            self.phase = Phase::Rows(salvage, Box::new(rows.peekable()));
            return Ok(Step::Next);
        };
        let valid = line.row.ok().filter(|row| row.validate().is_ok());
        let files = match &valid {
            Some(ExportRow::Photo(photo)) if !self.without_row.contains_key(&photo.id) => {
                salvage.photo(photo.id).map_err(ArchiveError::Spool)?
            }
            _ => None,
        };
        self.phase = Phase::Rebuild(salvage, rows);
        let (Some(ExportRow::Photo(photo)), Some(files)) = (valid, files) else { return Ok(Step::Next) };
        if validate_dimensions(photo.width, photo.height).is_err() {
            return Ok(Step::Next);
        }
        let id = photo.id;
        let examined = ExaminedPhoto::examine_blocking(photo, files);
        let lines = examined.describe().map(|(_, line)| line).collect::<Vec<_>>();
        let Some(rebuilt) = examined.rebuilt else { return Ok(Step::Next) };
        let lengths = rebuilt.files.iter().map(|(file, bytes)| (*file, bytes.len() as u64));
        let Some(expected) = ExpectedFiles::of_files(lengths) else { return Ok(Step::Next) };
        self.pending.extend(lines.into_iter().map(|line| ArchiveError::Repaired(format!("photo {line}"))));
        Ok(self.add_photo(id, expected, rebuilt.files))
    }

    fn salvaged_rows(
        &mut self,
        salvage: Arc<Salvage>,
        mut lines: Box<Peekable<Rows>>,
    ) -> Result<Step, ArchiveError> {
        let mut rows = Vec::new();
        while rows.len() < BATCH {
            let Some(line) = lines.next().transpose().map_err(ArchiveError::Spool)? else {
                if rows.is_empty() {
                    return Ok(self.salvaged());
                }
                break;
            };
            let Line { entry, table, row, .. } = line;
            match row {
                Ok(mut row) => {
                    if let ExportRow::Photo(photo) = &mut row
                        && let Some(files) = self.without_row.get(&photo.id)
                        && *files != (&*photo).into()
                        && let Some(corrected) = files.correct(photo)
                    {
                        if !salvage.is_damaged_photo(photo.id) {
                            let id = photo.id;
                            self.pending.push_back(ArchiveError::Repaired(format!(
                                "photo {id} has other files than its row says; the images are intact"
                            )));
                        }
                        *photo = corrected;
                    }
                    let following = lines.peek().and_then(|line| line.as_ref().ok()?.row.as_ref().ok());
                    let following = following.filter(|following| following.table() == table);
                    if let Some(row) = self.accept(row, following, &entry) {
                        *self.rows.entry(table.name().to_owned()).or_default() += 1;
                        rows.push(row);
                    }
                }
                Err(what) => self.leave_out(table, entry, what),
            }
        }
        self.phase = Phase::Rows(salvage, lines);
        Ok(Step::Item(Box::new(Item::Rows(rows))))
    }

    /// All rows were returned.
    fn salvaged(&mut self) -> Step {
        for (table, rows) in std::mem::take(&mut self.left_out) {
            if let Some(more) = rows.checked_sub(max_listed(table)).filter(|more| *more > 0) {
                let what = "for the same reasons".to_owned();
                self.pending.push_back(ArchiveError::InvalidRow {
                    entry: format!("{more} more rows of {table}"),
                    what,
                });
            }
        }
        match self.manifest.take() {
            Some(manifest) => {
                self.check_counts(&manifest);
                Step::Item(Box::new(Item::End(manifest)))
            }
            None => Step::End,
        }
    }

    /// Checks a row; one that breaks a rule is left out.
    fn accept(
        &mut self,
        mut row: ExportRow,
        following: Option<&ExportRow>,
        entry: &str,
    ) -> Option<ExportRow> {
        let mut what = match self.check(&row, following) {
            Ok(()) => return Some(row),
            Err(what) => what,
        };
        let entry = format!("{entry} ({row})");
        let table = row.table();
        // A user can be kept without their profile photo.
        let is_kept = if let ExportRow::User(user) = &mut row {
            user.photo_id.take().is_some() && self.check(&row, following).is_ok()
        } else {
            false
        };
        if is_kept {
            what.push_str("; the user is kept without it");
        }
        self.leave_out(table, entry, what);
        is_kept.then_some(row)
    }

    /// A salvaging reader lists no more rows than an operator would read.
    fn leave_out(&mut self, table: Table, entry: String, what: String) {
        let left_out = self.left_out.entry(table).or_default();
        *left_out += 1;
        if *left_out <= max_listed(table) || matches!(self.phase, Phase::Stream) {
            self.pending.push_back(ArchiveError::InvalidRow { entry, what });
        }
    }

    /// The error is the rule that the row breaks.
    fn check(&mut self, row: &ExportRow, following: Option<&ExportRow>) -> Result<(), String> {
        if let ExportRow::Photo(photo) = row {
            match self.without_row.get(&photo.id) {
                None => return Err("its files are not in the archive, or damaged".to_owned()),
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

    fn read_manifest(&mut self, folder: &ChecksummedFolder) -> Result<Step, ArchiveError> {
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
        if !self.is_damaged && self.pending.is_empty() && manifest.sha256 != folder.digest_before {
            self.pending.push_back(damaged("the checksum of the whole archive does not match"));
        }
        if matches!(self.phase, Phase::Stream) {
            self.check_counts(&manifest);
            return Ok(Step::Item(Box::new(Item::End(manifest))));
        }
        // The rows are counted when they are returned.
        self.manifest = Some(manifest);
        Ok(Step::Next)
    }

    /// What the archive has other than its manifest says.
    fn check_counts(&mut self, manifest: &Manifest) {
        if self.is_damaged || !self.pending.is_empty() {
            return;
        }
        let has_counts = (manifest.photos, manifest.bytes) == (self.photos, self.bytes)
            && non_empty(&manifest.rows) == non_empty(&self.rows);
        let what = match self.without_row.keys().next() {
            _ if !has_counts => "its counts do not match the photos or rows of the archive".to_owned(),
            Some(photo) => format!("photo {photo} has no row"),
            None => return,
        };
        self.pending.push_back(ArchiveError::Damaged { entry: "manifest.json".to_owned(), what });
    }
}

/// The number of rows that are listed one by one.
fn max_listed(table: Table) -> u64 {
    if matches!(table, Table::Photos | Table::Users | Table::Posts) { 1_000 } else { 20 }
}

fn damaged(folder: &ChecksummedFolder, what: &str) -> ArchiveError {
    ArchiveError::Damaged { entry: folder.path.clone(), what: what.to_owned() }
}

/// Without empty tables: an archive of an older version does not list tables that were added later.
fn non_empty(counts: &BTreeMap<String, u64>) -> BTreeMap<&str, u64> {
    counts.iter().filter(|(_, rows)| **rows > 0).map(|(table, rows)| (table.as_str(), *rows)).collect()
}
