//! Boxes within boxes, and the numbers in them.

/// Name and body of every box that is wholly there.
pub(super) fn boxes(mut rest: &[u8]) -> impl Iterator<Item = (&[u8; 4], &[u8])> {
    std::iter::from_fn(move || {
        let (length, after) = rest.split_first_chunk()?;
        let (name, after) = after.split_first_chunk()?;
        let (body, after) = match u32::from_be_bytes(*length) {
            0 => (after, &[][..]),
            1 => {
                let (length, after) = after.split_first_chunk()?;
                let length = usize::try_from(u64::from_be_bytes(*length)).ok()?;
                after.split_at_checked(length.checked_sub(16)?)?
            }
            length => after.split_at_checked((length as usize).checked_sub(8)?)?,
        };
        rest = after;
        Some((name, body))
    })
}

/// The first box of this name.
pub(super) fn child<'file>(parent: &'file [u8], name: &[u8; 4]) -> Option<&'file [u8]> {
    boxes(parent).find(|(kind, _)| *kind == name).map(|(_, body)| body)
}

/// Version, flags and the rest of a box that begins with them.
pub(super) fn full(body: &[u8]) -> Option<(u8, u32, Reader<'_>)> {
    let mut body = Reader(body);
    let word = body.u32()?;
    Some(((word >> 24) as u8, word & 0xFF_FFFF, body))
}

/// Takes numbers off the front.
pub(in crate::source) struct Reader<'file>(pub(in crate::source) &'file [u8]);

impl<'file> Reader<'file> {
    pub(in crate::source) fn slice(&mut self, length: usize) -> Option<&'file [u8]> {
        let (slice, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(slice)
    }

    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    pub(in crate::source) fn u8(&mut self) -> Option<u8> {
        self.bytes().map(u8::from_be_bytes)
    }

    pub(in crate::source) fn u16(&mut self) -> Option<u16> {
        self.bytes().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_be_bytes)
    }

    /// A number that has four bytes in newer versions of its box, and two in older ones.
    pub(super) fn id(&mut self, wide: bool) -> Option<u32> {
        if wide { self.u32() } else { self.u16().map(u32::from) }
    }

    /// A number of as many bytes as the box says.
    pub(super) fn uint(&mut self, size: usize) -> Option<u64> {
        match size {
            0 => Some(0),
            2 => self.u16().map(u64::from),
            4 => self.u32().map(u64::from),
            8 => self.bytes().map(u64::from_be_bytes),
            _ => None,
        }
    }
}
