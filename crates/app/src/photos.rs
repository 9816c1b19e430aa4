//! Photos as images of any size.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use imaging::OutputFormat;
use model::{PhotoId, Size, master_for};

use crate::variants::Variant;
use crate::{App, Error, Image};

const NO_SUCH_PHOTO: Error = Error::NotFound("there is no such photo");

/// A photo that exists, as far as making images of it goes.
#[derive(Debug, Clone, Copy)]
pub struct Picture {
    id: PhotoId,
    short_side: u32,
}

impl App {
    /// The photo, as long as it lives. Asked before every image, so a deleted photo is gone at once
    /// wherever its images may still lie.
    pub async fn photo(&self, id: PhotoId) -> Result<Picture, Error> {
        let fill = async || Ok::<_, Error>(self.0.store.photo(id).await?.ok_or(NO_SUCH_PHOTO)?.short_side());
        let short_side = self.0.caches.photos.get_or_fill(id, fill).await?;
        Ok(Picture { id, short_side })
    }

    /// The same, past an entry that is only valid by its TTL.
    async fn photo_uncached(&self, id: PhotoId) -> Result<Picture, Error> {
        self.0.caches.photos.invalidate_if_ttl(&id);
        self.photo(id).await
    }

    /// The photo as a square image.
    pub async fn image(&self, photo: &Picture, size: Size, format: OutputFormat) -> Result<Image, Error> {
        let variant = Variant { photo: photo.id, size, format };
        let (app, short_side) = (self.clone(), photo.short_side);
        self.0
            .variants
            .get_or_render(variant, move || async move { app.find_or_render(variant, short_side).await })
            .await
    }

    /// Names the exact bytes that [`App::image`] returns, in quotes.
    pub fn image_tag(photo: &Picture, size: Size, format: OutputFormat) -> String {
        Variant { photo: photo.id, size, format }.tag()
    }

    /// Takes a photo that is noted for removal out of the blob store and of our caches. Trouble is logged,
    /// not returned: the note stays, and the collector tries again.
    pub(crate) async fn remove_bytes(&self, photo: PhotoId) {
        self.0.variants.invalidate(photo);
        // Both are tried: a cache in trouble is no reason to keep the photo.
        let (images, files) = (self.0.cache.remove(photo).await, self.0.blobs.delete(photo).await);
        let removed = match images.and(files) {
            Ok(()) => self.0.store.finish_delete(photo).await.map_err(Error::from),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = removed {
            tracing::warn!(%photo, %error, "the bytes of a deleted photo could not be removed yet");
        }
    }

    /// From the disk if it is there; else it is drawn, and kept there for the next time.
    async fn find_or_render(&self, variant: Variant, short_side: u32) -> Result<Bytes, Error> {
        let Variant { photo, size, format } = variant;
        let key = blobs::Key { photo, size, format: format.name() };
        let (bytes, place) = match self.0.cache.get(key).await {
            Some(bytes) => (bytes, None),
            None => {
                let bytes = self.render(variant, short_side).await?;
                (bytes, Some(self.0.cache.place(key)))
            }
        };
        // A delete removes the row first and invalidates the images then: while the row is there, the
        // invalidation is still to come, and it discards this fill and voids its place on the disk.
        self.photo_uncached(photo).await?;
        if let Some(place) = place {
            self.0.cache.keep(place, bytes.clone());
        }
        Ok(bytes)
    }

    async fn render(&self, variant: Variant, short_side: u32) -> Result<Bytes, Error> {
        let Variant { photo, size, format } = variant;
        let place = self.0.render.enter()?;
        let side = master_for(short_side, size);
        let Some(master) = self.0.blobs.square(photo, side).await? else {
            // Deleted since we looked, or truly missing: only the second is our fault.
            self.photo_uncached(photo).await?;
            return Err(Error::internal(BytesMissing { photo, side }));
        };
        let needed = imaging::render_memory(side, size) + master.length();
        let memory = self.0.pixel_memory.for_render(needed).await?;
        // Before a thread is taken: bytes may come from afar, and the thread is for pixels.
        let master = match master.read().await {
            Ok(master) => master,
            Err(error) => {
                self.photo_uncached(photo).await?;
                return Err(error.into());
            }
        };
        let render = move || {
            let rendered = imaging::render(&master, size, format);
            drop(master);
            // Given back by the work, which may end long after it was given up.
            drop(memory);
            rendered
        };
        let (_, rendered) = self.0.render.run(place, render).await?;
        let bytes = Bytes::from(rendered.map_err(Error::internal)?);
        self.0.renders.fetch_add(1, Ordering::Relaxed);
        Ok(bytes)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the bytes of photo {photo} at {side} pixels are missing from the blob store")]
struct BytesMissing {
    photo: PhotoId,
    side: u32,
}
