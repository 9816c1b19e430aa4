//! A photo whose files are not all known to be intact: what is damaged, and what can be rebuilt.

use app::{RebuiltPhoto, is_decodable, rebuild_masters};
use blobs::{PhotoFile, PhotoFiles};
use bytes::Bytes;
use model::master_sides;
use store::PhotoRow;

use crate::error::Error;

#[derive(Debug)]
pub(crate) struct ExaminedPhoto {
    pub(crate) row: PhotoRow,
    /// Files that fail their checksum, cannot be decoded, or are missing.
    pub(crate) damaged: Vec<PhotoFile>,
    /// Files without a checksum that can be decoded.
    pub(crate) unverified: Vec<(PhotoFile, Bytes)>,
    /// `None` if no master can be rebuilt, because no file is intact.
    pub(crate) rebuilt: Option<RebuiltPhoto>,
}

impl ExaminedPhoto {
    /// Decodes, so it runs on a thread that may block.
    pub(crate) async fn examine(row: PhotoRow, files: PhotoFiles) -> Result<Self, Error> {
        let examined = tokio::task::spawn_blocking(move || Self::examine_blocking(row, files)).await;
        examined.map_err(|error| Error::ThreadFailed(error.to_string()))
    }

    pub(crate) fn examine_blocking(row: PhotoRow, files: PhotoFiles) -> Self {
        let PhotoFiles { mut intact, unverified, .. } = files;
        intact.retain(|(file, bytes)| !unverified.contains(file) || is_decodable(&row, *file, bytes));
        let masters = master_sides(row.width.min(row.height)).map(PhotoFile::Master);
        let expected = masters.chain(row.original.is_some().then_some(PhotoFile::Original));
        let damaged = expected.filter(|wanted| intact.iter().all(|(file, _)| file != wanted)).collect();
        let rebuilt = rebuild_masters(&row, &intact);
        let unverified = intact.into_iter().filter(|(file, _)| unverified.contains(file)).collect();
        Self { row, damaged, unverified, rebuilt }
    }

    /// One line for each damaged file, with what became of it.
    pub(crate) fn describe(&self) -> impl Iterator<Item = (PhotoFile, String)> {
        self.damaged.iter().map(|file| (*file, format!("{}/{file} {}", self.row.id, self.outcome(*file))))
    }

    fn outcome(&self, file: PhotoFile) -> String {
        let rebuilt = self.rebuilt.iter().flat_map(|photo| &photo.rebuilt);
        match rebuilt.into_iter().find(|master| PhotoFile::Master(master.side) == file) {
            Some(master) if master.is_upscaled() => {
                format!("is damaged or lost; rebuilt from the smaller {}, so detail is lost", master.source)
            }
            Some(master) => format!("is damaged or lost; rebuilt from {}", master.source),
            None if self.rebuilt.is_some() => "is damaged or lost; the images are intact".to_owned(),
            None => "is damaged or lost".to_owned(),
        }
    }

    /// The row of the photo as it is after the rebuild.
    pub(crate) fn corrected_row(&self, photo: &RebuiltPhoto) -> PhotoRow {
        let mut row = PhotoRow { bytes: photo.bytes(), ..self.row.clone() };
        if !photo.is_complete(&self.row) {
            (row.original, row.orientation) = (None, None);
        }
        row
    }
}
