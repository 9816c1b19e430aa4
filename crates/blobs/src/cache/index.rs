//! What lies in the cache, what it weighs and when it was last used: who goes first when room is needed.

use std::collections::{BTreeMap, HashMap};

use model::{PhotoId, Size};

/// Names an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    pub photo: PhotoId,
    pub size: Size,
    /// A short name in small letters, such as `webp`.
    pub format: &'static str,
}

#[derive(Debug)]
pub(super) struct Index {
    max: u64,
    /// What the images of one photo may take: asking for every size of one must not push out all others.
    max_each: u64,
    shelves: HashMap<PhotoId, Vec<Entry>>,
    /// Every entry by its last use, oldest first.
    by_use: BTreeMap<Stamp, (PhotoId, Size, Tag)>,
    next: u64,
    /// Formats by their tag: few, and an entry should be small.
    formats: Vec<Box<str>>,
    bytes: u64,
}

type Tag = u8;

/// A moment, and a number that no two have in common.
type Stamp = (u64, u64);

#[derive(Debug, Clone, Copy)]
struct Entry {
    size: Size,
    format: Tag,
    weight: u64,
    used: Stamp,
}

/// One that has to go.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Victim {
    pub(super) photo: PhotoId,
    pub(super) size: Size,
    pub(super) format: Box<str>,
}

/// Whether it was there, and the last of its photo.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Gone {
    pub(super) was_last: bool,
}

const BLOCK: u64 = 4096;

/// What a file takes on a disk: whole blocks, and one more for its entry, its share of a folder and our own
/// memory of it. Without that, a million of tiny images would weigh nothing.
pub(super) fn weight(length: u64) -> u64 {
    length.next_multiple_of(BLOCK) + BLOCK
}

impl Index {
    pub(super) fn new(max: u64) -> Self {
        // In a small cache a 64th would not hold a single image, so there it is up to a quarter.
        let max_each = (max / 64).max((4 << 20).min(max / 4));
        Self {
            max,
            max_each,
            shelves: HashMap::new(),
            by_use: BTreeMap::new(),
            next: 0,
            formats: Vec::new(),
            bytes: 0,
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn entries(&self) -> u64 {
        self.by_use.len() as u64
    }

    pub(super) fn photos(&self) -> Vec<PhotoId> {
        self.shelves.keys().copied().collect()
    }

    /// Whether something of this weight is kept at all.
    pub(super) fn would_keep(&self, weight: u64) -> bool {
        weight <= self.max_each
    }

    /// What has to go next before this image may come: its own older self, then the oldest of the same photo,
    /// then the oldest of all.
    pub(super) fn in_the_way(&self, key: Key, weight: u64) -> Option<Victim> {
        let shelf = self.shelves.get(&key.photo).map_or(&[][..], Vec::as_slice);
        let twin = shelf.iter().find(|entry| entry.size == key.size && self.name(entry.format) == key.format);
        let of_photo = || {
            let taken: u64 = shelf.iter().map(|entry| entry.weight).sum();
            let full = taken + weight > self.max_each;
            full.then(|| shelf.iter().min_by_key(|entry| entry.used)).flatten()
        };
        let on_shelf = twin.or_else(of_photo).map(|entry| (key.photo, entry.size, entry.format));
        on_shelf.map(|place| self.victim(place)).or_else(|| self.oldest_beyond(weight))
    }

    /// The oldest of all, as long as there is no room for `weight` more.
    pub(super) fn oldest_beyond(&self, weight: u64) -> Option<Victim> {
        let full = self.bytes + weight > self.max;
        full.then(|| self.by_use.first_key_value()).flatten().map(|(_, place)| self.victim(*place))
    }

    /// Adds an image that was last used at `used`. One that is there already stays as it is.
    pub(super) fn insert(
        &mut self,
        photo: PhotoId,
        size: Size,
        format: &str,
        weight: u64,
        used: u64,
    ) -> bool {
        let Some(format) = self.tag(format) else { return false };
        if self.find(photo, size, format).is_some() {
            return true;
        }
        let used = self.stamp(used);
        self.by_use.insert(used, (photo, size, format));
        self.shelves.entry(photo).or_default().push(Entry { size, format, weight, used });
        self.bytes += weight;
        true
    }

    /// Notes that an image was used.
    pub(super) fn touch(&mut self, key: Key, now: u64) {
        let Some(format) = self.known(key.format) else { return };
        let used = self.stamp(now);
        let Some(entry) = self.find(key.photo, key.size, format) else { return };
        let before = std::mem::replace(&mut entry.used, used);
        self.by_use.remove(&before);
        self.by_use.insert(used, (key.photo, key.size, format));
    }

    pub(super) fn remove(&mut self, photo: PhotoId, size: Size, format: &str) -> Gone {
        let nothing = Gone { was_last: false };
        let Some(format) = self.known(format) else { return nothing };
        let Some(shelf) = self.shelves.get_mut(&photo) else { return nothing };
        let Some(at) = shelf.iter().position(|entry| entry.is(size, format)) else { return nothing };
        let entry = shelf.swap_remove(at);
        let was_last = shelf.is_empty();
        if was_last {
            self.shelves.remove(&photo);
        }
        self.by_use.remove(&entry.used);
        self.bytes -= entry.weight;
        Gone { was_last }
    }

    pub(super) fn remove_photo(&mut self, photo: PhotoId) {
        for entry in self.shelves.remove(&photo).unwrap_or_default() {
            self.by_use.remove(&entry.used);
            self.bytes -= entry.weight;
        }
    }

    fn find(&mut self, photo: PhotoId, size: Size, format: Tag) -> Option<&mut Entry> {
        self.shelves.get_mut(&photo)?.iter_mut().find(|entry| entry.is(size, format))
    }

    fn victim(&self, (photo, size, format): (PhotoId, Size, Tag)) -> Victim {
        Victim { photo, size, format: self.name(format).into() }
    }

    fn stamp(&mut self, moment: u64) -> Stamp {
        self.next += 1;
        (moment, self.next)
    }

    fn name(&self, format: Tag) -> &str {
        self.formats.get(usize::from(format)).map_or("", |name| name)
    }

    fn known(&self, format: &str) -> Option<Tag> {
        self.formats.iter().position(|name| **name == *format).and_then(|at| Tag::try_from(at).ok())
    }

    /// `None` only for the 257th format.
    fn tag(&mut self, format: &str) -> Option<Tag> {
        if self.known(format).is_none() && self.formats.len() <= Tag::MAX.into() {
            self.formats.push(format.into());
        }
        self.known(format)
    }
}

impl Entry {
    fn is(&self, size: Size, format: Tag) -> bool {
        (self.size, self.format) == (size, format)
    }
}
