//! Uploads: ingests a file and stores its photo, for a post or a profile.

use std::time::Duration;

use blobs::{PhotoFile, SpooledFile};
use bytes::Bytes;
use imaging::{FitMasters, Ingested, Masters, RemovedMetadata};
use model::{Alt, Focus, Photo, PhotoId, Refusal, Timestamp, ValidationError};
use store::{NewPhoto, Original};

use crate::rng::random;
use crate::scheduler::MemoryReservation;
use crate::upload_hook::UploadFingerprint;
use crate::{App, Client, Error, FairPermit};

/// Maintenance removed the claim of an upload that took too long; a retry succeeds.
pub(crate) const CLAIM_LOST: Error = Error::Busy("the blob store");

/// Too many uploads are in progress; or one lost its permit, because a user with fewer needed it.
pub const UPLOAD_BUSY: Error = Error::Busy("upload");

/// The parameters of an upload.
#[derive(Debug)]
pub struct Upload {
    pub photo: SpooledFile,
    pub alt: Option<Alt>,
    pub focus: Focus,
    /// For the fair share of the ingest queue.
    pub client: Client,
}

/// An ingested photo that is not stored yet: its row and its files.
pub(crate) struct PreparedPhoto {
    pub(crate) photo: NewPhoto,
    pub(crate) files: PreparedFiles,
    pub(crate) removed: RemovedMetadata,
    pub(crate) at: Timestamp,
}

/// The files of a photo before they are written to the blob store, and the reservation of their memory.
pub(crate) struct PreparedFiles {
    photo: PhotoId,
    files: Vec<(PhotoFile, Bytes)>,
    memory: MemoryReservation,
}

impl App {
    /// The permit of an upload, acquired before its body is read and held until it ends.
    pub fn begin_upload(&self, client: Client) -> Result<FairPermit, Error> {
        self.check_upload_space()?;
        self.0.uploads.try_acquire(client).ok_or(UPLOAD_BUSY)
    }

    /// Creates the temporary file of an upload.
    pub async fn spool(&self) -> Result<blobs::Spool, Error> {
        Ok(self.0.blobs.spool().await?)
    }

    pub fn max_upload(&self) -> u64 {
        self.0.settings.max_upload
    }

    /// Decodes the upload, encodes its masters and assigns an id. Stores nothing.
    pub(crate) async fn prepare(&self, upload: Upload) -> Result<PreparedPhoto, Error> {
        let Upload { photo, alt, focus, client } = upload;
        let sha256 = photo.sha256();
        let (ingested, mut memory) = self.ingest(client, photo, focus).await?;
        if let Some(hook) = &self.0.upload_hook {
            let Ingested { perceptual_hash, width, height, .. } = ingested;
            hook.check(UploadFingerprint { sha256, perceptual_hash, width, height }).await?;
        }
        // A square photo has but one square.
        let focus = if ingested.width == ingested.height { Focus::CENTRE } else { focus };
        let at = self.0.clock.now();
        let id = PhotoId::new(at, random()?);
        let Ingested { width, height, placeholder, perceptual_hash: _, masters, original, removed } =
            ingested;
        let Masters { squares, mut fits } = masters;
        let original = match self.0.settings.keep_originals {
            true => Some(original),
            // The whole photo is kept all the same, but no larger than its largest master.
            false => fits.drain(..).next().map(imaging::Original::of_master),
        };
        let original_row = original
            .as_ref()
            .map(|original| Original { format: original.format.name(), orientation: original.orientation });
        let squares = squares.into_iter().map(|master| (PhotoFile::Master(master.side), master.bytes));
        let original = original.map(|original| (PhotoFile::Original, original.bytes));
        let kept: Vec<_> = squares.chain(original).map(|(file, bytes)| (file, Bytes::from(bytes))).collect();
        let bytes_of = |files: &[(PhotoFile, Bytes)]| files.iter().map(|(_, file)| file.len() as u64).sum();
        // Derived files do not count.
        let bytes = bytes_of(&kept);
        let fits = fits.into_iter().map(|master| (PhotoFile::Fit(master.side), Bytes::from(master.bytes)));
        let files: Vec<_> = kept.into_iter().chain(fits).collect();
        memory.shrink_to(bytes_of(&files));

        let photo = Photo { id, width, height, placeholder: placeholder.into(), alt, focus };
        Ok(PreparedPhoto {
            photo: NewPhoto { photo, bytes, original: original_row },
            files: PreparedFiles { photo: id, files, memory },
            removed,
            at,
        })
    }

