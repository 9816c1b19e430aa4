//! The disk cache of rendered images through its public API, on a real folder.

#![allow(clippy::disallowed_methods, reason = "files have real times")]
#![allow(clippy::unwrap_used, reason = "a failed expectation must end the test")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use blobs::{Cache, CacheKey, CacheMinFree};
use bytes::Bytes;
use model::{ImageSize, PhotoId, Size, Timestamp};
use tempfile::TempDir;

const REVISION: u32 = 7;
/// The weight of an image of [`image`]: its two blocks and one more.
const WEIGHT: u64 = 3 * 4096;

struct Case {
    data: TempDir,
}

impl Case {
    fn new() -> Self {
        Self { data: tempfile::tempdir().unwrap() }
    }

    /// Opens the cache and waits for the scan.
    async fn open(&self, max_bytes: u64) -> Cache {
        // Independent of the free space of the disk that the test runs on.
        let min_free = CacheMinFree(Some(0));
        let cache = Cache::open(self.data.path(), max_bytes, min_free, REVISION).unwrap();
        cache.photos().await.unwrap();
        cache
    }

    fn folder(&self) -> PathBuf {
        self.data.path().join("cache")
    }

    fn files(&self) -> Vec<PathBuf> {
        let (mut folders, mut files) = (vec![self.folder()], Vec::new());
        while let Some(folder) = folders.pop() {
            let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            let (subfolders, paths): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
            folders.extend(subfolders);
            files.extend(paths);
        }
        files
    }

    fn bytes_on_disk(&self) -> u64 {
        self.files().iter().map(|path| path.metadata().unwrap().len()).sum()
    }

    fn path(&self, key: CacheKey) -> PathBuf {
        let shard = format!("{:02x}", key.photo.as_bytes()[15]);
        let name = format!("{}-{}-{REVISION}", key.size, key.format);
        self.folder().join(shard).join(key.photo.to_string()).join(name)
    }
}

fn key(photo: u8, side: u16) -> CacheKey {
    let photo = PhotoId::new(Timestamp::from_micros(1_763_200_000_000_000), [photo; 10]);
    CacheKey { photo, size: ImageSize::Square(Size::new(side).unwrap()), format: "webp" }
}

/// Different bytes for every photo and size.
fn image(key: CacheKey) -> Bytes {
    let mut bytes = vec![key.photo.as_bytes()[15]; 5_000];
    bytes[..4].copy_from_slice(&key.size.dimensions(1, 1).0.to_le_bytes());
    bytes.into()
}

