//! The archive writer: photos, then rows, then the manifest.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Write};

use blobs::PhotoFile;
use bytes::Bytes;
use model::{PhotoId, PostId, Timestamp};
use store::{ExportRow, PhotoRow, Table};

use super::manifest::{FORMAT, Manifest};
use super::row_spool::SpooledRows;
use super::{checksummed_folder, tar};

/// A new file of rows is started at either limit.
const MAX_ROWS: usize = 5_000;
const MAX_BYTES: usize = 4 << 20;

pub(crate) struct Writer<W> {
    tar: tar::Writer<W>,
    made_at: Timestamp,
    photos: u64,
    bytes: u64,
}

/// What the archive has differently from the snapshot.
#[derive(Debug, Default)]
pub(crate) struct PhotoChanges {
    /// Photos that are left out.
    pub(crate) deleted: HashSet<PhotoId>,
    pub(crate) missing: HashSet<PhotoId>,
    /// The rows of photos whose files were rebuilt.
    pub(crate) corrected: HashMap<PhotoId, PhotoRow>,
    /// The damaged files, and what became of them.
    pub(crate) damaged: Vec<String>,
}

impl<W: Write> Writer<W> {
    pub(crate) fn new(to: W, made_at: Timestamp) -> Self {
        let seconds = u64::try_from(made_at.micros() / 1_000_000).unwrap_or(0);
        Self { tar: tar::Writer::new(to, seconds), made_at, photos: 0, bytes: 0 }
    }

    pub(crate) fn photo(&mut self, id: PhotoId, files: Vec<(PhotoFile, Bytes)>) -> io::Result<()> {
        self.photos += 1;
        self.bytes += files.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>();
        let files: Vec<_> = files.into_iter().map(|(part, bytes)| (part.to_string(), bytes)).collect();
        checksummed_folder::write(&mut self.tar, &format!("photos/{id}"), &files)
    }

    /// Writes the rows and the manifest, and returns the output. Posts of skipped photos are skipped.
    pub(crate) fn finish(
        mut self,
        spooled: &SpooledRows,
        changes: PhotoChanges,
    ) -> io::Result<(W, Manifest)> {
        let mut file = RowFile::default();
        let mut rows: BTreeMap<String, u64> = Table::ALL.map(|table| (table.name().to_owned(), 0)).into();
        let mut filter = ChangeFilter { changes: &changes, skipped_posts: HashSet::new() };
        for row in spooled.rows()? {
            let Some(row) = filter.apply(row?) else { continue };
            if file.is_full(row.table()) {
                file.write(&mut self.tar)?;
            }
            file.add(&row)?;
            *rows.entry(row.table().name().to_owned()).or_default() += 1;
        }
        file.write(&mut self.tar)?;

        let names = |photos: &HashSet<PhotoId>| {
            let mut names: Vec<String> = photos.iter().map(PhotoId::to_string).collect();
            names.sort();
            names
        };
        let manifest = Manifest {
            format: FORMAT,
            made_by: format!("pinhole {}", env!("CARGO_PKG_VERSION")),
            made_at: self.made_at.to_string(),
            schema: store::SCHEMA_VERSION,
            rows,
            photos: self.photos,
            bytes: self.bytes,
            deleted_meanwhile: names(&changes.deleted),
            missing: names(&changes.missing),
            damaged: changes.damaged,
            sha256: self.tar.digest(),
        };
        let text = serde_json::to_vec_pretty(&manifest)?;
        checksummed_folder::write(&mut self.tar, "", &[("manifest.json".to_owned(), text.into())])?;
        Ok((self.tar.finish()?, manifest))
    }
}

/// The buffer of one `rows.jsonl`, which holds rows of one table.
#[derive(Default)]
struct RowFile {
    table: Option<Table>,
    number: usize,
    rows: usize,
    text: Vec<u8>,
}

impl RowFile {
    fn is_full(&self, next: Table) -> bool {
        self.table.is_some_and(|table| table != next) || self.rows == MAX_ROWS || self.text.len() >= MAX_BYTES
    }

    fn add(&mut self, row: &ExportRow) -> io::Result<()> {
        if self.table != Some(row.table()) {
            self.number = 0;
        }
        self.table = Some(row.table());
        self.rows += 1;
        serde_json::to_writer(&mut self.text, row)?;
        self.text.push(b'\n');
        Ok(())
    }

    fn write<W: Write>(&mut self, to: &mut tar::Writer<W>) -> io::Result<()> {
        let Some(table) = self.table.filter(|_| self.rows > 0) else { return Ok(()) };
        self.number += 1;
        self.rows = 0;
        let text = Bytes::from(std::mem::take(&mut self.text));
        let folder = format!("facts/{table}/{:06}", self.number);
        checksummed_folder::write(to, &folder, &[("rows.jsonl".to_owned(), text)])
    }
}

/// Drops the rows of skipped photos, their posts and the likes of these, and unsets such profile photos.
/// Replaces the rows of photos that were rebuilt.
struct ChangeFilter<'a> {
    changes: &'a PhotoChanges,
    /// The posts of skipped photos.
    skipped_posts: HashSet<PostId>,
}

impl ChangeFilter<'_> {
    fn apply(&mut self, row: ExportRow) -> Option<ExportRow> {
        let is_skipped =
            |id: &PhotoId| self.changes.deleted.contains(id) || self.changes.missing.contains(id);
        match row {
            ExportRow::Photo(photo) if is_skipped(&photo.id) => None,
            ExportRow::Photo(photo) => {
                let corrected = self.changes.corrected.get(&photo.id).cloned();
                Some(ExportRow::Photo(corrected.unwrap_or(photo)))
            }
            ExportRow::User(mut user) => {
                user.photo_id = user.photo_id.filter(|id| !is_skipped(id));
                Some(ExportRow::User(user))
            }
            ExportRow::Post(post) if is_skipped(&post.photo_id) => {
                self.skipped_posts.insert(post.id);
                None
            }
            ExportRow::Like(like) if self.skipped_posts.contains(&like.post_id) => None,
            other => Some(other),
        }
    }
}
