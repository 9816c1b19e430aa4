//! Photos, and their rendered images.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use blobs::PhotoFile;
use bytes::Bytes;
use imaging::OutputFormat;
use model::{ImageSize, PhotoId, Size, fit_dimensions, fit_master_sides, master_sides, smallest_sufficient};
use store::Key;

use crate::memo::Sources;
use crate::rebuild::Damage;
use crate::scheduler::SlotPermit;
use crate::variants::Variant;
use crate::{App, Caller, Client, Error, Image};

/// A photo that existed at its lookup, with the size that a render needs.
#[derive(Debug, Clone, Copy)]
pub struct PhotoHandle {
    id: PhotoId,
    width: u32,
    height: u32,
}

impl PhotoHandle {
    pub(crate) fn variant(&self, size: ImageSize, format: OutputFormat) -> Variant {
        let size = match size {
            ImageSize::Fit(fit) => ImageSize::Fit(fit.for_photo(self.width, self.height)),
            ImageSize::Square(_) => size,
        };
        Variant { photo: self.id, size, format }
    }

    /// The width and height of an image.
    pub(crate) fn dimensions(&self, size: ImageSize) -> (u32, u32) {
        size.dimensions(self.width, self.height)
    }

    /// The master from which an image is rendered.
    pub(crate) fn master(&self, size: ImageSize) -> Master {
        let (longest, _) = self.dimensions(size);
        match size {
            ImageSize::Fit(size) if self.width != self.height => {
                let sides = fit_master_sides(self.width, self.height);
                let side = smallest_sufficient(sides, size.longest());
                Master { file: PhotoFile::Fit(side), size: fit_dimensions(self.width, self.height, side) }
            }
            _ => self.square_master(longest),
        }
    }

    fn square_master(&self, side: u32) -> Master {
        let side = smallest_sufficient(master_sides(self.width.min(self.height)), side);
        Master { file: PhotoFile::Master(side), size: (side, side) }
    }
}

/// A stored image, and its width and height.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Master {
    pub(crate) file: PhotoFile,
    pub(crate) size: (u32, u32),
}

impl App {
    /// Looks the photo up. Called before every image, so a deleted photo is not found although its images may
    /// still be cached.
    pub async fn photo(&self, id: PhotoId) -> Result<PhotoHandle, Error> {
        let sources = self.sources();
        let fill = async |sources: Arc<Sources>| {
            sources.add(Key::photo(id));
            let found = self.0.store.photo_with_owner(id).await?;
            if let Some((_, owner)) = &found {
                sources.add(Key::photos_of(owner.user));
            }
            let shown = found.filter(|(_, owner)| owner.is_shown);
            let (photo, _) = shown.ok_or(Error::NO_SUCH_PHOTO)?;
            Ok::<_, Error>((photo.width, photo.height))
        };
        let found = self.0.caches.photos.get(&sources, id, fill).await;
        let (width, height) = self.settle(&sources, found).await?;
        Ok(PhotoHandle { id, width, height })
    }

    /// Looks up a photo that may be hidden, for its owner and for moderators.
    pub async fn hidden_photo(&self, caller: &Caller, id: PhotoId) -> Result<PhotoHandle, Error> {
        let found = self.0.store.photo_with_owner(id).await?;
        let seen = found.filter(|(_, owner)| caller.is_moderator() || owner.user == caller.user.id);
        let (photo, _) = seen.ok_or(Error::NO_SUCH_PHOTO)?;
        Ok(PhotoHandle { id, width: photo.width, height: photo.height })
    }

    /// Fails if the photo has been deleted since its lookup.
    pub(crate) async fn check_photo(&self, id: PhotoId) -> Result<(), Error> {
        self.0.store.photo(id).await?.map(drop).ok_or(Error::NO_SUCH_PHOTO)
    }

    /// The photo as an image of this size.
    pub async fn image(
        &self,
        client: Client,
        photo: &PhotoHandle,
        size: ImageSize,
        format: OutputFormat,
    ) -> Result<Image, Error> {
        let (photo, variant) = (*photo, photo.variant(size, format));
        let render = || {
            let app = self.clone();
            async move { app.find_or_render(client, photo, variant).await }
        };
        self.0.variants.get_or_render(variant, render).await
    }

