//! The index of a HEIF: which items there are, where their bytes are, and which of them are no picture.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::atom::Atom;
use super::entries::{self, Locations};
use crate::Error;

/// A large picture has a few hundred tiles. Without a limit, lists of a few bytes each in the file would
/// cost many times their length in memory.
const MOST_ENTRIES: usize = 1 << 16;

/// Why an item goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    Exif,
    Xmp,
    Thumbnail,
    Other,
}

pub(super) struct Item {
    /// None for pictures and their parts.
    pub(super) metadata: Option<Why>,
    /// The first of its places.
    pub(super) data: Option<Range<usize>>,
}

pub(super) struct Place {
    pub(super) item: u32,
    pub(super) span: Range<usize>,
}

struct Reference {
    kind: [u8; 4],
    from: u32,
    to: Vec<u32>,
}

#[derive(Default)]
pub(super) struct Index {
    pub(super) items: BTreeMap<u32, Item>,
    pub(super) places: Vec<Place>,
    /// Where small items are, within the index itself.
    pub(super) idat: Option<Range<usize>>,
    primary: Option<u32>,
    references: Vec<Reference>,
    /// Items that belong together, or stand for each other.
    grouped: BTreeSet<u32>,
}

impl Index {
    pub(super) fn read(file: &[u8], meta: &Atom) -> Result<Self, Error> {
        let mut index = Self::default();
        let mut locations = None;
        for atom in meta.children(file, 4) {
            let atom = atom?;
            match &atom.kind {
                b"idat" => index.idat = index.idat.or(Some(atom.body)),
                b"pitm" => index.primary = entries::primary(atom.content(file)),
                b"iinf" => index.read_items(file, &atom)?,
                b"iref" => index.read_references(file, &atom)?,
                b"grpl" => index.read_groups(file, &atom)?,
                b"iloc" if locations.is_none() => locations = Some(atom),
                b"iloc" => return Err(broken()),
                _ => {}
            }
        }
        if let Some(atom) = locations {
            index.read_places(atom.content(file), file.len()).ok_or_else(broken)?;
        }
        for place in &index.places {
            let Range { start, end } = place.span;
            let in_idat = index.idat.as_ref().is_some_and(|idat| idat.start <= start && end <= idat.end);
            if start < meta.body.end && end > meta.body.start && !in_idat {
                return Err(Error::damaged("a HEIF item within the index itself"));
            }
            if let Some(item) = index.items.get_mut(&place.item) {
                item.data.get_or_insert(place.span.clone());
            }
        }
        Ok(index)
    }

    /// The items that are metadata by their own kind.
    pub(super) fn metadata(&self) -> BTreeMap<u32, Why> {
        self.items.iter().filter_map(|(id, item)| Some((*id, item.metadata?))).collect()
    }

    /// The items that nobody needs who shows the picture.
    ///
    /// In a sequence thumbnails stay: they may share their bytes with samples.
    pub(super) fn gone(&self, sequence: bool) -> Result<BTreeMap<u32, Why>, Error> {
        let mut gone = self.metadata();
        let primary = self.primary.filter(|id| self.items.contains_key(id) && !gone.contains_key(id));
        let primary = primary.ok_or_else(|| Error::damaged("a HEIF without a picture"))?;
        if sequence {
            return Ok(gone);
        }

        let of = |kind: &'static [u8; 4]| self.references.iter().filter(move |found| found.kind == *kind);
        let spared = |id: u32| id == primary || self.grouped.contains(&id);
        let thumbnails: BTreeSet<u32> =
            of(b"thmb").map(|found| found.from).filter(|id| !spared(*id)).collect();
        // What a picture is put together from, or refers to in some way that nobody has thought of here.
        let used: BTreeSet<u32> = self
            .references
            .iter()
            .filter(|found| !matches!(&found.kind, b"thmb" | b"cdsc" | b"auxl"))
            .filter(|found| !thumbnails.contains(&found.from) && !gone.contains_key(&found.from))
            .flat_map(|found| found.to.iter().copied())
            .collect();
        let idle = |id: &u32| !spared(*id) && !used.contains(id);

        // Descriptions of an unknown kind, such as where whose face is.
        for found in of(b"cdsc").filter(|found| idle(&found.from)) {
            gone.entry(found.from).or_insert(Why::Other);
        }
        gone.extend(thumbnails.iter().filter(|id| idle(id)).map(|id| (*id, Why::Thumbnail)));
        // With a thumbnail go its tiles, and its transparency.
        for tiles in of(b"dimg").filter(|found| thumbnails.contains(&found.from)) {
            gone.extend(tiles.to.iter().filter(|id| idle(id)).map(|id| (*id, Why::Thumbnail)));
        }
        for mask in of(b"auxl").filter(|found| idle(&found.from)) {
            if mask.to.iter().all(|id| gone.contains_key(id)) {
                gone.insert(mask.from, Why::Thumbnail);
            }
        }
        Ok(gone)
    }

    fn read_items(&mut self, file: &[u8], iinf: &Atom) -> Result<(), Error> {
        for atom in iinf.children(file, entries::before_items(entries::version(file, iinf))) {
            let (id, item) = entries::item(atom?.content(file)).ok_or_else(broken)?;
            self.items.insert(id, item);
            within_limit(self.items.len())?;
        }
        Ok(())
    }

    fn read_references(&mut self, file: &[u8], iref: &Atom) -> Result<(), Error> {
        let long = entries::version(file, iref) > 0;
        let mut count = 0;
        for atom in iref.children(file, 4) {
            let atom = atom?;
            let (from, to) = entries::reference(atom.content(file), long).ok_or_else(broken)?;
            count += 1 + to.len();
            within_limit(count)?;
            self.references.push(Reference { kind: atom.kind, from, to });
        }
        Ok(())
    }

    fn read_groups(&mut self, file: &[u8], grpl: &Atom) -> Result<(), Error> {
        for atom in grpl.children(file, 0) {
            // Behind its version, its own number and how many there are.
            let content = atom?.content(file);
            let (ids, _) = content.get(12..).unwrap_or_default().as_chunks();
            self.grouped.extend(ids.iter().map(|id| u32::from_be_bytes(*id)).take(MOST_ENTRIES));
            within_limit(self.grouped.len())?;
        }
        Ok(())
    }

    fn read_places(&mut self, iloc: &[u8], file: usize) -> Option<()> {
        for location in Locations::open(iloc)? {
            let location = location?;
            let area = match location.method {
                _ if location.elsewhere => continue,
                0 => 0..file,
                1 => self.idat.clone()?,
                // Within another item, whose bytes they are.
                2 => continue,
                _ => return None,
            };
            for extent in location.extents() {
                let (offset, length) = extent?;
                let start = area.start.checked_add(usize::try_from(offset).ok()?)?.min(area.end);
                let end = match usize::try_from(length).ok()? {
                    0 => area.end,
                    length => start.saturating_add(length).min(area.end),
                };
                self.places.push(Place { item: location.id, span: start..end });
                within_limit(self.places.len()).ok()?;
            }
        }
        Some(())
    }
}

fn broken() -> Error {
    Error::damaged("a HEIF index that cannot be read")
}

fn within_limit(entries: usize) -> Result<(), Error> {
    if entries > MOST_ENTRIES { Err(Error::damaged("a HEIF of too many items")) } else { Ok(()) }
}
