//! Originals: what is made of them after the upload, and their download.

use blobs::{CHUNK, PhotoFile, SpooledFile};
use bytes::Bytes;
use imaging::OutputFormat;
use model::{PhotoId, Refusal};
use store::PhotoRow;

use crate::photo_stream::{PhotoStream, StoredPhoto};
use crate::rebuild::{ORIGINAL_LIMITS, masters_of_original, orientation};
use crate::{App, Caller, Client, Error};

/// Memory of a decode that is reserved before the original is read, which is enough for most photos.
const BYTES_PER_PIXEL: u64 = 8;
const FIXED_BYTES: u64 = 32 << 20;

const NOT_SHARED: Error =
    Error::Forbidden(Refusal::OriginalNotShared, "the author does not share the original of this photo");

const NOT_KEPT: Error = Error::NotFound("the original of this photo is not kept");

/// The right to read the original of a photo.
#[derive(Debug, Clone, Copy)]
pub struct OriginalAccess(PhotoId);

impl App {
    /// Fails unless the caller may read the original of a photo: its owner may, and all if the owner shares
    /// it.
    pub async fn check_original(
        &self,
        caller: Option<&Caller>,
        id: PhotoId,
    ) -> Result<OriginalAccess, Error> {
        let found = self.0.store.photo_with_owner(id).await?;
        let is_owner = |user| caller.is_some_and(|caller| caller.user.id == user);
        let (_, owner) =
            found.filter(|(_, owner)| owner.is_shown || is_owner(owner.user)).ok_or(Error::NO_SUCH_PHOTO)?;
        match is_owner(owner.user) || owner.shares_original {
            true => Ok(OriginalAccess(id)),
            false => Err(NOT_SHARED),
        }
    }

    /// The original of a photo. Its orientation is in it again.
    pub async fn original(
        &self,
        client: Client,
        OriginalAccess(id): OriginalAccess,
    ) -> Result<PhotoStream, Error> {
        let row = self.0.store.photo_row(id).await?.ok_or(Error::NO_SUCH_PHOTO)?;
        self.open_original(client, row).await?.ok_or(NOT_KEPT)
    }

    /// Copies an original, with its orientation in it again, to the staging folder. `None` without an
    /// original.
    pub(crate) async fn copy_original(
        &self,
        client: Client,
        id: PhotoId,
    ) -> Result<Option<SpooledFile>, Error> {
        let Some(row) = self.0.store.photo_row(id).await? else { return Ok(None) };
        let Some(mut original) = self.open_original(client, row).await? else { return Ok(None) };
        let mut spool = self.spool().await?;
        while let Some(bytes) = original.next().await? {
            spool.write(&bytes).await?;
        }
        Ok(Some(spool.finish().await?))
    }

    /// `None` without an original.
    async fn open_original(&self, client: Client, row: PhotoRow) -> Result<Option<PhotoStream>, Error> {
        if row.original.is_none() {
            return Ok(None);
        }
        // It is read to verify it: that takes its turn among those of other clients.
        let _permit = self.0.ingest.acquire(client, CHUNK).await?;
        match self.open_photo_file(row.id, PhotoFile::Original, orientation(&row)).await? {
            StoredPhoto::Intact(original) => Ok(Some(original)),
            StoredPhoto::Damaged => Err(Error::OriginalDamaged),
            StoredPhoto::Missing => Ok(None),
        }
    }

    /// Makes the masters of the whole photo from its original, stores them, and returns one of them. `None`
    /// without an original.
    pub(crate) async fn make_fit_master(
        &self,
        client: Client,
        photo: PhotoId,
        side: u32,
    ) -> Result<Option<Bytes>, Error> {
        let row = self.0.store.photo_row(photo).await?.ok_or(Error::NO_SUCH_PHOTO)?;
        let work = |original: &[u8], row: &PhotoRow| masters_of_original(row, original);
        let Some(masters) = self.with_original(client, &row, 0, work).await?.flatten() else {
            return Ok(None);
        };
        let mut wanted = None;
        for master in masters.fits {
            let (is_wanted, bytes) = (master.side == side, Bytes::from(master.bytes));
            if is_wanted {
                wanted = Some(bytes.clone());
            }
            // Not returned: the request is served from memory, and a later one tries again.
            if let Err(error) = self.0.blobs.replace(photo, PhotoFile::Fit(master.side), bytes).await {
                tracing::warn!(%photo, side = master.side, %error, "master of the whole photo not stored");
            }
        }
        // A delete may have removed the files before these were written.
        if self.0.store.photo_row(photo).await?.is_none() {
            self.0.blobs.delete(photo).await?;
            return Err(Error::NO_SUCH_PHOTO);
        }
        Ok(wanted)
    }

    /// Renders the whole photo at a size beyond its largest master. `None` without an original.
    pub(crate) async fn render_original(
        &self,
        client: Client,
        photo: PhotoId,
        size: (u32, u32),
        format: OutputFormat,
    ) -> Result<Option<Bytes>, Error> {
        let row = self.0.store.photo_row(photo).await?.ok_or(Error::NO_SUCH_PHOTO)?;
        let extra = imaging::render_memory((1, 1), size, format);
        let work = move |original: &[u8], row: &PhotoRow| {
            imaging::render_original(original, orientation(row), size, format, &ORIGINAL_LIMITS).ok()
        };
        Ok(self.with_original(client, &row, extra, work).await?.flatten().map(Bytes::from))
    }

    /// Runs `work` on the original of a photo, with the memory of a decode and `extra` bytes reserved. `None`
    /// if there is no original, or it is damaged.
    async fn with_original<T: Send + 'static>(
        &self,
        client: Client,
        row: &PhotoRow,
        extra: u64,
        work: impl FnOnce(&[u8], &PhotoRow) -> T + Send + 'static,
    ) -> Result<Option<T>, Error> {
        if row.original.is_none() {
            return Ok(None);
        }
        let pixels = u64::from(row.width) * u64::from(row.height);
        let mut needed = BYTES_PER_PIXEL * pixels + FIXED_BYTES + extra;
        loop {
            let Some(reader) = self.0.blobs.file(row.id, PhotoFile::Original).await? else { return Ok(None) };
            let permit = self.0.ingest.acquire(client, needed + reader.length()).await?;
            let bytes = match reader.read().await {
                Ok(bytes) => bytes,
                Err(blobs::Error::Damaged { .. }) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            let Ok(probe) = imaging::probe(&bytes, &ORIGINAL_LIMITS) else { return Ok(None) };
            if probe.memory + extra > needed {
                // A job that waits for memory must hold none, so the original is read again.
                needed = probe.memory + extra;
                continue;
            }
            let row = row.clone();
            let (_, done) = self.0.ingest.run_admitted(permit, move || work(&bytes, &row)).await?;
            return Ok(Some(done));
        }
    }
}
