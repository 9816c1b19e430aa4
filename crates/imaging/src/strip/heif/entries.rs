//! The entries of the tables in an index, one by one.

use super::atom::{Atom, Reader};
use super::index::{Item, Why};

/// The number that most tables begin with: it says how wide their other numbers are.
pub(super) fn version(file: &[u8], atom: &Atom) -> u8 {
    atom.content(file).first().copied().unwrap_or_default()
}

/// The number of the item that is the picture.
pub(super) fn primary(content: &[u8]) -> Option<u32> {
    let (version, mut rest) = open(content)?;
    rest.short_or_long(version > 0)
}

/// How many bytes there are in front of a list of items.
pub(super) fn before_items(version: u8) -> usize {
    if version == 0 { 6 } else { 8 }
}

/// Where in an item's entry its name begins. Entries of the first versions have nothing but names.
pub(super) fn name_of_item(version: u8) -> usize {
    match version {
        3.. => 14,
        2 => 12,
        _ => 8,
    }
}

pub(super) fn item(content: &[u8]) -> Option<(u32, Item)> {
    let (version, mut rest) = open(content)?;
    let id = rest.short_or_long(version > 2)?;
    let kind = if version < 2 { *b"mime" } else { rest.take(2).and_then(|_| rest.array())? };
    let metadata = match &kind {
        b"Exif" => Some(Why::Exif),
        b"mime" if content.windows(7).any(|word| word == b"rdf+xml") => Some(Why::Xmp),
        b"mime" | b"uri " => Some(Why::Other),
        _ => None,
    };
    Some((id, Item { metadata, data: None }))
}

/// The item that refers to others, and those.
pub(super) fn reference(content: &[u8], long: bool) -> Option<(u32, Vec<u32>)> {
    let mut rest = Reader(content);
    let from = rest.short_or_long(long)?;
    let count = rest.u16()?;
    let to: Option<_> = (0..count).map(|_| rest.short_or_long(long)).collect();
    Some((from, to?))
}

/// Where the bytes of an item are.
pub(super) struct Location<'file> {
    pub(super) id: u32,
    /// What the offsets count from.
    pub(super) method: u8,
    /// In another file.
    pub(super) elsewhere: bool,
    /// The whole entry.
    pub(super) entry: &'file [u8],
    base: u64,
    extents: &'file [u8],
    widths: Widths,
}

#[derive(Clone, Copy)]
struct Widths {
    index: usize,
    offset: usize,
    length: usize,
}

impl Location<'_> {
    /// Offset and length of each part. None where a number is too large to be true.
    pub(super) fn extents(&self) -> impl Iterator<Item = Option<(u64, u64)>> {
        let Widths { index, offset, length } = self.widths;
        // Parts without numbers are all the same one.
        let all_of_it = (index + offset + length == 0).then_some(Some((self.base, 0)));
        let parts = self.extents.chunks_exact((index + offset + length).max(1)).map(move |part| {
            let mut part = Reader(part);
            part.take(index)?;
            let offset = self.base.checked_add(part.uint(offset)?)?;
            Some((offset, part.uint(length)?))
        });
        all_of_it.into_iter().chain(parts)
    }
}

/// The entries of an `iloc`, as long as they make sense.
pub(super) struct Locations<'file> {
    rest: Reader<'file>,
    left: u32,
    version: u8,
    base: usize,
    widths: Widths,
}

impl<'file> Locations<'file> {
    /// How many bytes there are in front of the number of entries.
    pub(super) const HEADER: usize = 6;

    pub(super) fn open(content: &'file [u8]) -> Option<Self> {
        let (version, mut rest) = open(content)?;
        let [sizes, more] = rest.array()?;
        let left = rest.short_or_long(version > 1)?;
        let widths = Widths {
            index: if version > 0 { usize::from(more & 15) } else { 0 },
            offset: usize::from(sizes >> 4),
            length: usize::from(sizes & 15),
        };
        Some(Self { rest, left, version, base: usize::from(more >> 4), widths })
    }

    pub(super) fn has_long_count(&self) -> bool {
        self.version > 1
    }

    fn entry(&mut self) -> Option<Location<'file>> {
        let start = self.rest.0;
        let rest = &mut self.rest;
        let id = rest.short_or_long(self.version > 1)?;
        let method = if self.version > 0 { rest.u16()? & 15 } else { 0 };
        let elsewhere = rest.u16()? != 0;
        let base = rest.uint(self.base)?;
        let count = usize::from(rest.u16()?);
        let Widths { index, offset, length } = self.widths;
        let extents = rest.take(count * (index + offset + length))?;
        let entry = start.get(..start.len() - rest.0.len())?;
        Some(Location { id, method: method as u8, elsewhere, entry, base, extents, widths: self.widths })
    }
}

impl<'file> Iterator for Locations<'file> {
    /// None within is an entry that makes no sense.
    type Item = Option<Location<'file>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let entry = self.entry();
        if entry.is_none() {
            self.left = 0;
        }
        Some(entry)
    }
}

/// The version of a table, and what follows its flags.
fn open(content: &[u8]) -> Option<(u8, Reader<'_>)> {
    let (&[version, _, _, _], rest) = content.split_first_chunk()?;
    Some((version, Reader(rest)))
}
