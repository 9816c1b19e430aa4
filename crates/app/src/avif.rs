//! AVIF images. They take ten times as long as WebP, so no request waits for one: an image that a client
//! would take as AVIF is encoded when the image threads are idle, and served once it is cached.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use imaging::OutputFormat;
use model::{Clock, ImageSize, Size};

use crate::avif_queue::{AvifRequest, AvifStatus};
use crate::photos::Master;
use crate::thread_pool::ThreadPool;
use crate::variants::Variant;
use crate::{App, Client, Error, Image, PhotoHandle};

/// Smaller images save less than a tenth of WebP's bytes. Larger ones would take half of the memory of all
/// image jobs, for seconds.
const PIXELS: std::ops::RangeInclusive<u32> = 200 * 200..=1280 * 1280;

/// The image threads must have been idle for this long: an encode cannot be paused, and a client that loads a
/// page has further images to render.
const MIN_IDLE_TIME: Duration = Duration::from_secs(1);

/// The AVIF of an image.
#[derive(Debug)]
pub enum Avif {
    Ready(Image),
    /// It may be encoded later.
    NotYet,
    Never,
}

impl App {
    /// The ETag of an image as AVIF, with its quotes; `None` if it is never served as AVIF.
    pub fn avif_etag(&self, photo: &PhotoHandle, size: ImageSize) -> Option<String> {
        self.avif_variant(photo, size).map(Variant::etag)
    }

    /// The image as AVIF, if it is cached.
    pub async fn avif(&self, photo: &PhotoHandle, size: ImageSize) -> Result<Avif, Error> {
        let Some(variant) = self.avif_variant(photo, size) else { return Ok(Avif::Never) };
        if let Some(image) = self.0.variants.cached(variant) {
            return Ok(Avif::Ready(image));
        }
        match self.0.avif.status(variant) {
            AvifStatus::Failed => Ok(Avif::Never),
            AvifStatus::InProgress => Ok(Avif::NotYet),
            // Boxed, so that it does not enlarge the future of every image.
            status => match Box::pin(self.avif_on_disk(variant)).await? {
                Some(image) => Ok(Avif::Ready(image)),
                None if status == AvifStatus::Encoded => Ok(Avif::Never),
                None => Ok(Avif::NotYet),
            },
        }
    }

    async fn avif_on_disk(&self, variant: Variant) -> Result<Option<Image>, Error> {
        match self.0.cache.get(variant.cache_key()).await {
            Some(bytes) => self.cache_in_memory(variant, bytes).await.map(Some),
            None => Ok(None),
        }
    }

    /// Queues the AVIF of an image, unless it is queued or encoded already.
    pub fn request_avif(&self, client: Client, photo: &PhotoHandle, size: ImageSize) {
        let Some(variant) = self.avif_variant(photo, size) else { return };
        let Master { file, size: master_size } = photo.master(variant.size);
        let size = photo.dimensions(variant.size);
        self.0.avif.request(AvifRequest { client, variant, size, master: file, master_size });
    }

    /// Encodes the requested images until it is cancelled. The queue of the pool admits one after the other.
    pub(crate) async fn encode_avif_continuously(&self) {
        let Some((pool, mut requests)) = self.0.avif.take_requests() else { return };
        let mut encodes = FuturesUnordered::new();
        loop {
            tokio::select! {
                Some(request) = requests.recv() => encodes.push(self.encode_avif(pool, request)),
                Some(()) = encodes.next() => {}
                else => return,
            }
        }
    }

    async fn encode_avif(&self, pool: &ThreadPool, request: AvifRequest) {
        let outcome = self.try_encode_avif(pool, request).await;
        self.0.avif.finish(request.variant, &outcome);
    }

    async fn try_encode_avif(&self, pool: &ThreadPool, request: AvifRequest) -> Result<(), Error> {
        let AvifRequest { client, variant, size, master, master_size } = request;
        // The file is read when its turn comes, so its length is an upper bound: that of raw pixels.
        let length = 4 * u64::from(master_size.0) * u64::from(master_size.1);
        let needed = imaging::render_memory(master_size, size, OutputFormat::Avif) + length;
        let permit = loop {
            let permit = pool.acquire(client, needed).await?;
            let Some(rest) = MIN_IDLE_TIME.checked_sub(pool.queue().idle_time()) else { break permit };
            drop(permit);
            tokio::time::sleep(rest).await;
        };
        self.check_photo(variant.photo).await?;
        let file = self.0.blobs.file(variant.photo, master).await?;
        let bytes = file.ok_or(Error::internal(NoMaster))?.read().await?;
        let work = move || {
            let started = Clock::monotonic();
            let encoded = imaging::render(&bytes, size, OutputFormat::Avif);
            (started.elapsed(), encoded)
        };
        let (_, (time, encoded)) = pool.run_admitted(permit, work).await?;
        let encoded = Bytes::from(encoded.map_err(Error::internal)?);
        self.0.avif.count_encoded(time);

        let insert = self.0.cache.begin_insert(variant.cache_key());
        // A delete removes the row before the images: see `find_or_render`.
        self.check_photo(variant.photo).await?;
        self.0.cache.insert(insert, encoded.clone());
        self.cache_in_memory(variant, encoded).await.map(drop)
    }

    async fn cache_in_memory(&self, variant: Variant, bytes: Bytes) -> Result<Image, Error> {
        let fill = || {
            let (app, bytes) = (self.clone(), bytes.clone());
            async move { app.check_photo(variant.photo).await.map(|()| bytes) }
        };
        self.0.variants.get_or_render(variant, fill).await
    }

    /// `None` if AVIF is off, or does not pay for this size. Beyond the largest master, images are rendered
    /// from the original, which takes the memory of an upload.
    fn avif_variant(&self, photo: &PhotoHandle, size: ImageSize) -> Option<Variant> {
        let (width, height) = photo.dimensions(size);
        let is_suitable = PIXELS.contains(&(width * height)) && width.max(height) <= Size::MAX.into();
        (self.0.avif.is_on() && is_suitable).then(|| photo.variant(size, OutputFormat::Avif))
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the photo has no master of this size")]
struct NoMaster;
