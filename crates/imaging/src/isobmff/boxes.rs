//! Box headers, and a reader for the big-endian numbers in a box.

use std::ops::Range;

use crate::error::Error;

/// Limit for the boxes in one box or file and for the entries of one table. A phone photo of 770 tiles has
/// about 800. Without it, entries of a few bytes would allocate many times their length.
pub(crate) const MAX_BOXES: usize = 4096;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BmffBox {
    pub(crate) kind: [u8; 4],
    pub(crate) start: usize,
    /// The byte range of the content in the file.
    pub(crate) body: Range<usize>,
}

impl BmffBox {
    /// Parses the box at the start of an area. Its body may extend beyond the area: the caller checks that.
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

    /// The box including its header.
    pub(crate) fn with_header<'file>(&self, file: &'file [u8]) -> &'file [u8] {
        file.get(self.start..self.body.end).unwrap_or_default()
    }

    /// The version of a full box, which determines the width of its numbers.
    pub(crate) fn version(&self, file: &[u8]) -> u8 {
        self.content(file).first().copied().unwrap_or_default()
    }

    /// The child boxes after `skip` bytes of other content.
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

    /// Iteration ends after the first error.
    fn next(&mut self) -> Option<Self::Item> {
        // Fewer bytes than a box header are padding.
        if self.rest.len() < 8 {
            return None;
        }
        let child =
            BmffBox::read(self.file, self.rest.clone()).filter(|child| child.body.end <= self.rest.end);
        let child = child.ok_or_else(|| Error::damaged("a box extends beyond its parent"));
        let child = child.and_then(|child| check_limit(self.read, MAX_BOXES).map(|()| child));
        self.rest.start = child.as_ref().map_or(self.rest.end, |child| child.body.end);
        self.read += 1;
        Some(child)
    }
}

/// The only box of a type. Duplicates are rejected, because decoders disagree which one to read.
pub(super) fn find_unique<'boxes>(
    boxes: &'boxes [BmffBox],
    kind: &[u8; 4],
) -> Result<Option<&'boxes BmffBox>, Error> {
    let mut matches = boxes.iter().filter(|candidate| candidate.kind == *kind);
    match (matches.next(), matches.next()) {
        (first, None) => Ok(first),
        _ => Err(Error::damaged(format!("two {} boxes", kind.escape_ascii()))),
    }
}

/// Rejects another entry for a list that has reached its limit.
pub(super) fn check_limit(entries: usize, limit: usize) -> Result<(), Error> {
    if entries < limit { Ok(()) } else { Err(Error::damaged("too many boxes or table entries")) }
}

/// Version, flags and the remaining content of a full box.
pub(crate) fn full_box(content: &[u8]) -> Option<(u8, u32, Reader<'_>)> {
    let mut rest = Reader(content);
    let word = rest.u32()?;
    Some(((word >> 24) as u8, word & 0xFF_FFFF, rest))
}

/// Reads big-endian numbers from the front of a slice.
pub(crate) struct Reader<'bytes>(pub(crate) &'bytes [u8]);

impl<'bytes> Reader<'bytes> {
    pub(crate) fn take(&mut self, length: usize) -> Option<&'bytes [u8]> {
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
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

    /// Four bytes in newer versions of a box, two in older ones.
    pub(crate) fn u16_or_u32(&mut self, wide: bool) -> Option<u32> {
        if wide { self.u32() } else { self.u16().map(u32::from) }
    }

    /// A number whose width in bytes is declared by its box.
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
