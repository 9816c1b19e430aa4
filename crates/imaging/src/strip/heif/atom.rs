//! The boxes an ISO media file is made of, under their older name: Rust has boxes of its own.

use std::ops::Range;

use crate::Error;

#[derive(Debug, Clone)]
pub(super) struct Atom {
    pub(super) kind: [u8; 4],
    pub(super) start: usize,
    /// Where in the file its content is.
    pub(super) body: Range<usize>,
}

impl Atom {
    /// The atom at the beginning of an area, even if it claims to be longer.
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

    pub(super) fn content<'file>(&self, file: &'file [u8]) -> &'file [u8] {
        file.get(self.body.clone()).unwrap_or_default()
    }

    /// The atom with its header.
    pub(super) fn whole<'file>(&self, file: &'file [u8]) -> &'file [u8] {
        file.get(self.start..self.body.end).unwrap_or_default()
    }

    pub(super) fn rename(&self, file: &mut [u8], kind: &[u8; 4]) {
        if let Some(place) = file.get_mut(self.start + 4..self.start + 8) {
            place.copy_from_slice(kind);
        }
    }

    /// What is in the atom, behind as many bytes of its own.
    pub(super) fn children<'file>(&self, file: &'file [u8], own: usize) -> Children<'file> {
        let end = self.body.end;
        Children { file, rest: (self.body.start + own).min(end)..end }
    }
}

pub(super) struct Children<'file> {
    file: &'file [u8],
    rest: Range<usize>,
}

impl Iterator for Children<'_> {
    type Item = Result<Atom, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        // A few bytes at the end are too short to be anything.
        if self.rest.len() < 8 {
            return None;
        }
        let atom = Atom::read(self.file, self.rest.clone()).filter(|atom| atom.body.end <= self.rest.end);
        self.rest.start = atom.as_ref().map_or(self.rest.end, |atom| atom.body.end);
        Some(atom.ok_or_else(|| Error::damaged("a HEIF atom reaches out of the one it is in")))
    }
}

/// Numbers from the front of some bytes.
pub(super) struct Reader<'bytes>(pub(super) &'bytes [u8]);

impl<'bytes> Reader<'bytes> {
    pub(super) fn take(&mut self, length: usize) -> Option<&'bytes [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// A number of up to eight bytes.
    pub(super) fn uint(&mut self, length: usize) -> Option<u64> {
        let bytes = self.take(length).filter(|bytes| bytes.len() <= 8)?;
        Some(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// A number that has two or four bytes, depending on the version of what it stands in.
    pub(super) fn short_or_long(&mut self, long: bool) -> Option<u32> {
        if long { self.u32() } else { self.u16().map(u32::from) }
    }
}
