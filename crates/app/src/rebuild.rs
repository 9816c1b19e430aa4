//! Rebuilds the masters of a photo that are damaged or lost, from its original or from another master.

use std::sync::atomic::Ordering;

use blobs::{PhotoFile, PhotoFiles};
use bytes::Bytes;
use imaging::{Limits, OutputFormat};
use model::{MAX_PIXELS, PhotoId, master_sides};
use store::PhotoRow;

use crate::{App, Client, Error};

/// The files of a photo after a rebuild.
#[derive(Debug)]
pub struct RebuiltPhoto {
    /// Every master, the largest first, and the original if it is intact.
    pub files: Vec<(PhotoFile, Bytes)>,
    pub rebuilt: Vec<RebuiltMaster>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RebuiltMaster {
    pub side: u32,
    /// The file from which it was rebuilt.
    pub source: PhotoFile,
}

impl RebuiltMaster {
    /// Whether its source has fewer pixels than the lost master had.
    pub fn is_upscaled(&self) -> bool {
        matches!(self.source, PhotoFile::Master(side) if side < self.side)
    }
}

impl RebuiltPhoto {
    /// The size of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, bytes)| bytes.len() as u64).sum()
    }

    /// Whether it has the original that the row names; all masters are there in any case.
    pub fn is_complete(&self, row: &PhotoRow) -> bool {
        row.original.is_none() || find(&self.files, PhotoFile::Original).is_some()
    }
}

/// Rebuilds the masters that `intact` lacks. `None` if it has no file that can be decoded.
pub fn rebuild_masters(row: &PhotoRow, intact: &[(PhotoFile, Bytes)]) -> Option<RebuiltPhoto> {
    let mut photo = RebuiltPhoto { files: Vec::new(), rebuilt: Vec::new() };
    let mut of_original = Vec::new();
    for side in sides(row) {
        let (file, source) = (PhotoFile::Master(side), PhotoFile::Original);
        if let Some(bytes) = find(intact, file) {
            photo.files.push((file, bytes.clone()));
            continue;
        }
        if of_original.is_empty()
            && let Some(original) = find(intact, PhotoFile::Original)
        {
            of_original =
                masters_of_original(row, original).map(|masters| masters.squares).unwrap_or_default();
        }
        if let Some(master) = of_original.iter().find(|master| master.side == side) {
            photo.files.push((file, Bytes::copy_from_slice(&master.bytes)));
            photo.rebuilt.push(RebuiltMaster { side, source });
            continue;
        }
        // The next larger master, which is in `photo` already; else the largest of the smaller ones.
        let smaller = intact.iter().filter(|(file, _)| *file > PhotoFile::Master(side));
        let sources = photo.files.iter().rev().chain(smaller);
        let mut masters = sources.filter(|(file, _)| *file != PhotoFile::Original);
        let (source, master) = masters.find_map(|(source, bytes)| {
            Some((*source, imaging::master_of_master(bytes, (side, side)).ok()?))
        })?;
        photo.files.push((file, master.bytes.into()));
        photo.rebuilt.push(RebuiltMaster { side, source });
    }
    let original = intact.iter().filter(|(file, _)| *file == PhotoFile::Original && row.original.is_some());
    photo.files.extend(original.cloned());
    Some(photo)
}

/// Whether a file without a checksum can be decoded; one with a checksum needs no such test.
pub fn is_decodable(row: &PhotoRow, file: PhotoFile, bytes: &Bytes) -> bool {
    match file {
        PhotoFile::Master(_) | PhotoFile::Fit(_) => imaging::master_of_master(bytes, (1, 1)).is_ok(),
        PhotoFile::Original => masters_of_original(row, bytes).is_some(),
        PhotoFile::Part { .. } => false,
    }
}

pub(crate) fn masters_of_original(row: &PhotoRow, original: &[u8]) -> Option<imaging::Masters> {
    let focus = row.focus.unwrap_or_default();
    imaging::masters_of_original(original, orientation(row), focus, &ORIGINAL_LIMITS).ok()
}

/// The EXIF orientation of the original.
pub(crate) fn orientation(row: &PhotoRow) -> u8 {
    row.orientation.and_then(|value| u8::try_from(value).ok()).unwrap_or(1)
}

/// The memory of [`rebuild_masters`], without its arguments.
fn rebuild_memory(row: &PhotoRow, intact: &[(PhotoFile, Bytes)]) -> u64 {
    let original = find(intact, PhotoFile::Original);
    let probe = original.and_then(|original| imaging::probe(original, &ORIGINAL_LIMITS).ok());
    let largest = sides(row).next().unwrap_or(1);
    let masters = imaging::render_memory((largest, largest), (largest, largest), OutputFormat::Jpeg);
    row.bytes + probe.map_or(0, |probe| probe.memory).max(masters)
}

