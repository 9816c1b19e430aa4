//! The cache of finished images through its public face, on a real folder.

#![allow(clippy::disallowed_methods, reason = "files have real times")]
#![allow(clippy::unwrap_used, reason = "a broken expectation must stop the story where it stands")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use blobs::{Cache, Key};
use bytes::Bytes;
use model::{PhotoId, Size, Timestamp};
use tempfile::TempDir;

const REVISION: u32 = 7;
/// What an image of [`image`] is counted with: its blocks and one more.
const WEIGHT: u64 = 3 * 4096;

struct Case {
    data: TempDir,
}

impl Case {
    fn new() -> Self {
        Self { data: tempfile::tempdir().unwrap() }
    }

    async fn open(&self, max: u64) -> Cache {
        let cache = Cache::open(self.data.path(), max, REVISION).unwrap();
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
            let (inner, found): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
            folders.extend(inner);
            files.extend(found);
        }
        files
    }

    fn bytes_on_disk(&self) -> u64 {
        self.files().iter().map(|path| path.metadata().unwrap().len()).sum()
    }

    fn path(&self, key: Key) -> PathBuf {
        let shard = format!("{:02x}", key.photo.as_bytes()[15]);
        let name = format!("{}-{}-{REVISION}", key.size.side(), key.format);
        self.folder().join(shard).join(key.photo.to_string()).join(name)
    }
}

fn key(photo: u8, side: u16) -> Key {
    let photo = PhotoId::new(Timestamp::from_micros(1_763_200_000_000_000), [photo; 10]);
    Key { photo, size: Size::new(side).unwrap(), format: "webp" }
}

/// No two are alike.
fn image(key: Key) -> Bytes {
    let mut bytes = vec![key.photo.as_bytes()[15]; 5_000];
    bytes[..4].copy_from_slice(&key.size.side().to_le_bytes());
    bytes.into()
}

