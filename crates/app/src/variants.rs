//! Finished images: kept in bounded memory, and found or made once however many ask at the same time.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use imaging::OutputFormat;
use model::{PhotoId, Size};
use parking_lot::{Mutex, MutexGuard};
use quick_cache::sync::Cache;
use quick_cache::{DefaultHashBuilder, Lifecycle, Weighter};

use crate::hot::{ImageFile, Kept, Room};
use crate::{CacheLevel, Error, detached};

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

type Making = Shared<BoxFuture<'static, Result<Bytes, Error>>>;

#[derive(Debug)]
pub(crate) struct Variants {
    kept: Cache<Variant, Arc<Kept>, ByLength, DefaultHashBuilder, Evictions>,
    evictions: Evictions,
    /// What those asked for most take on top.
    files: Arc<Room>,
    making: Arc<Mutex<HashMap<Variant, Making>>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// Counts what had to make room.
#[derive(Debug, Clone, Default)]
struct Evictions(Arc<AtomicU64>);

impl Lifecycle<Variant, Arc<Kept>> for Evictions {
    type RequestState = ();

    fn on_evict(&self, (): &mut (), _: Variant, _: Arc<Kept>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Debug, Clone)]
struct ByLength;

impl Weighter<Variant, Arc<Kept>> for ByLength {
    fn weight(&self, _: &Variant, kept: &Arc<Kept>) -> u64 {
        // The entry itself takes room as well.
        kept.bytes.len() as u64 + 192
    }
}

impl Variants {
    /// In so much memory; those asked for most lie in files of this folder as well.
    pub(crate) fn new(max_bytes: u64, folder: PathBuf) -> Self {
        // Only a guess of how many entries to expect; the weight is the bound.
        let expected = usize::try_from(max_bytes / 32_768).unwrap_or(usize::MAX).clamp(16, 1 << 16);
        let evictions = Evictions::default();
        Self {
            kept: Cache::with(
                expected,
                max_bytes,
                ByLength,
                DefaultHashBuilder::default(),
                evictions.clone(),
            ),
            evictions,
            files: Arc::new(Room::new(folder)),
            making: Arc::default(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// The variant from memory, or from `make`, which everyone who asks meanwhile shares and which goes
    /// on if they leave.
    pub(crate) async fn get_or_make<F>(
        &self,
        variant: Variant,
        make: impl FnOnce() -> F,
    ) -> Result<Image, Error>
    where
        F: Future<Output = Result<Bytes, Error>> + Send + 'static,
    {
        if let Some(image) = self.find(&variant) {
            return Ok(image);
        }
        let making = {
            let mut making = self.lock();
            // Who kept it struck it off this list afterwards, under this lock: it may have come between.
            if let Some(image) = self.find(&variant) {
                return Ok(image);
            }
            making.entry(variant).or_insert_with(|| self.start(variant, make())).clone()
        };
        self.misses.fetch_add(1, Ordering::Relaxed);
        Ok(Image { bytes: making.await?, tag: variant.tag().into(), file: None })
    }

    fn find(&self, variant: &Variant) -> Option<Image> {
        let kept = self.kept.get(variant)?;
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(Image { bytes: kept.bytes.clone(), tag: kept.tag.clone(), file: kept.ask(&self.files) })
    }

    pub(crate) fn keep(&self, variant: Variant, bytes: Bytes) {
        self.kept.insert(variant, Arc::new(Kept::new(bytes, variant.tag().into())));
    }

    /// Drops every variant of a photo.
    pub(crate) fn forget(&self, photo: PhotoId) {
        self.kept.retain(|variant, _| variant.photo != photo);
    }

    pub(crate) fn levels(&self) -> [CacheLevel; 2] {
        let of = |figure: &AtomicU64| figure.load(Ordering::Relaxed);
        let memory = CacheLevel {
            name: "memory",
            bytes: self.kept.weight(),
            entries: self.kept.len() as u64,
            hits: of(&self.hits),
            misses: of(&self.misses),
            evictions: of(&self.evictions.0),
        };
        [self.files.level(), memory]
    }

    fn start<F>(&self, variant: Variant, work: F) -> Making
    where
        F: Future<Output = Result<Bytes, Error>> + Send + 'static,
    {
        let making = self.making.clone();
        let detached = detached(async move {
            let outcome = work.await;
            making.lock().remove(&variant);
            outcome
        });
        detached.boxed().shared()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Variant, Making>> {
        self.making.lock()
    }
}
