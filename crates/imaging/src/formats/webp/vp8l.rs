//! Estimates the memory of the prefix code tables of a VP8L stream (RFC 9649) before it is decoded.
//!
//! The entropy image assigns each block of pixels a meta prefix code, and image-webp builds as many prefix
//! code groups as the highest one requires: 65,536 of up to 118 KiB, or 5 GB from a file of 3 MB. This parser
//! reads the transforms and the entropy image like image-webp but stores no pixels: a backward reference or a
//! cached colour never introduces a meta prefix code that was not read as a literal before.

mod prefix_codes;

use prefix_codes::{BitReader, LookupTable, PrefixCode};

/// More groups than any encoder writes: libwebp at most 2,600, its first versions 4,000.
const MAX_CODE_GROUPS: u32 = 4096;

/// Far above the 6 MB that the tables of the most complex real images need.
const MAX_TABLE_BYTES: u64 = 128 << 20;

/// The pixel limit of a subresolution image: one pixel per 16 × 16 block of the largest WebP.
const MAX_SUBRESOLUTION_PIXELS: u32 = 1 << 20;

/// Memory of image-webp per group besides its tables: the group record, three times while the vector grows,
/// and allocator overhead.
const GROUP_BYTES: u64 = 1 << 10;

/// Memory of the tables of subresolution images, one group at a time, of the colour caches, and of the code
/// length lists.
const FIXED_BYTES: u64 = 160 << 10;

/// The memory of image-webp for the tables of a VP8L chunk. None if they are malformed or exceed a limit.
pub(super) fn table_memory(body: &[u8]) -> Option<u64> {
    Stream::with_header(body)?.table_memory()
}

/// The same for an ALPH chunk, which takes its size from the frame.
pub(super) fn alpha_table_memory(body: &[u8], width: u32, height: u32) -> Option<u64> {
    let (flags, body) = body.split_first()?;
    match flags & 0b11 {
        0 => Some(0),
        1 => Stream::new(body, width, height)?.table_memory(),
        _ => None,
    }
}

const LITERAL_CODES: u16 = 256;
const LENGTH_CODES: u16 = 24;
const DISTANCE_CODES: u16 = 40;

struct Stream<'body> {
    bits: BitReader<'body>,
    /// In stored pixels: colour indexing packs several image pixels into one.
    width: u32,
    height: u32,
}

impl<'body> Stream<'body> {
    fn with_header(body: &'body [u8]) -> Option<Self> {
        let ([0x2F, b0, b1, b2, b3], body) = body.split_first_chunk()? else {
            return None;
        };
        let header = u32::from_le_bytes([*b0, *b1, *b2, *b3]);
        let version = header >> 29;
        if version != 0 {
            return None;
        }
        Self::new(body, (header & 0x3FFF) + 1, (header >> 14 & 0x3FFF) + 1)
    }

    fn new(body: &'body [u8], width: u32, height: u32) -> Option<Self> {
        (width.max(height) <= 1 << 14).then(|| Self { bits: BitReader::new(body), width, height })
    }

    fn table_memory(mut self) -> Option<u64> {
        let (groups, cache_size) = self.code_groups()?;
        if groups > MAX_CODE_GROUPS {
            return None;
        }
        let mut bytes = FIXED_BYTES + u64::from(groups) * GROUP_BYTES;
        for _ in 0..groups {
            bytes += self.code_group(cache_size)?.iter().map(PrefixCode::decoder_bytes).sum::<u64>();
            if bytes > MAX_TABLE_BYTES {
                return None;
            }
        }
        Some(bytes)
    }

    /// The number of prefix code groups, and the colour cache size. Leaves the stream at the first group.
    fn code_groups(&mut self) -> Option<(u32, u16)> {
        self.skip_transforms()?;
        let cache_size = self.colour_cache_size()?;
        let highest = if self.bits.flag()? { self.subresolution_image()? } else { 0 };
        Some((highest + 1, cache_size))
    }

    fn skip_transforms(&mut self) -> Option<()> {
        let mut seen = [false; 4];
        while self.bits.flag()? {
            let kind = self.bits.read(2)?;
            if std::mem::replace(seen.get_mut(kind as usize)?, true) {
                return None;
            }
            match kind {
                0 | 1 => drop(self.subresolution_image()?),
                2 => {}
                _ => self.skip_colour_table()?,
            }
        }
        Some(())
    }

    fn skip_colour_table(&mut self) -> Option<()> {
        let colours = self.bits.read(8)? + 1;
        self.entropy_coded_image(colours, 1)?;
        let packing_bits = match colours {
            0..=2 => 3,
            3..=4 => 2,
            5..=16 => 1,
            _ => 0,
        };
        self.width = self.width.div_ceil(1 << packing_bits);
        Some(())
    }

    /// Reads a subresolution image: one pixel per block of the image.
    fn subresolution_image(&mut self) -> Option<u32> {
        let block_side = 1 << (self.bits.read(3)? + 2);
        self.entropy_coded_image(self.width.div_ceil(block_side), self.height.div_ceil(block_side))
    }

