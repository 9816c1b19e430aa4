//! The in-memory index of the disk cache: the weight and the last use of each image, for LRU eviction.

use std::collections::{BTreeMap, HashMap};

use model::{ImageSize, PhotoId};

/// The key of a rendered image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CacheKey {
    pub photo: PhotoId,
    pub size: ImageSize,
    /// A short lower-case name, such as `webp`.
    pub format: &'static str,
}

#[derive(Debug)]
pub(super) struct Index {
    /// The limit for the images of one photo: requests for every size of it must not evict all others.
    max_bytes_per_photo: u64,
    by_photo: HashMap<PhotoId, Vec<Entry>>,
    /// Every entry by its last use, oldest first.
    by_last_use: BTreeMap<LastUse, (PhotoId, ImageSize, FormatId)>,
    next_sequence: u64,
    /// The names of the formats by their id. An id keeps the entries small.
    formats: Vec<Box<str>>,
    bytes: u64,
}

type FormatId = u8;

/// Microseconds since 1970, and a sequence number that makes the key unique.
type LastUse = (u64, u64);

#[derive(Debug, Clone, Copy)]
struct Entry {
    size: ImageSize,
    format: FormatId,
    weight: u64,
    last_use: LastUse,
}

/// An image to evict.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Eviction {
    pub(super) photo: PhotoId,
    pub(super) size: ImageSize,
    pub(super) format: Box<str>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Removal {
    /// Whether the photo has no other image in the cache.
    pub(super) was_last_of_photo: bool,
}

const BLOCK: u64 = 4096;

/// The disk space of a file in whole blocks, and one more block for its inode, its share of a folder and its
/// index entry. Without that, a million tiny images would count as almost nothing.
pub(super) fn weight(length: u64) -> u64 {
    length.next_multiple_of(BLOCK) + BLOCK
}

impl Index {
    pub(super) fn new(max_bytes: u64) -> Self {
        // A 64th of a small cache is less than one image, so the limit is up to a quarter there.
        let max_bytes_per_photo = (max_bytes / 64).max((4 << 20).min(max_bytes / 4));
        Self {
            max_bytes_per_photo,
            by_photo: HashMap::new(),
            by_last_use: BTreeMap::new(),
            next_sequence: 0,
            formats: Vec::new(),
            bytes: 0,
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn entries(&self) -> u64 {
        self.by_last_use.len() as u64
    }

    pub(super) fn photos(&self) -> Vec<PhotoId> {
        self.by_photo.keys().copied().collect()
    }

    /// Whether an image of this weight is cached at all.
    pub(super) fn fits(&self, weight: u64) -> bool {
        weight <= self.max_bytes_per_photo
    }

    /// The next image to evict before this one is inserted into a cache of at most `limit` bytes: the same
    /// image, then the least recently used of the photo, then the least recently used of all. `None` if there
    /// is enough room.
    pub(super) fn next_eviction(&self, key: CacheKey, weight: u64, limit: u64) -> Option<Eviction> {
        let entries = self.by_photo.get(&key.photo).map_or(&[][..], Vec::as_slice);
        let same =
            entries.iter().find(|entry| entry.size == key.size && self.name(entry.format) == key.format);
        let of_photo = || {
            let bytes: u64 = entries.iter().map(|entry| entry.weight).sum();
            let is_full = bytes + weight > self.max_bytes_per_photo;
            is_full.then(|| entries.iter().min_by_key(|entry| entry.last_use)).flatten()
        };
        let evicted = same.or_else(of_photo).map(|entry| (key.photo, entry.size, entry.format));
        evicted.map(|image| self.eviction(image)).or_else(|| self.least_recently_used(weight, limit))
    }

    /// The least recently used image, if `weight` more bytes exceed `limit`.
    pub(super) fn least_recently_used(&self, weight: u64, limit: u64) -> Option<Eviction> {
        let is_full = self.bytes + weight > limit;
        is_full.then(|| self.by_last_use.first_key_value()).flatten().map(|(_, image)| self.eviction(*image))
    }

    /// Adds an image with its last use. An existing entry is unchanged. Returns whether the image is indexed.
    pub(super) fn insert(
        &mut self,
        photo: PhotoId,
        size: ImageSize,
        format: &str,
        weight: u64,
        last_use: u64,
    ) -> bool {
        let Some(format) = self.intern_format(format) else { return false };
        if self.find(photo, size, format).is_some() {
            return true;
        }
        let last_use = self.unique_last_use(last_use);
        self.by_last_use.insert(last_use, (photo, size, format));
        self.by_photo.entry(photo).or_default().push(Entry { size, format, weight, last_use });
        self.bytes += weight;
        true
    }

    /// Records a use of an image.
    pub(super) fn touch(&mut self, key: CacheKey, now: u64) {
        let Some(format) = self.format_id(key.format) else { return };
        let last_use = self.unique_last_use(now);
        let Some(entry) = self.find(key.photo, key.size, format) else { return };
        let before = std::mem::replace(&mut entry.last_use, last_use);
        self.by_last_use.remove(&before);
        self.by_last_use.insert(last_use, (key.photo, key.size, format));
    }

    pub(super) fn remove(&mut self, photo: PhotoId, size: ImageSize, format: &str) -> Removal {
        let nothing = Removal { was_last_of_photo: false };
        let Some(format) = self.format_id(format) else { return nothing };
        let Some(entries) = self.by_photo.get_mut(&photo) else { return nothing };
        let Some(at) = entries.iter().position(|entry| entry.is(size, format)) else { return nothing };
        let entry = entries.swap_remove(at);
        let was_last_of_photo = entries.is_empty();
        if was_last_of_photo {
            self.by_photo.remove(&photo);
        }
        self.by_last_use.remove(&entry.last_use);
        self.bytes -= entry.weight;
        Removal { was_last_of_photo }
    }

    pub(super) fn remove_photo(&mut self, photo: PhotoId) {
        for entry in self.by_photo.remove(&photo).unwrap_or_default() {
            self.by_last_use.remove(&entry.last_use);
            self.bytes -= entry.weight;
        }
    }

    fn find(&mut self, photo: PhotoId, size: ImageSize, format: FormatId) -> Option<&mut Entry> {
        self.by_photo.get_mut(&photo)?.iter_mut().find(|entry| entry.is(size, format))
    }

    fn eviction(&self, (photo, size, format): (PhotoId, ImageSize, FormatId)) -> Eviction {
        Eviction { photo, size, format: self.name(format).into() }
    }

    fn unique_last_use(&mut self, micros: u64) -> LastUse {
        self.next_sequence += 1;
        (micros, self.next_sequence)
    }

    fn name(&self, format: FormatId) -> &str {
        self.formats.get(usize::from(format)).map_or("", |name| name)
    }

    fn format_id(&self, format: &str) -> Option<FormatId> {
        self.formats.iter().position(|name| **name == *format).and_then(|at| FormatId::try_from(at).ok())
    }

    /// `None` only for the 257th format.
    fn intern_format(&mut self, format: &str) -> Option<FormatId> {
        if self.format_id(format).is_none() && self.formats.len() <= FormatId::MAX.into() {
            self.formats.push(format.into());
        }
        self.format_id(format)
    }
}

impl Entry {
    fn is(&self, size: ImageSize, format: FormatId) -> bool {
        (self.size, self.format) == (size, format)
    }
}