    /// Makes an upload atomic between blob store and database by the order claim (the recorded intent),
    /// files, row: after a crash at any point, maintenance finds the files by their claim. `commit` is the
    /// transaction that turns the claim into a row, started once the files are durable; `is_committed` tells
    /// whether it did. Must run [`detached`](crate::detached), since a cancelled request must not interrupt
    /// it.
    pub(crate) async fn store_photo<T>(
        &self,
        files: PreparedFiles,
        now: Timestamp,
        commit: impl Future<Output = Result<T, store::Error>>,
        is_committed: impl FnOnce(&T) -> bool,
    ) -> Result<T, Error> {
        let PreparedFiles { photo, files, memory } = files;
        self.check_upload_space()?;
        self.0.store.claim_photo(photo, now).await?;
        let put = self.0.blobs.put(photo, files).await;
        drop(memory);
        if let Err(error) = put {
            self.abandon_upload(photo, self.0.blobs.late_write_window()).await;
            return Err(error.into());
        }
        match commit.await {
            Ok(outcome) => {
                // Maintenance, which took the lost claim, may have deleted the files before they were
                // written.
                if !is_committed(&outcome) {
                    self.delete_photo_files(photo).await;
                }
                Ok(outcome)
            }
            Err(error) => {
                self.abandon_upload(photo, Duration::ZERO).await;
                Err(error.into())
            }
        }
    }

    /// Deletes the files of a failed upload at once, or schedules that for maintenance after
    /// `late_write_window`. Only a photo that still has its claim is deleted: without one, a commit reported
    /// as failed may have succeeded, and the files belong to its row.
    async fn abandon_upload(&self, photo: PhotoId, late_write_window: Duration) {
        let since = self.0.clock.now().plus(late_write_window);
        match self.0.store.abandon_photo(photo, since).await {
            Ok(true) if late_write_window.is_zero() => self.delete_photo_files(photo).await,
            Ok(_) => {}
            Err(error) => tracing::warn!(%photo, %error, "failed upload left to maintenance"),
        }
    }

    async fn ingest(
        &self,
        client: Client,
        file: SpooledFile,
        focus: Focus,
    ) -> Result<(Ingested, MemoryReservation), Error> {
        let pool = &self.0.ingest;
        // The largest one takes the place of an original that is not kept.
        let fits = if self.0.settings.keep_originals { FitMasters::Initial } else { FitMasters::All };
        let limits = self.0.settings.image_limits();
        // The header determines the memory of the decode. The bytes are dropped and read again for it, since
        // a job that waits for memory must hold none.
        let length = file.length();
        let probe = move || {
            let probe = file.read().map(|bytes| imaging::probe(&bytes, &limits));
            (file, probe)
        };
        let (read, (file, probe)) = pool.run(client, length, probe).await.map_err(too_slow)?;
        drop(read);
        let needed = probe.map_err(Error::internal)?.map_err(unreadable)?.memory + length;
        let decode = move || file.read().map(|bytes| imaging::ingest(&bytes, focus, fits, &limits));
        let (memory, ingested) = pool.run(client, needed, decode).await.map_err(too_slow)?;
        Ok((ingested.map_err(Error::internal)?.map_err(unreadable)?, memory))
    }
}

/// A timeout is reported as an invalid photo: no ordinary photo takes that long to decode.
pub(crate) fn too_slow(error: Error) -> Error {
    let advice = "the photo takes too long to read: save it again, as JPEG for instance, and send the copy";
    match error {
        Error::TimedOut(_) => {
            Error::invalid("photo", ValidationError::refused(Refusal::ImageTooSlow, advice))
        }
        other => other,
    }
}

pub(crate) fn unreadable(error: imaging::Error) -> Error {
    let rule = |refusal| ValidationError::refused(refusal, error.to_string());
    let rule = match error {
        imaging::Error::Internal(_) => return Error::internal(error),
        imaging::Error::Unsupported(_) => rule(Refusal::UnsupportedImage),
        imaging::Error::Damaged(_) => rule(Refusal::ImageDamaged),
        imaging::Error::TooLarge { max_pixels, .. } => rule(Refusal::TooManyPixels).with_limit(max_pixels),
        imaging::Error::TooLong { max_side, .. } => rule(Refusal::SideTooLong).with_limit(max_side.into()),
    };
    Error::invalid("photo", rule)
}
