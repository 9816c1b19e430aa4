//! Box headers, and the numbers in a box.

use std::ops::Range;

use crate::error::Error;

/// Boxes within one box or file, entries of one table. A phone's picture of 770 tiles has some 800. Without a
/// limit, entries of a few bytes each would cost many times their length in memory.
pub(crate) const MAX_BOXES: usize = 4096;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BmffBox {
    pub(crate) kind: [u8; 4],
    pub(crate) start: usize,
    /// The content's position in the file.
    pub(crate) body: Range<usize>,
}

impl BmffBox {
    /// The box at the beginning of an area, even if it claims to reach beyond its end.
    pub(super) fn read(file: &[u8], area: Range<usize>) -> Option<Self> {
        let Range { start, end } = area;
        let mut header = Reader(file.get(area)?);
        let (length, kind) = (header.u32()?, header.array()?);
        let (length, header) = match length {
            0 => (end - start, 8),
            1 => (usize::try_from(header.uint(8)?).ok()?, 16),
            length => (length as usize, 8),
        };
        let body = start + header..start.checked_add(length)?;
        (body.start <= body.end).then_some(Self { kind, start, body })
    }

    pub(crate) fn content<'file>(&self, file: &'file [u8]) -> &'file [u8] {
        file.get(self.body.clone()).unwrap_or_default()
    }

    /// The box with its header.
    pub(crate) fn whole<'file>(&self, file: &'file [u8]) -> &'file [u8] {
        file.get(self.start..self.body.end).unwrap_or_default()
    }

    /// The version that a full box begins with: it tells how wide the other numbers are.
    pub(crate) fn version(&self, file: &[u8]) -> u8 {
        self.content(file).first().copied().unwrap_or_default()
    }

    /// The boxes within, after as many bytes of other content.
    pub(crate) fn children<'file>(&self, file: &'file [u8], skip: usize) -> Children<'file> {
        let end = self.body.end;
        Children { file, rest: (self.body.start + skip).min(end)..end, read: 0 }
    }
}

pub(crate) struct Children<'file> {
    file: &'file [u8],
    rest: Range<usize>,
    read: usize,
}

impl Iterator for Children<'_> {
    type Item = Result<BmffBox, Error>;

    /// The last item is the error, if there is one.
    fn next(&mut self) -> Option<Self::Item> {
        // A few bytes at the end are too short for a header.
        if self.rest.len() < 8 {
            return None;
        }
        let child =
            BmffBox::read(self.file, self.rest.clone()).filter(|found| found.body.end <= self.rest.end);
        let child = child.ok_or_else(|| Error::damaged("a box reaches beyond the one it is in"));
        let child = child.and_then(|child| check_limit(self.read, MAX_BOXES).map(|()| child));
        self.rest.start = child.as_ref().map_or(self.rest.end, |child| child.body.end);
        self.read += 1;
        Some(child)
    }
}

/// The one box of a kind. Of two, one decoder would read the first and another the last.
pub(super) fn only<'boxes>(
    boxes: &'boxes [BmffBox],
    kind: &[u8; 4],
) -> Result<Option<&'boxes BmffBox>, Error> {
    let mut found = boxes.iter().filter(|found| found.kind == *kind);
    match (found.next(), found.next()) {
        (found, None) => Ok(found),
        _ => Err(Error::damaged(format!("two {} boxes", kind.escape_ascii()))),
    }
}

/// Refuses one more entry of a list that is full.
pub(super) fn check_limit(entries: usize, limit: usize) -> Result<(), Error> {
    if entries < limit { Ok(()) } else { Err(Error::damaged("too many boxes or entries of a table")) }
}

/// Version, flags and the rest of a full box.
pub(crate) fn full_box(content: &[u8]) -> Option<(u8, u32, Reader<'_>)> {
    let mut rest = Reader(content);
    let word = rest.u32()?;
    Some(((word >> 24) as u8, word & 0xFF_FFFF, rest))
}

/// Takes big-endian numbers off the front of some bytes.
pub(crate) struct Reader<'bytes>(pub(crate) &'bytes [u8]);

impl<'bytes> Reader<'bytes> {
    pub(crate) fn take(&mut self, length: usize) -> Option<&'bytes [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_be_bytes)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// A number of four bytes in newer versions of its box and two in older ones.
    pub(crate) fn u16_or_u32(&mut self, wide: bool) -> Option<u32> {
        if wide { self.u32() } else { self.u16().map(u32::from) }
    }

    /// A number whose size stands in its box.
    pub(crate) fn uint(&mut self, size: usize) -> Option<u64> {
        match size {
            0 => Some(0),
            2 => self.u16().map(u64::from),
            4 => self.u32().map(u64::from),
            8 => self.array().map(u64::from_be_bytes),
            _ => None,
        }
    }
}
