//! Rendered images: cached in bounded memory. Concurrent requests for one image are coalesced into one render
//! (single-flight).

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use imaging::OutputFormat;
use model::{CacheStats, ImageSize, PhotoId};
use parking_lot::{Mutex, MutexGuard};
use store::{Key, Revisions};

use crate::Error;
use crate::detached::detached;
use crate::memo::{Memo, Sources};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Variant {
    pub(crate) photo: PhotoId,
    pub(crate) size: ImageSize,
    pub(crate) format: OutputFormat,
}

impl Variant {
    /// The strong ETag of the rendered bytes, with its quotes.
    pub(crate) fn etag(self) -> String {
        let Self { photo, size, format } = self;
        format!("\"{photo}-{size}-{}-{}\"", format.name(), imaging::REVISION)
    }

    /// The key in the disk cache.
    pub(crate) fn cache_key(self) -> blobs::CacheKey {
        let Self { photo, size, format } = self;
        blobs::CacheKey { photo, size, format: format.name() }
    }
}

/// A rendered image.
#[derive(Debug, Clone)]
pub struct Image {
    pub bytes: Bytes,
    /// The strong ETag, with its quotes.
    pub etag: Bytes,
}

/// A render in flight, shared by all requests for its image.
type Flight = Shared<BoxFuture<'static, Result<Image, Error>>>;

#[derive(Debug)]
pub(crate) struct Variants {
    memo: Arc<Memo<Variant, Image>>,
    revisions: Arc<Revisions>,
    in_flight: Arc<Mutex<HashMap<Variant, Flight>>>,
}

/// A shard must have room for several of the largest images.
const MIN_SHARD_BYTES: u64 = 8 << 20;

impl Variants {
    /// A memory cache of `max_bytes`.
    pub(crate) fn new(revisions: &Arc<Revisions>, max_bytes: u64) -> Self {
        let shards = usize::try_from(max_bytes / MIN_SHARD_BYTES).unwrap_or(usize::MAX);
        let weigh = |_: &Variant, image: &Image| image.bytes.len() as u64;
        Self {
            memo: Arc::new(Memo::with_shards("image_memory", revisions, shards, max_bytes, weigh)),
            revisions: revisions.clone(),
            in_flight: Arc::default(),
        }
    }

    /// The image, if it is cached in memory.
    pub(crate) fn cached(&self, variant: Variant) -> Option<Image> {
        self.memo.peek(&variant)
    }

    /// The cached image, or else what `render` returns. Concurrent requests for one image are coalesced into
    /// one render (single-flight), which goes on when the first of them is cancelled.
    pub(crate) async fn get_or_render<F>(
        &self,
        variant: Variant,
        render: impl Fn() -> F,
    ) -> Result<Image, Error>
    where
        F: Future<Output = Result<Bytes, Error>> + Send + 'static,
    {
        if let Some(image) = self.cached(variant) {
            return Ok(image);
        }
        loop {
            let mut is_own = false;
            let flight = {
                let mut in_flight = self.lock();
                // A flight fills the cache before it leaves this map, so it may have ended since the lookup
                // above.
                if let Some(image) = self.cached(variant) {
                    return Ok(image);
                }
                let start = || {
                    is_own = true;
                    self.start(variant, render())
                };
                in_flight.entry(variant).or_insert_with(start).clone()
            };
            match flight.await {
                // The queue shed the job of another client, which has used up its share; this client has not.
                Err(Error::Busy(_)) if !is_own => {}
                result => return result,
            }
        }
    }

    /// Frees the memory of a photo's images.
    pub(crate) fn remove(&self, photo: PhotoId) {
        self.memo.remove_where(|variant| variant.photo == photo);
    }

    pub(crate) fn stats(&self) -> CacheStats {
        self.memo.stats()
    }

    fn start<F>(&self, variant: Variant, render: F) -> Flight
    where
        F: Future<Output = Result<Bytes, Error>> + Send + 'static,
    {
        let (memo, in_flight) = (self.memo.clone(), self.in_flight.clone());
        let sources = Sources::new(&self.revisions);
        let detached = detached(async move {
            let fill = async |sources: Arc<Sources>| {
                sources.add(Key::photo(variant.photo));
                Ok(Image { bytes: render.await?, etag: variant.etag().into() })
            };
            let filled = memo.get(&sources, variant, fill).await;
            in_flight.lock().remove(&variant);
            filled
        });
        detached.boxed().shared()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Variant, Flight>> {
        self.in_flight.lock()
    }
}
