//! Photos, and their rendered images.

use std::sync::atomic::Ordering;

use blobs::PhotoFile;
use bytes::Bytes;
use imaging::OutputFormat;
use model::{PhotoId, Size, master_for};

use crate::rebuild::Damage;
use crate::scheduler::SlotPermit;
use crate::variants::Variant;
use crate::{App, Caller, Client, Error, Image};

/// A photo that existed at its lookup, with the size that a render needs.
#[derive(Debug, Clone, Copy)]
pub struct PhotoHandle {
    id: PhotoId,
    short_side: u32,
}

impl App {
    /// Looks the photo up. Called before every image, so a deleted photo is not found although its images may
    /// still be cached.
    pub async fn photo(&self, id: PhotoId) -> Result<PhotoHandle, Error> {
        let fill = async || {
            let found = self.0.store.photo_with_owner(id).await?;
            let shown = found.filter(|(_, owner)| owner.is_shown);
            Ok::<_, Error>(shown.ok_or(Error::NO_SUCH_PHOTO)?.0.short_side())
        };
        let short_side = self.0.caches.photos.get_or_fill(id, fill).await?;
        Ok(PhotoHandle { id, short_side })
    }

    /// Looks up a photo that may be hidden, for its owner and for moderators.
    pub async fn hidden_photo(&self, caller: &Caller, id: PhotoId) -> Result<PhotoHandle, Error> {
        let found = self.0.store.photo_with_owner(id).await?;
        let seen = found.filter(|(_, owner)| caller.is_moderator() || owner.user == caller.user.id);
        let (photo, _) = seen.ok_or(Error::NO_SUCH_PHOTO)?;
        Ok(PhotoHandle { id, short_side: photo.short_side() })
    }

    /// Fails if the photo has been deleted since its lookup.
    async fn check_photo(&self, id: PhotoId) -> Result<(), Error> {
        self.0.store.photo(id).await?.map(drop).ok_or(Error::NO_SUCH_PHOTO)
    }

    /// The photo as a square image.
    pub async fn image(
        &self,
        client: Client,
        photo: &PhotoHandle,
        size: Size,
        format: OutputFormat,
    ) -> Result<Image, Error> {
        let variant = Variant { photo: photo.id, size, format };
        let short_side = photo.short_side;
        let render = || {
            let app = self.clone();
            async move { app.find_or_render(client, variant, short_side).await }
        };
        self.0.variants.get_or_render(variant, render).await
    }

    /// The strong ETag of the bytes that [`App::image`] returns, with its quotes.
    pub fn image_etag(photo: &PhotoHandle, size: Size, format: OutputFormat) -> String {
        Variant { photo: photo.id, size, format }.etag()
    }

    /// Deletes the files and cached images of a photo whose delete is pending. An error is logged and not
    /// returned: the delete stays pending, and maintenance tries again.
    pub(crate) async fn delete_photo_files(&self, photo: PhotoId) {
        // An error of the cache does not keep the photo's files.
        let (images, files) = (self.remove_images(photo).await, self.0.blobs.delete(photo).await);
        let removed = match images.and(files) {
            Ok(()) => self.0.store.finish_delete(photo).await.map_err(Error::from),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = removed {
            tracing::warn!(%photo, %error, "photo file deletion failed; maintenance retries");
        }
    }

    /// Removes the images of a deleted photo from the caches of this node.
    pub(crate) async fn remove_images(&self, photo: PhotoId) -> Result<(), blobs::Error> {
        self.0.variants.invalidate(photo);
        self.0.cache.remove(photo).await
    }

    /// Reads the image from the disk cache, or renders it and inserts it there.
    async fn find_or_render(
        &self,
        client: Client,
        variant: Variant,
        short_side: u32,
    ) -> Result<Bytes, Error> {
        let Variant { photo, size, format } = variant;
        let key = blobs::CacheKey { photo, size, format: format.name() };
        let (bytes, insert) = match self.0.cache.get(key).await {
            Some(bytes) => (bytes, None),
            None => {
                let bytes = self.render(client, variant, short_side).await?;
                (bytes, Some(self.0.cache.begin_insert(key)))
            }
        };
        // A delete removes the row before it invalidates the images. If the row still exists here, the
        // invalidation comes later: it discards this fill of the memory cache and cancels the insert into the
        // disk cache.
        self.check_photo(photo).await?;
        if let Some(insert) = insert {
            self.0.cache.insert(insert, bytes.clone());
        }
        Ok(bytes)
    }

    async fn render(&self, client: Client, variant: Variant, short_side: u32) -> Result<Bytes, Error> {
        let Variant { photo, size, .. } = variant;
        let side = master_for(short_side, size);
        let damage = match self.0.blobs.file(photo, PhotoFile::Master(side)).await? {
            None => Damage::Missing,
            Some(master) => {
                let permit = self.render_permit(client, side, size, master.length()).await?;
                // Read with its memory reserved, but before the job is on a thread: a bucket may be slow.
                match master.read().await {
                    Ok(master) => match self.render_master(permit, master, variant).await? {
                        Ok(bytes) => return Ok(bytes),
                        Err(_) => Damage::Undecodable,
                    },
                    Err(blobs::Error::Damaged { .. }) => Damage::Checksum,
                    Err(error) => {
                        self.check_photo(photo).await?;
                        return Err(error.into());
                    }
                }
            }
        };
        self.check_photo(photo).await?;
        let master = self.rebuild_master(client, photo, side, damage).await?;
        let permit = self.render_permit(client, side, size, master.len() as u64).await?;
        self.render_master(permit, master, variant).await?.map_err(Error::internal)
    }

    async fn render_permit(
        &self,
        client: Client,
        side: u32,
        size: Size,
        length: u64,
    ) -> Result<SlotPermit, Error> {
        self.0.render.acquire(client, imaging::render_memory(side, size.side()) + length).await
    }

    async fn render_master(
        &self,
        permit: SlotPermit,
        master: Bytes,
        variant: Variant,
    ) -> Result<Result<Bytes, imaging::Error>, Error> {
        let render = move || imaging::render(&master, variant.size, variant.format);
        let (_, rendered) = self.0.render.run_admitted(permit, render).await?;
        self.0.renders.fetch_add(1, Ordering::Relaxed);
        Ok(rendered.map(Bytes::from))
    }
}
