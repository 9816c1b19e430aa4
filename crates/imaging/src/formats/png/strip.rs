//! Strips PNG files. Copies the chunks of the image and of its colour space, and rewrites the ICC profile.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use crate::edit::Edit;
use crate::error::Error;
use crate::icc;
use crate::metadata::{Metadata, RemovedMetadata, exif, has_data, xmp};

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1A\n";

/// The profile name written to every iCCP chunk, and the compression method. Editors put the name of the
/// user's display there.
const PROFILE_NAME_AND_METHOD: &[u8] = b"icc\0\0";

pub(crate) fn strip(file: &[u8], removed: &mut RemovedMetadata) -> Result<Vec<u8>, Error> {
    let damaged = || Error::damaged("a PNG without an image");
    let mut rest = file.get(SIGNATURE.len()..).ok_or_else(damaged)?;
    // Capacity for an IEND chunk, and for the CRC of a truncated chunk.
    let mut stripped = Vec::with_capacity(file.len() + 16 + icc::MAX_GROWTH);
    stripped.extend_from_slice(SIGNATURE);

    let (mut has_pixels, mut has_profile) = (false, false);
    while let Some((chunk, after)) = Chunk::read(rest) {
        let is_first = stripped.len() == SIGNATURE.len();
        if is_first != (chunk.name == b"IHDR") {
            return Err(damaged());
        }
        rest = after;
        match chunk.name {
            b"IEND" => break,
            b"IHDR" | b"PLTE" => chunk.push_unchanged(&mut stripped),
            b"IDAT" => {
                chunk.push_unchanged(&mut stripped);
                has_pixels = true;
            }
            // Only the first: each may be a decompression bomb.
            b"iCCP" if !has_profile => {
                match chunk.rewritten_profile(removed)? {
                    Some(profile) => {
                        push_with_crc(&mut stripped, b"iCCP", &[PROFILE_NAME_AND_METHOD, &profile]);
                    }
                    None => removed.add(Metadata::Other),
                }
                has_profile = true;
            }
            _ if chunk.describes_colour() => chunk.push_unchanged(&mut stripped),
            _ => chunk.record(removed),
        }
    }
    if !has_pixels {
        return Err(damaged());
    }
    if has_data(rest) {
        removed.add(Metadata::Other);
    }
    push_with_crc(&mut stripped, b"IEND", &[]);
    Ok(stripped)
}

/// Adds an EXIF block to a stripped file, after its header.
pub(crate) fn add_exif(head: &[u8], exif: &[u8]) -> Option<Vec<Edit>> {
    let (_, after) = Chunk::read(head.get(SIGNATURE.len()..)?)?;
    let mut bytes = Vec::new();
    push_with_crc(&mut bytes, b"eXIf", &[exif]);
    Some(vec![Edit::insert((head.len() - after.len()) as u64, bytes)])
}

struct Chunk<'file> {
    name: &'file [u8; 4],
    body: &'file [u8],
    /// None if the chunk is truncated.
    crc: Option<[u8; 4]>,
}

impl<'file> Chunk<'file> {
    /// The first chunk, possibly truncated, and the bytes after it.
    fn read(bytes: &'file [u8]) -> Option<(Self, &'file [u8])> {
        let (length, after) = bytes.split_first_chunk()?;
        let (name, after) = after.split_first_chunk()?;
        let complete = after.split_at_checked(u32::from_be_bytes(*length) as usize);
        Some(match complete.and_then(|(body, after)| Some((body, after.split_first_chunk()?))) {
            Some((body, (crc, after))) => (Self { name, body, crc: Some(*crc) }, after),
            None => {
                let body = complete.map_or(after, |(body, _)| body);
                (Self { name, body, crc: None }, &[])
            }
        })
    }

