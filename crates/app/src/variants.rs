//! Rendered images: cached in bounded memory, and rendered once however many requests wait for one
//! (single-flight).

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use imaging::OutputFormat;
use model::{CacheStats, PhotoId, Size};
use parking_lot::{Mutex, MutexGuard};

use crate::Error;
use crate::detached::detached;
use crate::hot::{ImageFile, Kept, Room};
use crate::invalidating_cache::InvalidatingCache;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Variant {
    pub(crate) photo: PhotoId,
    pub(crate) size: Size,
    pub(crate) format: OutputFormat,
}

impl Variant {
    /// Names its exact bytes, in quotes.
    pub(crate) fn tag(self) -> String {
        let Self { photo, size, format } = self;
        format!("\"{photo}-{}-{}-{}\"", size.side(), format.name(), imaging::REVISION)
    }
}

/// A finished image.
#[derive(Debug, Clone)]
pub struct Image {
    pub bytes: Bytes,
    /// Names these bytes, in quotes.
    pub tag: Bytes,
    /// The same bytes where the kernel can send them from; only images asked for often have one.
    pub file: Option<Arc<ImageFile>>,
}

/// Renders of one image share a flight.
type Flight = Shared<BoxFuture<'static, Result<Arc<Kept>, Error>>>;

#[derive(Debug)]
pub(crate) struct Variants {
    cache: Arc<InvalidatingCache<Variant, Arc<Kept>>>,
    /// What those asked for most take on top.
    files: Arc<Room>,
    in_flight: Arc<Mutex<HashMap<Variant, Flight>>>,
}

/// A shard has to hold several of the largest images.
const MIN_SHARD_BYTES: u64 = 8 << 20;

impl Variants {
    /// In so much memory; those asked for most lie in files of this folder as well.
    pub(crate) fn new(max_bytes: u64, folder: PathBuf) -> Self {
        let shards = usize::try_from(max_bytes / MIN_SHARD_BYTES).unwrap_or(usize::MAX);
        let weigh = |kept: &Arc<Kept>| kept.bytes.len() as u64;
        Self {
            cache: Arc::new(InvalidatingCache::with_shards("image_memory", shards, max_bytes, weigh)),
            files: Arc::new(Room::new(folder)),
            in_flight: Arc::default(),
        }
    }

    /// The cached image, or else what `render` returns. Requests for one image share a render
    /// (single-flight), which goes on when the first of them is cancelled.
    pub(crate) async fn get_or_render<F>(
        &self,
        variant: Variant,
        render: impl FnOnce() -> F,
    ) -> Result<Image, Error>
    where
        F: Future<Output = Result<Bytes, Error>> + Send + 'static,
    {
        if let Some(kept) = self.cache.get(&variant) {
            return Ok(self.image(&kept));
        }
        let flight = {
            let mut in_flight = self.lock();
            // A flight leaves this map after it has filled the cache: one may have landed in between.
            if let Some(kept) = self.cache.get(&variant) {
                return Ok(self.image(&kept));
            }
            in_flight.entry(variant).or_insert_with(|| self.start(variant, render())).clone()
        };
        let kept = flight.await?;
        Ok(Image { bytes: kept.bytes.clone(), tag: kept.tag.clone(), file: None })
    }

    fn image(&self, kept: &Arc<Kept>) -> Image {
        Image { bytes: kept.bytes.clone(), tag: kept.tag.clone(), file: kept.ask(&self.files) }
    }

    pub(crate) fn invalidate(&self, photo: PhotoId) {
        self.cache.invalidate_where(|variant, _| variant.photo == photo);
    }

    pub(crate) fn stats(&self) -> [CacheStats; 2] {
        [self.files.stats(), self.cache.stats()]
    }

    fn start<F>(&self, variant: Variant, render: F) -> Flight
    where
        F: Future<Output = Result<Bytes, Error>> + Send + 'static,
    {
        let (cache, in_flight) = (self.cache.clone(), self.in_flight.clone());
        let detached = detached(async move {
            let fill = async || Ok(Arc::new(Kept::new(render.await?, variant.tag().into())));
            let filled = cache.get_or_fill(variant, fill).await;
            in_flight.lock().remove(&variant);
            filled
        });
        detached.boxed().shared()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Variant, Flight>> {
        self.in_flight.lock()
    }
}