/// Keeps an image and waits until it is there.
async fn put(cache: &Cache, key: Key) {
    cache.keep(cache.place(key), image(key));
    for _ in 0..10_000 {
        if cache.get(key).await.is_some() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("{key:?} was not kept");
}

#[tokio::test]
async fn what_was_kept_is_there_and_after_a_restart_as_well() {
    let case = Case::new();
    let cache = case.open(1 << 20).await;
    assert_eq!(cache.get(key(1, 64)).await, None);
    put(&cache, key(1, 64)).await;
    let usage = cache.stats();
    assert_eq!((usage.entries, usage.bytes, usage.evictions), (1, WEIGHT, 0));
    assert!(usage.misses >= 1 && usage.hits == 1, "{usage:?}");
    for other in [key(1, 65), key(2, 64), Key { format: "jpeg", ..key(1, 64) }] {
        assert_eq!(cache.get(other).await, None);
    }
    // Dropped right after: what waits to be written is written.
    cache.keep(cache.place(key(2, 64)), image(key(2, 64)));
    drop(cache);

    let cache = case.open(1 << 20).await;
    assert_eq!((cache.stats().entries, cache.stats().bytes), (2, 2 * WEIGHT));
    for kept in [key(1, 64), key(2, 64)] {
        assert_eq!(cache.get(kept).await, Some(image(kept)));
    }
    let mut photos = cache.photos().await.unwrap();
    photos.sort_by_key(|photo| *photo.as_bytes());
    assert_eq!(photos, [key(1, 64).photo, key(2, 64).photo]);
}

#[tokio::test]
async fn the_least_recently_used_goes_first() {
    let case = Case::new();
    let cache = case.open(4 * WEIGHT).await;
    for photo in 1..=4 {
        put(&cache, key(photo, 64)).await;
    }
    // Looking at the first makes the second the oldest.
    assert!(cache.get(key(1, 64)).await.is_some());
    put(&cache, key(5, 64)).await;
    assert_eq!(cache.get(key(2, 64)).await, None);
    for photo in [1, 3, 4, 5] {
        assert!(cache.get(key(photo, 64)).await.is_some(), "{photo}");
    }
    assert_eq!((cache.stats().entries, cache.stats().evictions), (4, 1));
    assert!(!case.path(key(2, 64)).parent().unwrap().exists(), "its folder went with its last image");
}

#[tokio::test]
async fn a_sweep_through_one_photo_neither_fills_the_disk_nor_pushes_out_another() {
    let case = Case::new();
    let max = 40 * WEIGHT;
    let cache = case.open(max).await;
    put(&cache, key(1, 64)).await;
    for side in 1..=100 {
        put(&cache, key(2, side)).await;
        assert!(cache.stats().bytes <= max && case.bytes_on_disk() <= max, "{:?}", cache.stats());
    }
    assert!(cache.get(key(1, 64)).await.is_some(), "somebody else's image");
    assert_eq!(cache.get(key(2, 1)).await, None, "of the same photo the oldest went");
    assert!(cache.get(key(2, 100)).await.is_some());
    assert_eq!(cache.stats().entries, 1 + 10, "a quarter, in a cache as small as this");
}

#[tokio::test]
async fn an_image_too_large_for_its_share_is_not_kept() {
    let case = Case::new();
    let cache = case.open(8 * WEIGHT).await;
    cache.keep(cache.place(key(1, 2048)), vec![0; 40_000].into());
    put(&cache, key(2, 64)).await;
    assert_eq!(cache.get(key(1, 2048)).await, None);
    assert_eq!((cache.stats().entries, cache.stats().evictions), (1, 0));
}

#[tokio::test]
async fn a_file_that_is_not_whole_is_never_given_out() {
    let case = Case::new();
    let cache = case.open(1 << 20).await;
    let damages: [(&str, Damage); 6] = [
        ("empty", |path| fs::write(path, b"").unwrap()),
        ("cut", |path| {
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
        assert!(!case.path(key(1, 64)).exists(), "{what}: it is dropped");
        assert_eq!((cache.stats().entries, cache.stats().bytes), (0, 0), "{what}");
    }
    // A whole file in the wrong place is no better.
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
async fn a_start_counts_by_last_use_and_clears_what_is_not_ours() {
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
    let ours = case.path(key(1, 64));
    let strangers = [
        case.folder().join("tmp"),
        ours.with_file_name("64-webp-6"),
        ours.with_file_name("064-webp-7"),
        ours.with_file_name("4096-webp-7"),
        ours.with_file_name("notes.txt"),
        ours.parent().unwrap().with_file_name("not-a-photo").join("64-webp-7"),
        case.folder().join("00").join(key(1, 64).photo.to_string()).join("64-webp-7"),
    ];
    for path in &strangers {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "strange").unwrap();
    }

    // Looked at after the start, the oldest of all is the newest.
    let cache = case.open(1 << 20).await;
    assert_eq!(case.files().len(), 4, "{:?}", case.files());
    assert_eq!((cache.stats().entries, cache.stats().bytes), (4, 4 * WEIGHT));
    assert!(cache.get(key(2, 64)).await.is_some());
    drop(cache);

    // Room for three: the one not used for thirty hours goes, the one used just now stays, restart or not.
    let cache = case.open(3 * WEIGHT).await;
    assert_eq!((cache.stats().entries, cache.stats().evictions), (3, 1));
    assert_eq!(cache.get(key(4, 64)).await, None);
    assert!(cache.get(key(2, 64)).await.is_some());
}

#[tokio::test]
async fn no_image_outlives_its_photo() {
    let case = Case::new();
    let cache = case.open(1 << 20).await;
    put(&cache, key(1, 64)).await;
    put(&cache, key(1, 65)).await;
    put(&cache, key(2, 64)).await;
    // Two are being made while the photo goes; one is ready before the other.
    let (first, second) = (cache.place(key(1, 66)), cache.place(key(1, 67)));
    cache.remove(key(1, 64).photo).await.unwrap();
    cache.keep(first, image(key(1, 66)));
    cache.keep(second, image(key(1, 67)));
    // Written in turn: when this one is there, those before it would be.
    put(&cache, key(3, 64)).await;
    assert!(!case.path(key(1, 64)).parent().unwrap().exists(), "{:?}", case.files());
    assert_eq!((cache.stats().entries, cache.stats().bytes), (2, 2 * WEIGHT));
    assert!(cache.get(key(2, 64)).await.is_some());
    cache.remove(key(1, 64).photo).await.unwrap();
}

#[tokio::test]
async fn without_room_nothing_is_kept_and_nothing_stays() {
    let case = Case::new();
    let cache = case.open(1 << 20).await;
    put(&cache, key(1, 64)).await;
    drop(cache);
    let cache = case.open(0).await;
    assert!(case.files().is_empty(), "{:?}", case.files());
    cache.keep(cache.place(key(1, 64)), image(key(1, 64)));
    assert_eq!(cache.get(key(1, 64)).await, None);
    cache.remove(key(1, 64).photo).await.unwrap();
    let stats = cache.stats();
    assert_eq!((stats.entries, stats.bytes, stats.hits, stats.misses, stats.evictions), (0, 0, 0, 0, 0));
    drop(cache);
    assert!(case.files().is_empty(), "{:?}", case.files());
}

#[tokio::test]
async fn a_failing_disk_is_the_same_as_no_cache() {
    let case = Case::new();
    let cache = case.open(1 << 20).await;
    // Where the folder of the photo's shard should be, nothing can be made.
    let shard = case.path(key(1, 64)).parent().unwrap().parent().unwrap().to_owned();
    fs::write(&shard, "in the way").unwrap();
    cache.keep(cache.place(key(1, 64)), image(key(1, 64)));
    put(&cache, key(2, 64)).await;
    assert_eq!(cache.get(key(1, 64)).await, None);
    assert_eq!(cache.stats().entries, 1);
}