/// Of originals: they were accepted under the limits of their time, and a file has more pixels than its photo
/// if it is cropped. The service reserves the memory that `probe` returns.
pub(crate) const ORIGINAL_LIMITS: Limits = Limits { max_pixels: MAX_PIXELS };

fn sides(row: &PhotoRow) -> impl Iterator<Item = u32> + use<> {
    master_sides(row.width.min(row.height))
}

fn find(files: &[(PhotoFile, Bytes)], wanted: PhotoFile) -> Option<&Bytes> {
    files.iter().find(|(file, _)| *file == wanted).map(|(_, bytes)| bytes)
}

/// What is wrong with a master.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Damage {
    Missing,
    Checksum,
    /// It has no checksum, and cannot be decoded.
    Undecodable,
}

impl App {
    /// Returns a master that is damaged or lost, rebuilt from the original or from a larger master, and
    /// stores it. All other lost masters of the photo are rebuilt with it.
    pub(crate) async fn rebuild_master(
        &self,
        client: Client,
        photo: PhotoId,
        side: u32,
        damage: Damage,
    ) -> Result<Bytes, Error> {
        // One at a time: damage is rare, and concurrent requests for one photo rebuild it once.
        let _rebuild = self.0.rebuilds.lock().await;
        let row = self.0.store.photo_row(photo).await?.ok_or(Error::NO_SUCH_PHOTO)?;
        let PhotoFiles { mut intact, unverified, .. } = self.0.blobs.files(photo).await?;
        let wanted = PhotoFile::Master(side);
        if damage == Damage::Undecodable {
            intact.retain(|(file, _)| *file != wanted || !unverified.contains(file));
        }
        if let Some(bytes) = find(&intact, wanted) {
            // Another request has rebuilt it.
            return Ok(bytes.clone());
        }
        tracing::error!(%photo, file = %wanted, ?damage, "photo file damaged or lost; rebuilding it");
        let needed = rebuild_memory(&row, &intact);
        let work = move || (rebuild_masters(&row, &intact), row);
        let (_memory, (rebuilt, row)) = self.0.ingest.run(client, needed, work).await?;
        let lost = || Error::internal(LostMaster { photo, side });
        let rebuilt = rebuilt.ok_or_else(lost)?;
        if rebuilt.rebuilt.iter().any(|master| master.side == side && master.is_upscaled()) {
            return Err(lost());
        }
        let bytes = find(&rebuilt.files, wanted).ok_or_else(lost)?.clone();
        self.store_rebuilt(&row, &rebuilt).await;
        Ok(bytes)
    }

    /// An error is logged and not returned: the request is served from memory, and a later one tries again.
    async fn store_rebuilt(&self, row: &PhotoRow, photo: &RebuiltPhoto) {
        // An upscaled master would hide from the operator that detail is lost.
        for master in photo.rebuilt.iter().filter(|master| !master.is_upscaled()) {
            let file = PhotoFile::Master(master.side);
            let Some(bytes) = find(&photo.files, file) else { continue };
            match self.0.blobs.replace(row.id, file, bytes.clone()).await {
                Ok(()) => {
                    self.0.rebuilt_files.fetch_add(1, Ordering::Relaxed);
                    tracing::warn!(photo = %row.id, %file, source = %master.source, "photo file rebuilt");
                }
                Err(error) => tracing::error!(photo = %row.id, %file, %error, "rebuilt file not stored"),
            }
        }
        if let Err(error) = self.record_rebuilt(row, photo).await {
            tracing::error!(photo = %row.id, %error, "rebuilt photo not recorded");
        }
    }

    async fn record_rebuilt(&self, row: &PhotoRow, photo: &RebuiltPhoto) -> Result<(), Error> {
        // A delete may have removed the files before the rebuilt ones were written.
        if self.0.store.photo_row(row.id).await?.is_none() {
            return Ok(self.0.blobs.delete(row.id).await?);
        }
        // With a file still missing, the size in the row tells the operator so.
        if photo.is_complete(row) && !photo.rebuilt.iter().any(RebuiltMaster::is_upscaled) {
            self.0.store.set_photo_bytes(row.id, photo.bytes()).await?;
        }
        Ok(())
    }
}

#[derive(Debug, thiserror::Error)]
#[error(
    "the master of photo {photo} with {side} pixels is lost, and neither its original nor a larger master is left; \
     restore it from a backup, or run `pinhole doctor --deep --fix`"
)]
struct LostMaster {
    photo: PhotoId,
    side: u32,
}