/// Inserts an image and waits until it is written.
async fn put(cache: &Cache, key: CacheKey) {
    cache.insert(cache.begin_insert(key), image(key));
    for _ in 0..10_000 {
        if cache.get(key).await.is_some() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("{key:?} was not written");
}

#[tokio::test]
async fn cached_images_survive_a_restart() {
    let case = Case::new();
    let cache = case.open(1 << 20).await;
    assert_eq!(cache.get(key(1, 64)).await, None);
    put(&cache, key(1, 64)).await;
    let usage = cache.stats();
    assert_eq!((usage.entries, usage.bytes, usage.evictions), (1, WEIGHT, 0));
    assert!(usage.misses >= 1 && usage.hits == 1, "{usage:?}");
    for other in [key(1, 65), key(2, 64), CacheKey { format: "jpeg", ..key(1, 64) }] {
        assert_eq!(cache.get(other).await, None);
    }
    // The drop waits for queued writes.
    cache.insert(cache.begin_insert(key(2, 64)), image(key(2, 64)));
    drop(cache);

    let cache = case.open(1 << 20).await;
    assert_eq!((cache.stats().entries, cache.stats().bytes), (2, 2 * WEIGHT));
    for cached in [key(1, 64), key(2, 64)] {
        assert_eq!(cache.get(cached).await, Some(image(cached)));
    }
    let mut photos = cache.photos().await.unwrap();
    photos.sort_by_key(|photo| *photo.as_bytes());
    assert_eq!(photos, [key(1, 64).photo, key(2, 64).photo]);
}

#[tokio::test]
async fn the_least_recently_used_image_is_evicted_first() {
    let case = Case::new();
    let cache = case.open(4 * WEIGHT).await;
    for photo in 1..=4 {
        put(&cache, key(photo, 64)).await;
    }
    // A read of the first makes the second the least recently used.
    assert!(cache.get(key(1, 64)).await.is_some());
    put(&cache, key(5, 64)).await;
    assert_eq!(cache.get(key(2, 64)).await, None);
    for photo in [1, 3, 4, 5] {
        assert!(cache.get(key(photo, 64)).await.is_some(), "{photo}");
    }
    assert_eq!((cache.stats().entries, cache.stats().evictions), (4, 1));
    assert!(!case.path(key(2, 64)).parent().unwrap().exists(), "an empty photo folder must be removed");
}

#[tokio::test]
async fn many_sizes_of_one_photo_neither_exceed_the_limit_nor_evict_another() {
    let case = Case::new();
    let max_bytes = 40 * WEIGHT;
    let cache = case.open(max_bytes).await;
    put(&cache, key(1, 64)).await;
    for side in 1..=100 {
        put(&cache, key(2, side)).await;
        assert!(cache.stats().bytes <= max_bytes && case.bytes_on_disk() <= max_bytes, "{:?}", cache.stats());
    }
    assert!(cache.get(key(1, 64)).await.is_some(), "the other photo's image must stay");
    assert_eq!(cache.get(key(2, 1)).await, None, "the photo's own oldest image must be evicted");
    assert!(cache.get(key(2, 100)).await.is_some());
    assert_eq!(cache.stats().entries, 1 + 10, "one photo may take a quarter of a small cache");
}

#[tokio::test]
async fn an_image_larger_than_the_limit_per_photo_is_not_cached() {
    let case = Case::new();
    let cache = case.open(8 * WEIGHT).await;
    cache.insert(cache.begin_insert(key(1, 2048)), vec![0; 40_000].into());
    put(&cache, key(2, 64)).await;
    assert_eq!(cache.get(key(1, 2048)).await, None);
    assert_eq!((cache.stats().entries, cache.stats().evictions), (1, 0));
}

#[tokio::test]
async fn corrupt_files_are_misses_and_are_deleted() {
    let case = Case::new();
    let cache = case.open(1 << 20).await;
    let damages: [(&str, Damage); 6] = [
        ("empty", |path| fs::write(path, b"").unwrap()),
        ("truncated", |path| {
            let half = path.metadata().unwrap().len() / 2;
            File::options().write(true).open(path).unwrap().set_len(half).unwrap();
        }),
        ("longer", |path| {
            let bytes = [fs::read(path).unwrap(), vec![0]].concat();
            fs::write(path, bytes).unwrap();
        }),
        ("zeros", |path| fs::write(path, vec![0; 5_016]).unwrap()),
        ("one bit of the image", |path| flip(path, 3_000)),
        ("one bit of the header", |path| flip(path, 5)),
    ];
    for (what, damage) in damages {
        put(&cache, key(1, 64)).await;
        damage(&case.path(key(1, 64)));
        assert_eq!(cache.get(key(1, 64)).await, None, "{what}");
        assert!(!case.path(key(1, 64)).exists(), "{what}: the file must be deleted");
        assert_eq!((cache.stats().entries, cache.stats().bytes), (0, 0), "{what}");
    }
    // The checksum covers the path: an intact file of another image is corrupt as well.
    put(&cache, key(1, 64)).await;
    put(&cache, key(2, 64)).await;
    fs::copy(case.path(key(1, 64)), case.path(key(2, 64))).unwrap();
    assert_eq!(cache.get(key(2, 64)).await, None);
    assert_eq!(cache.get(key(1, 64)).await, Some(image(key(1, 64))));
}

type Damage = fn(&Path);

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn the_scan_orders_by_last_use_and_deletes_foreign_files() {
    let case = Case::new();
    let cache = case.open(1 << 20).await;
    for photo in 1..=4 {
        put(&cache, key(photo, 64)).await;
    }
    drop(cache);
    let hours_ago = |hours: u64| SystemTime::now() - Duration::from_secs(3600 * hours);
    for (photo, hours) in [(1, 2), (2, 40), (3, 1), (4, 30)] {
        let file = File::options().write(true).open(case.path(key(photo, 64))).unwrap();
        file.set_modified(hours_ago(hours)).unwrap();
    }
    let image_path = case.path(key(1, 64));
    let foreign = [
        case.folder().join("tmp"),
        image_path.with_file_name("64-webp-6"),
        image_path.with_file_name("064-webp-7"),
        image_path.with_file_name("4096-webp-7"),
        image_path.with_file_name("notes.txt"),
        image_path.parent().unwrap().with_file_name("not-a-photo").join("64-webp-7"),
        case.folder().join("00").join(key(1, 64).photo.to_string()).join("64-webp-7"),
    ];
    for path in &foreign {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "foreign").unwrap();
    }

    // This read makes the oldest image the most recently used.
    let cache = case.open(1 << 20).await;
    assert_eq!(case.files().len(), 4, "{:?}", case.files());
    assert_eq!((cache.stats().entries, cache.stats().bytes), (4, 4 * WEIGHT));
    assert!(cache.get(key(2, 64)).await.is_some());
    drop(cache);

    // With room for three, the scan evicts the image last used thirty hours ago and not the one just read.
    let cache = case.open(3 * WEIGHT).await;
    assert_eq!((cache.stats().entries, cache.stats().evictions), (3, 1));
    assert_eq!(cache.get(key(4, 64)).await, None);
    assert!(cache.get(key(2, 64)).await.is_some());
}

