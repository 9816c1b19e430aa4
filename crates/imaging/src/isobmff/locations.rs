//! Item locations, the `iloc` box: which bytes belong to which item.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::boxes::{BmffBox, MAX_BOXES, Reader, full_box};

/// Extents of one item. Encoders write one.
const MAX_EXTENTS: usize = 64;

#[derive(Debug, Clone)]
pub(crate) struct Location {
    /// The entry's position in the file.
    pub(crate) entry: Range<usize>,
    /// What the offsets count from: the file, or its `idat` box.
    area: Range<usize>,
    /// Offset and length; a length of zero reaches to the end of the area. None for bytes of another file or
    /// another item, which are not read.
    extents: Option<Vec<(u64, u64)>>,
}

impl Location {
    /// By item. None if an entry is broken, or if an item has two.
    pub(super) fn read_all(
        file: &[u8],
        iloc: &BmffBox,
        idat: Option<&Range<usize>>,
    ) -> Option<BTreeMap<u32, Self>> {
        let (version, _, mut rest) = full_box(iloc.content(file))?;
        let sizes = Sizes::read(&mut rest, version)?;
        let mut locations = BTreeMap::new();
        for _ in 0..rest.u16_or_u32(version > 1)? {
            let start = iloc.body.end - rest.0.len();
            let id = rest.u16_or_u32(version > 1)?;
            let method = if version > 0 { rest.u16()? & 15 } else { 0 };
            let is_external = rest.u16()? != 0;
            let extents = sizes.extents(&mut rest)?;
            let entry = start..iloc.body.end - rest.0.len();
            let (area, extents) = match method {
                0 | 1 if is_external => (0..0, None),
                0 => (0..file.len(), Some(extents)),
                1 => (idat?.clone(), Some(extents)),
                2 => (0..0, None),
                _ => return None,
            };
            let is_second = locations.insert(id, Self { entry, area, extents }).is_some();
            if is_second || locations.len() > MAX_BOXES {
                return None;
            }
        }
        Some(locations)
    }

    pub(crate) fn is_in_file(&self) -> bool {
        self.extents.is_some()
    }

    /// The bytes of the file that the item claims, as far as they are there.
    pub(crate) fn spans(&self) -> impl Iterator<Item = Range<usize>> {
        let Range { start, end } = self.area;
        let clamped =
            move |offset: u64| usize::try_from(offset).map_or(end, |at| start.saturating_add(at).min(end));
        self.extents.iter().flatten().map(move |(offset, length)| match length {
            0 => clamped(*offset)..end,
            _ => clamped(*offset)..clamped(offset.saturating_add(*length)),
        })
    }

    /// No less than the bytes of the item.
    pub(crate) fn length(&self) -> u64 {
        let whole = self.area.len() as u64;
        let lengths =
            self.extents.iter().flatten().map(|(_, length)| if *length == 0 { whole } else { *length });
        lengths.fold(0, u64::saturating_add).min(whole)
    }

    /// None if an extent is not in the file, or if they overlap to more than there is.
    pub(crate) fn data<'file>(&self, file: &'file [u8]) -> Option<Cow<'file, [u8]>> {
        let area = file.get(self.area.clone())?;
        let extent = |(offset, length): &(u64, u64)| {
            let rest = area.get(usize::try_from(*offset).ok()?..)?;
            if *length == 0 { Some(rest) } else { rest.get(..usize::try_from(*length).ok()?) }
        };
        match self.extents.as_deref()? {
            [one] => extent(one).map(Cow::Borrowed),
            many => {
                let pieces = many.iter().map(extent).collect::<Option<Vec<_>>>()?;
                let length: usize = pieces.iter().map(|piece| piece.len()).sum();
                (length <= area.len()).then(|| Cow::Owned(pieces.concat()))
            }
        }
    }
}

/// Bytes of each number in an entry.
struct Sizes {
    offset: usize,
    length: usize,
    base: usize,
    index: usize,
}

impl Sizes {
    fn read(rest: &mut Reader, version: u8) -> Option<Self> {
        let sizes = rest.u16()?;
        let size = |shift: u32| usize::from(sizes >> shift & 15);
        let index = if version > 0 { size(0) } else { 0 };
        Some(Self { offset: size(12), length: size(8), base: size(4), index })
    }

    fn extents(&self, rest: &mut Reader) -> Option<Vec<(u64, u64)>> {
        let base = rest.uint(self.base)?;
        let count = usize::from(rest.u16()?);
        // Extents without numbers are all the same one, and take no bytes of the file.
        let limit = if self.index + self.offset + self.length == 0 { 1 } else { MAX_EXTENTS };
        if count > limit {
            return None;
        }
        let mut extents = Vec::with_capacity(count);
        for _ in 0..count {
            rest.uint(self.index)?;
            extents.push((base.checked_add(rest.uint(self.offset)?)?, rest.uint(self.length)?));
        }
        Some(extents)
    }
}