    /// The strong ETag of the bytes that [`App::image`] returns, with its quotes.
    pub fn image_etag(photo: &PhotoHandle, size: ImageSize, format: OutputFormat) -> String {
        photo.variant(size, format).etag()
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
        self.0.variants.remove(photo);
        self.0.cache.remove(photo).await
    }

    /// Reads the image from the disk cache, or renders it and inserts it there.
    async fn find_or_render(
        &self,
        client: Client,
        photo: PhotoHandle,
        variant: Variant,
    ) -> Result<Bytes, Error> {
        let key = variant.cache_key();
        let (bytes, insert) = match self.0.cache.get(key).await {
            Some(bytes) => (bytes, None),
            None => {
                let bytes = self.render(client, photo, variant).await?;
                (bytes, Some(self.0.cache.begin_insert(key)))
            }
        };
        // A delete removes the row before its key is published and the images are removed. If the row still
        // exists here, that comes later: it makes this fill stale and cancels the insert into the
        // disk cache.
        self.check_photo(variant.photo).await?;
        if let Some(insert) = insert {
            self.0.cache.insert(insert, bytes.clone());
        }
        Ok(bytes)
    }

    async fn render(&self, client: Client, photo: PhotoHandle, variant: Variant) -> Result<Bytes, Error> {
        let PhotoHandle { id, width, height } = photo;
        let format = variant.format;
        let (master, mut size) = (photo.master(variant.size), photo.dimensions(variant.size));
        if size.0.max(size.1) > Size::MAX.into() {
            if let Some(bytes) = self.render_original(client, id, size, format).await? {
                return Ok(bytes);
            }
            // Never enlarged: without its original, the largest master is all there is.
            size = master.size;
        }
        if let Some(bytes) = self.render_from(client, id, Render { master, size, format }).await? {
            return Ok(bytes);
        }
        // A photo from before there were masters of the whole photo, without its original.
        let side = width.min(height).min(size.0.max(size.1));
        let render = Render { master: photo.square_master(side), size: (side, side), format };
        let square = self.render_from(client, id, render).await?;
        square.ok_or(Error::NO_SUCH_PHOTO)
    }

    /// Renders a master, which is rebuilt if it is damaged or lost. `None` for a master of the whole photo
    /// that cannot be rebuilt.
    async fn render_from(
        &self,
        client: Client,
        photo: PhotoId,
        render: Render,
    ) -> Result<Option<Bytes>, Error> {
        let file = render.master.file;
        let damage = match self.0.blobs.file(photo, file).await? {
            None => Damage::Missing,
            Some(reader) => {
                let permit = self.render_permit(client, render, reader.length()).await?;
                // Read with its memory reserved, but before the job is on a thread: a bucket may be slow.
                match reader.read().await {
                    Ok(bytes) => match self.render_master(permit, bytes, render).await? {
                        Ok(bytes) => return Ok(Some(bytes)),
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
        let rebuilt = match file {
            PhotoFile::Fit(side) => self.make_fit_master(client, photo, side).await?,
            PhotoFile::Master(side) => Some(self.rebuild_master(client, photo, side, damage).await?),
            PhotoFile::Original | PhotoFile::Part { .. } => None,
        };
        let Some(bytes) = rebuilt else { return Ok(None) };
        let permit = self.render_permit(client, render, bytes.len() as u64).await?;
        self.render_master(permit, bytes, render).await?.map(Some).map_err(Error::internal)
    }

    async fn render_permit(&self, client: Client, render: Render, length: u64) -> Result<SlotPermit, Error> {
        let needed = imaging::render_memory(render.master.size, render.size, render.format) + length;
        self.0.render.acquire(client, needed).await
    }

    async fn render_master(
        &self,
        permit: SlotPermit,
        master: Bytes,
        render: Render,
    ) -> Result<Result<Bytes, imaging::Error>, Error> {
        let work = move || imaging::render(&master, render.size, render.format);
        let (_, rendered) = self.0.render.run_admitted(permit, work).await?;
        self.0.renders.fetch_add(1, Ordering::Relaxed);
        Ok(rendered.map(Bytes::from))
    }
}

/// An image to render from a master.
#[derive(Debug, Clone, Copy)]
struct Render {
    master: Master,
    size: (u32, u32),
    format: OutputFormat,
}