    /// Reads an entropy-coded image. Returns the largest meta prefix code (red and green) of its pixels.
    fn entropy_coded_image(&mut self, width: u32, height: u32) -> Option<u32> {
        let cache_size = self.colour_cache_size()?;
        let [green, red, blue, alpha, distance] = self.code_group(cache_size)?.map(LookupTable::new);
        let mut largest = 0;
        let mut remaining = Some(width * height).filter(|pixels| *pixels <= MAX_SUBRESOLUTION_PIXELS)?;
        let mut is_first = true;
        while remaining > 0 {
            let unread_before = self.bits.unread();
            let symbol = self.bits.symbol(&green)?;
            let pixels = if symbol < LITERAL_CODES {
                let red = self.bits.symbol(&red)?;
                self.bits.symbol(&blue)?;
                self.bits.symbol(&alpha)?;
                largest = largest.max(u32::from(red) << 8 | u32::from(symbol));
                1
            } else if symbol < LITERAL_CODES + LENGTH_CODES {
                // A backward reference needs a preceding pixel.
                if is_first {
                    return None;
                }
                let length = self.bits.lz77_value(symbol - LITERAL_CODES)?;
                let distance = self.bits.symbol(&distance)?;
                self.bits.lz77_value(distance)?;
                length
            } else {
                1
            };
            // All symbols have zero-length codes, so every further pixel is identical.
            if self.bits.unread() == unread_before {
                break;
            }
            remaining = remaining.checked_sub(pixels)?;
            is_first = false;
        }
        Some(largest)
    }

    /// The number of entries of the colour cache.
    fn colour_cache_size(&mut self) -> Option<u16> {
        if !self.bits.flag()? {
            return Some(0);
        }
        let bits = self.bits.read(4)?;
        (1..=11).contains(&bits).then_some(1 << bits)
    }

    /// The codes of green, lengths and cache indices; of red; of blue; of alpha; of distances.
    fn code_group(&mut self, cache_size: u16) -> Option<[PrefixCode; 5]> {
        let bits = &mut self.bits;
        Some([
            bits.prefix_code(LITERAL_CODES + LENGTH_CODES + cache_size)?,
            bits.prefix_code(LITERAL_CODES)?,
            bits.prefix_code(LITERAL_CODES)?,
            bits.prefix_code(LITERAL_CODES)?,
            bits.prefix_code(DISTANCE_CODES)?,
        ])
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use image::{ImageFormat, RgbImage};

    use super::*;

    /// A VP8L chunk body from a real encoder.
    fn encoded_body() -> Vec<u8> {
        let image = RgbImage::from_fn(90, 70, |x, y| [x as u8, y as u8, (x * y) as u8].into());
        let mut file = Cursor::new(Vec::new());
        image.write_to(&mut file, ImageFormat::WebP).expect("a WebP");
        file.into_inner().split_off(20)
    }

    #[test]
    fn an_encoded_image_needs_little_table_memory() {
        let body = encoded_body();
        let bytes = table_memory(&body).expect("complete tables");
        assert!(bytes > FIXED_BYTES + GROUP_BYTES && bytes < FIXED_BYTES + (32 << 10), "{bytes}");

        let alpha = |flags| alpha_table_memory(&[&[flags], &body[5..]].concat(), 90, 70);
        assert_eq!([alpha(0), alpha(1), alpha(2)], [Some(0), Some(bytes), None]);
    }

    #[test]
    fn truncated_tables_are_rejected() {
        let body = encoded_body();
        let results: Vec<_> = (0..body.len()).map(|end| table_memory(&body[..end])).collect();
        let end_of_tables = results.iter().position(Option::is_some).expect("tables before the end");
        assert!(end_of_tables > 50, "tables in {end_of_tables} bytes");
        assert!(results[end_of_tables..].iter().all(|bytes| *bytes == table_memory(&body)));
    }

    /// 4 × 4 pixels are one block, with the meta prefix code 65,535.
    #[test]
    fn a_forged_meta_prefix_code_is_rejected_before_its_groups_are_built() {
        let all_255 = 0xFF << 3 | 0b101;
        let all_0 = 0b0001;
        let entropy_image: u64 =
            1 << 2 | all_255 << 7 | all_255 << 18 | all_0 << 29 | all_0 << 33 | all_0 << 37;
        // Each group is five times `all_0` again: 160 KB for all of them.
        let mut body = [&[0x2F, 0x03, 0xC0, 0, 0], &(entropy_image | 0x22 << 40).to_le_bytes()[..6]].concat();
        body.resize(200_000, 0x22);
        let groups = Stream::with_header(&body).and_then(|mut stream| stream.code_groups());
        assert_eq!(groups, Some((65_536, 0)));
        assert_eq!(table_memory(&body), None);
    }
}
