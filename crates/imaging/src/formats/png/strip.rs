//! PNG: the chunks of one picture and its colours stay.

use crate::error::Error;
use crate::metadata::{Metadata, Removed, exif, has_data, xmp};

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1A\n";

/// What every colour profile is called. Editors put the name of a person's own screen there.
const PROFILE: &[u8] = b"icc\0";

pub(crate) fn strip(file: &[u8], removed: &mut Removed) -> Result<Vec<u8>, Error> {
    let damaged = || Error::damaged("a PNG without a picture");
    let mut rest = file.get(SIGNATURE.len()..).ok_or_else(damaged)?;
    // The end may have to be added, and the checksum of a chunk that was cut short.
    let mut kept = Vec::with_capacity(file.len() + 16);
    kept.extend_from_slice(SIGNATURE);

    let mut drawn = false;
    while let Some((chunk, after)) = Chunk::read(rest) {
        let first = kept.len() == SIGNATURE.len();
        if first != (chunk.name == b"IHDR") {
            return Err(damaged());
        }
        rest = after;
        match chunk.name {
            b"IEND" => break,
            b"IHDR" | b"PLTE" => chunk.push_as_it_is(&mut kept),
            b"IDAT" => {
                chunk.push_as_it_is(&mut kept);
                drawn = true;
            }
            b"iCCP" => match chunk.profile() {
                Some(packed) => push_new(&mut kept, b"iCCP", &[PROFILE, packed]),
                None => removed.add(Metadata::Other),
            },
            _ if chunk.is_for_colours() => chunk.push_as_it_is(&mut kept),
            _ => chunk.note(removed),
        }
    }
    if !drawn {
        return Err(damaged());
    }
    if has_data(rest) {
        removed.add(Metadata::Other);
    }
    push_new(&mut kept, b"IEND", &[]);
    Ok(kept)
}

struct Chunk<'file> {
    name: &'file [u8; 4],
    body: &'file [u8],
    /// None where the chunk was cut short.
    checksum: Option<[u8; 4]>,
}

impl<'file> Chunk<'file> {
    /// The first chunk, as far as it is there, and what follows it.
    fn read(bytes: &'file [u8]) -> Option<(Self, &'file [u8])> {
        let (length, after) = bytes.split_first_chunk()?;
        let (name, after) = after.split_first_chunk()?;
        let whole = after.split_at_checked(u32::from_be_bytes(*length) as usize);
        Some(match whole.and_then(|(body, after)| Some((body, after.split_first_chunk()?))) {
            Some((body, (checksum, after))) => (Self { name, body, checksum: Some(*checksum) }, after),
            None => {
                let body = whole.map_or(after, |(body, _)| body);
                (Self { name, body, checksum: None }, &[])
            }
        })
    }

    /// A wrong checksum stays wrong: decoders ignore such a chunk, and should go on doing so.
    fn push_as_it_is(&self, kept: &mut Vec<u8>) {
        let body = [self.body];
        push(kept, self.name, &body, self.checksum.unwrap_or_else(|| checksum(self.name, &body)));
    }

    /// The packed profile of an iCCP chunk that a decoder would use, with its method of packing.
    fn profile(&self) -> Option<&'file [u8]> {
        if self.checksum? != checksum(self.name, &[self.body]) {
            return None;
        }
        let name = self.body.iter().position(|byte| *byte == 0)?;
        self.body.get(name + 1..)
    }

    /// Whether the chunk says what colours the pixels have. These are all short: a long one hides something.
    fn is_for_colours(&self) -> bool {
        let lengths = match self.name {
            b"tRNS" => 0..=256,
            b"sRGB" => 1..=1,
            b"gAMA" | b"cICP" => 4..=4,
            b"cHRM" => 32..=32,
            b"sBIT" => 1..=4,
            b"mDCV" => 24..=24,
            b"cLLI" => 8..=8,
            _ => return false,
        };
        self.checksum.is_some() && lengths.contains(&self.body.len())
    }

    fn note(&self, removed: &mut Removed) {
        match (self.name, self.body) {
            (b"eXIf", block) => exif::note(block, removed),
            (b"iTXt", text) if text.starts_with(b"XML:com.adobe.xmp\0") => xmp::note(text, removed),
            (b"tEXt" | b"zTXt" | b"iTXt", text) => note_text(text, removed),
            // How large the dots are on paper, what to put behind them, how often a colour occurs.
            (b"pHYs" | b"bKGD" | b"hIST", _) => {}
            _ => removed.add(Metadata::Other),
        }
    }
}

/// ImageMagick and its kin put whole blocks of metadata into text. Packed or as hexadecimal digits, they
/// are not looked into.
fn note_text(text: &[u8], removed: &mut Removed) {
    removed.add(match text.strip_prefix(b"Raw profile type ") {
        Some([b'e', b'x', b'i', b'f', ..] | [b'A', b'P', b'P', b'1', ..]) => Metadata::Exif,
        Some([b'x', b'm', b'p', ..]) => Metadata::Xmp,
        Some([b'i', b'p', b't', b'c', ..] | [b'8', b'b', b'i', b'm', ..]) => Metadata::Iptc,
        _ => Metadata::Comment,
    });
}

fn push_new(kept: &mut Vec<u8>, name: &[u8; 4], body: &[&[u8]]) {
    push(kept, name, body, checksum(name, body));
}

fn push(kept: &mut Vec<u8>, name: &[u8; 4], body: &[&[u8]], checksum: [u8; 4]) {
    // Bodies come out of chunks, and only ever get shorter, or by a few bytes longer.
    let length: usize = body.iter().map(|part| part.len()).sum();
    kept.extend((length as u32).to_be_bytes());
    kept.extend_from_slice(name);
    for part in body {
        kept.extend_from_slice(part);
    }
    kept.extend(checksum);
}

fn checksum(name: &[u8; 4], body: &[&[u8]]) -> [u8; 4] {
    let bytes = name.iter().chain(body.iter().copied().flatten());
    let crc = bytes.fold(u32::MAX, |crc, byte| CRC[usize::from(crc as u8 ^ byte)] ^ (crc >> 8));
    (!crc).to_be_bytes()
}

/// CRC-32 of every byte. The index is a byte, so it is always within.
const CRC: [u32; 256] = {
    let mut table = [0; 256];
    let mut n = 0;
    while n < 256 {
        let mut crc = n as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { 0xEDB8_8320 ^ (crc >> 1) } else { crc >> 1 };
            bit += 1;
        }
        table[n] = crc;
        n += 1;
    }
    table
};
