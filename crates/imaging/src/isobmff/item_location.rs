//! The `iloc` box: the byte ranges of each item.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::boxes::{BmffBox, MAX_BOXES, Reader, full_box};

/// Extents per item. Encoders write one.
const MAX_EXTENTS: usize = 64;

#[derive(Debug, Clone)]
pub(crate) struct ItemLocation {
    /// The byte range of the `iloc` entry in the file.
    pub(crate) entry: Range<usize>,
    /// The range that offsets are relative to: the file or its `idat` box.
    area: Range<usize>,
    /// Offset and length; length 0 extends to the end of the area. None for construction methods that
    /// reference another file or another item, which are not supported.
    extents: Option<Vec<(u64, u64)>>,
}

impl ItemLocation {
    /// Maps item IDs to locations. None if an entry is malformed or an item has two.
    pub(super) fn read_all(
        file: &[u8],
        iloc: &BmffBox,
        idat: Option<&Range<usize>>,
    ) -> Option<BTreeMap<u32, Self>> {
        let (version, _, mut rest) = full_box(iloc.content(file))?;
        let sizes = FieldSizes::read(&mut rest, version)?;
        let mut locations = BTreeMap::new();
        for _ in 0..rest.u16_or_u32(version > 1)? {
            let start = iloc.body.end - rest.0.len();
            let id = rest.u16_or_u32(version > 1)?;
            let construction_method = if version > 0 { rest.u16()? & 15 } else { 0 };
            let is_external = rest.u16()? != 0;
            let extents = sizes.extents(&mut rest)?;
            let entry = start..iloc.body.end - rest.0.len();
            let (area, extents) = match construction_method {
                0 | 1 if is_external => (0..0, None),
                0 => (0..file.len(), Some(extents)),
                1 => (idat?.clone(), Some(extents)),
                2 => (0..0, None),
                _ => return None,
            };
            let is_duplicate = locations.insert(id, Self { entry, area, extents }).is_some();
            if is_duplicate || locations.len() > MAX_BOXES {
                return None;
            }
        }
        Some(locations)
    }

    pub(crate) fn is_in_file(&self) -> bool {
        self.extents.is_some()
    }

    /// The byte ranges of the item, clamped to the area.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let Range { start, end } = self.area;
        let clamped = move |offset: u64| {
            usize::try_from(offset).map_or(end, |offset| start.saturating_add(offset).min(end))
        };
        self.extents.iter().flatten().map(move |(offset, length)| match length {
            0 => clamped(*offset)..end,
            _ => clamped(*offset)..clamped(offset.saturating_add(*length)),
        })
    }

    /// Upper bound of the item's length.
    pub(crate) fn length(&self) -> u64 {
        let area_length = self.area.len() as u64;
        let lengths =
            self.extents.iter().flatten().map(|(_, length)| if *length == 0 { area_length } else { *length });
        lengths.fold(0, u64::saturating_add).min(area_length)
    }

    /// The item's bytes. None if an extent is out of range, or if overlapping extents exceed the area's
    /// length.
    pub(crate) fn data<'file>(&self, file: &'file [u8]) -> Option<Cow<'file, [u8]>> {
        let area = file.get(self.area.clone())?;
        let extent = |(offset, length): &(u64, u64)| {
            let rest = area.get(usize::try_from(*offset).ok()?..)?;
            if *length == 0 { Some(rest) } else { rest.get(..usize::try_from(*length).ok()?) }
        };
        match self.extents.as_deref()? {
            [single] => extent(single).map(Cow::Borrowed),
            extents => {
                let pieces = extents.iter().map(extent).collect::<Option<Vec<_>>>()?;
                let length: usize = pieces.iter().map(|piece| piece.len()).sum();
                (length <= area.len()).then(|| Cow::Owned(pieces.concat()))
            }
        }
    }
}

/// The width in bytes of each number in an entry.
struct FieldSizes {
    offset: usize,
    length: usize,
    base: usize,
    index: usize,
}

impl FieldSizes {
    fn read(rest: &mut Reader, version: u8) -> Option<Self> {
        let sizes = rest.u16()?;
        let size = |shift: u32| usize::from(sizes >> shift & 15);
        let index = if version > 0 { size(0) } else { 0 };
        Some(Self { offset: size(12), length: size(8), base: size(4), index })
    }

    fn extents(&self, rest: &mut Reader) -> Option<Vec<(u64, u64)>> {
        let base = rest.uint(self.base)?;
        let count = usize::from(rest.u16()?);
        // Extents without numbers are all identical and take no bytes of the file.
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
