//! The archive writer: a copy of the rows, then photos, then the rows, then the manifest.

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

    /// Writes all rows of the snapshot, so that an archive without its end has them. They come before the
    /// photos.
    pub(crate) fn copy_of_rows(&mut self, spooled: &SpooledRows) -> io::Result<()> {
        self.rows("copy", spooled.rows()).map(drop)
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
        let PhotoChanges { deleted, missing, corrected, damaged } = changes;
        let mut filter = ChangeFilter::new(&deleted | &missing, corrected);
        let filtered = spooled.rows().filter_map(|row| row.map(|row| filter.apply(row)).transpose());
        let rows = self.rows("facts", filtered)?;
        let missing_posts = filter.skipped_posts.iter().filter(|(_, photo)| missing.contains(photo));
        let missing_posts = missing_posts.map(|(post, _)| post.0).collect();

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
            deleted_meanwhile: names(&deleted),
            missing: names(&missing),
            missing_posts,
            damaged,
            sha256: self.tar.digest(),
        };
        let text = serde_json::to_vec_pretty(&manifest)?;
        checksummed_folder::write(&mut self.tar, "", &[("manifest.json".to_owned(), text.into())])?;
        Ok((self.tar.finish()?, manifest))
    }

    /// Writes rows below a folder, and returns their number by table.
    fn rows(
        &mut self,
        folder: &str,
        rows: impl Iterator<Item = io::Result<ExportRow>>,
    ) -> io::Result<BTreeMap<String, u64>> {
        let mut file = RowFile::default();
        let mut counts: BTreeMap<String, u64> = Table::ALL.map(|table| (table.name().to_owned(), 0)).into();
        for row in rows {
            let row = row?;
            if file.is_full(row.table()) {
                file.write(folder, &mut self.tar)?;
            }
            file.add(&row)?;
            *counts.entry(row.table().name().to_owned()).or_default() += 1;
        }
        file.write(folder, &mut self.tar)?;
        Ok(counts)
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

    fn write<W: Write>(&mut self, folder: &str, to: &mut tar::Writer<W>) -> io::Result<()> {
        let Some(table) = self.table.filter(|_| self.rows > 0) else { return Ok(()) };
        self.number += 1;
        self.rows = 0;
        let text = Bytes::from(std::mem::take(&mut self.text));
        let folder = format!("{folder}/{table}/{:06}", self.number);
        checksummed_folder::write(to, &folder, &[("rows.jsonl".to_owned(), text)])
    }
}

/// Drops the rows of skipped photos, their posts and what refers to these, and unsets such profile photos.
/// Replaces the rows of photos that were rebuilt.
pub(super) struct ChangeFilter {
    skipped: HashSet<PhotoId>,
    corrected: HashMap<PhotoId, PhotoRow>,
    /// The posts of skipped photos.
    skipped_posts: BTreeMap<PostId, PhotoId>,
}

impl ChangeFilter {
    pub(super) fn new(skipped: HashSet<PhotoId>, corrected: HashMap<PhotoId, PhotoRow>) -> Self {
        Self { skipped, corrected, skipped_posts: BTreeMap::new() }
    }

    pub(super) fn apply(&mut self, row: ExportRow) -> Option<ExportRow> {
        match row {
            ExportRow::Photo(photo) if self.skipped.contains(&photo.id) => None,
            ExportRow::Photo(photo) => {
                let corrected = self.corrected.get(&photo.id).cloned();
                Some(ExportRow::Photo(corrected.unwrap_or(photo)))
            }
            ExportRow::User(mut user) => {
                user.photo_id = user.photo_id.filter(|id| !self.skipped.contains(id));
                Some(ExportRow::User(user))
            }
            ExportRow::Post(post) if self.skipped.contains(&post.photo_id) => {
                self.skipped_posts.insert(post.id, post.photo_id);
                None
            }
            ExportRow::Like(like) if self.skipped_posts.contains_key(&like.post_id) => None,
            ExportRow::HiddenPost(hidden) if self.skipped_posts.contains_key(&hidden.post_id) => None,
            other => Some(other),
        }
    }
}