    /// A wrong CRC is copied as is: decoders ignore such a chunk, and must keep ignoring it.
    fn push_unchanged(&self, stripped: &mut Vec<u8>) {
        let body = [self.body];
        push(stripped, self.name, &body, self.crc.unwrap_or_else(|| crc(self.name, &body)));
    }

    /// The profile of an iCCP chunk, compressed. None if decoders ignore it.
    fn rewritten_profile(&self, removed: &mut RemovedMetadata) -> Result<Option<Vec<u8>>, Error> {
        let Some(profile) = self.profile() else { return Ok(None) };
        icc::rewritten(&profile, removed).map(|profile| compressed(&profile)).transpose()
    }

    /// The profile of an iCCP chunk whose CRC is correct.
    fn profile(&self) -> Option<Vec<u8>> {
        if self.crc? != crc(self.name, &[self.body]) {
            return None;
        }
        let name_length = self.body.iter().position(|byte| *byte == 0)?;
        let [0, compressed @ ..] = self.body.get(name_length + 1..)? else { return None };
        let mut profile = Vec::new();
        let mut decoder = ZlibDecoder::new(compressed).take(icc::MAX_BYTES as u64);
        decoder.read_to_end(&mut profile).is_ok().then_some(profile)
    }

    /// Whether the chunk describes the colours. These chunks have fixed or small sizes; longer ones may hide
    /// data.
    fn describes_colour(&self) -> bool {
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
        self.crc.is_some() && lengths.contains(&self.body.len())
    }

    fn record(&self, removed: &mut RemovedMetadata) {
        match (self.name, self.body) {
            (b"eXIf", block) => exif::record(block, removed),
            (b"iTXt", text) if text.starts_with(b"XML:com.adobe.xmp\0") => xmp::record(text, removed),
            (b"tEXt" | b"zTXt" | b"iTXt", text) => record_text(text, removed),
            // Pixel density, background colour and palette histogram are dropped without being reported.
            (b"pHYs" | b"bKGD" | b"hIST", _) => {}
            _ => removed.add(Metadata::Other),
        }
    }
}

fn compressed(profile: &[u8]) -> Result<Vec<u8>, Error> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(profile).and_then(|()| encoder.finish()).map_err(Error::internal)
}

/// ImageMagick embeds EXIF, XMP and IPTC in text chunks, compressed or as hex. They are classified by keyword
/// only.
fn record_text(text: &[u8], removed: &mut RemovedMetadata) {
    removed.add(match text.strip_prefix(b"Raw profile type ") {
        Some([b'e', b'x', b'i', b'f', ..] | [b'A', b'P', b'P', b'1', ..]) => Metadata::Exif,
        Some([b'x', b'm', b'p', ..]) => Metadata::Xmp,
        Some([b'i', b'p', b't', b'c', ..] | [b'8', b'b', b'i', b'm', ..]) => Metadata::Iptc,
        _ => Metadata::Comment,
    });
}

fn push_with_crc(stripped: &mut Vec<u8>, name: &[u8; 4], body: &[&[u8]]) {
    push(stripped, name, body, crc(name, body));
}

fn push(stripped: &mut Vec<u8>, name: &[u8; 4], body: &[&[u8]], crc: [u8; 4]) {
    // The bodies are copied from chunks and grow by a few bytes at most.
    let length: usize = body.iter().map(|part| part.len()).sum();
    stripped.extend((length as u32).to_be_bytes());
    stripped.extend_from_slice(name);
    for part in body {
        stripped.extend_from_slice(part);
    }
    stripped.extend(crc);
}

fn crc(name: &[u8; 4], body: &[&[u8]]) -> [u8; 4] {
    let bytes = name.iter().chain(body.iter().copied().flatten());
    let value = bytes.fold(u32::MAX, |crc, byte| CRC_TABLE[usize::from(crc as u8 ^ byte)] ^ (crc >> 8));
    (!value).to_be_bytes()
}

/// The CRC-32 lookup table, indexed by a byte.
const CRC_TABLE: [u32; 256] = {
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