#[tokio::test]
async fn removing_a_photo_removes_its_images_and_cancels_pending_inserts() {
    let case = Case::new();
    let cache = case.open(1 << 20).await;
    put(&cache, key(1, 64)).await;
    put(&cache, key(1, 65)).await;
    put(&cache, key(2, 64)).await;
    // Two inserts are pending while the photo is removed.
    let (first, second) = (cache.begin_insert(key(1, 66)), cache.begin_insert(key(1, 67)));
    cache.remove(key(1, 64).photo).await.unwrap();
    cache.insert(first, image(key(1, 66)));
    cache.insert(second, image(key(1, 67)));
    // Writes happen in order: once this one is written, the cancelled ones were skipped.
    put(&cache, key(3, 64)).await;
    assert!(!case.path(key(1, 64)).parent().unwrap().exists(), "{:?}", case.files());
    assert_eq!((cache.stats().entries, cache.stats().bytes), (2, 2 * WEIGHT));
    assert!(cache.get(key(2, 64)).await.is_some());
    cache.remove(key(1, 64).photo).await.unwrap();
}

#[tokio::test]
async fn a_limit_of_zero_disables_the_cache_and_deletes_its_images() {
    let case = Case::new();
    let cache = case.open(1 << 20).await;
    put(&cache, key(1, 64)).await;
    drop(cache);
    let cache = case.open(0).await;
    assert!(case.files().is_empty(), "{:?}", case.files());
    cache.insert(cache.begin_insert(key(1, 64)), image(key(1, 64)));
    assert_eq!(cache.get(key(1, 64)).await, None);
    cache.remove(key(1, 64).photo).await.unwrap();
    let stats = cache.stats();
    assert_eq!((stats.entries, stats.bytes, stats.hits, stats.misses, stats.evictions), (0, 0, 0, 0, 0));
    drop(cache);
    assert!(case.files().is_empty(), "{:?}", case.files());
}

#[tokio::test]
async fn a_disk_error_is_a_miss() {
    let case = Case::new();
    let cache = case.open(1 << 20).await;
    // A file in place of the shard folder makes every write to it fail.
    let shard = case.path(key(1, 64)).parent().unwrap().parent().unwrap().to_owned();
    fs::write(&shard, "in the way").unwrap();
    cache.insert(cache.begin_insert(key(1, 64)), image(key(1, 64)));
    put(&cache, key(2, 64)).await;
    assert_eq!(cache.get(key(1, 64)).await, None);
    assert_eq!(cache.stats().entries, 1);
}
