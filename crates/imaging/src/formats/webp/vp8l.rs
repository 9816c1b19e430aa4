//! What the code tables of a lossless WebP will weigh, told before anything is decoded.
//!
//! Each region of such a picture names the group of code tables it is coded with, and image-webp builds as
//! many groups as the highest name asks for: 65,536 of up to 118 KiB, or 5 GB from a file of 3 MB. The names
//! stand in a small picture of their own, behind the transforms and theirs. These are read here as
//! image-webp reads them, but not kept: a copied or cached pixel brings no name that was not there before.

mod codes;

use codes::{Bits, Code, Table};

/// More groups than any encoder makes: libwebp names at most 2,600 regions, its first versions 4,000.
const MAX_GROUPS: u32 = 4096;

/// Many times what the tables of the most varied pictures of real encoders weigh, which is 6 MB.
const MAX_BYTES: u64 = 128 << 20;

/// More pixels than any encoder gives a small picture: one for every 16 × 16 of the largest there can be.
const MAX_SMALL: u32 = 1 << 20;

/// What image-webp holds for every group besides its tables: its record, three times while the list grows,
/// and what the allocator adds.
const RECORD: u64 = 1 << 10;

/// The tables of the small pictures, one group at a time; caches of colours, and the lists of lengths that
/// all tables are made from.
const SMALL_TABLES: u64 = 160 << 10;

/// The bytes image-webp takes for the tables of a VP8L chunk. `None` if they are broken, or too many.
pub(super) fn tables(body: &[u8]) -> Option<u64> {
    Stream::with_header(body)?.tables()
}

/// The same for an ALPH chunk, which has the size of its frame.
pub(super) fn alpha_tables(body: &[u8], width: u32, height: u32) -> Option<u64> {
    let (flags, body) = body.split_first()?;
    match flags & 0b11 {
        0 => Some(0),
        1 => Stream::new(body, width, height)?.tables(),
        _ => None,
    }
}

const LITERALS: u16 = 256;
const COPIES: u16 = 24;
const DISTANCES: u16 = 40;

struct Stream<'body> {
    bits: Bits<'body>,
    /// In pixels as stored, several of which may be packed into one.
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
        (width.max(height) <= 1 << 14).then(|| Self { bits: Bits::new(body), width, height })
    }

    fn tables(mut self) -> Option<u64> {
        let (groups, colours) = self.groups()?;
        if groups > MAX_GROUPS {
            return None;
        }
        let mut bytes = SMALL_TABLES + u64::from(groups) * RECORD;
        for _ in 0..groups {
            bytes += self.group(colours)?.iter().map(Code::decoder_bytes).sum::<u64>();
            if bytes > MAX_BYTES {
                return None;
            }
        }
        Some(bytes)
    }

    /// How many groups the picture is coded with, and the size of its cache of colours. What follows in the
    /// stream are the groups.
    fn groups(&mut self) -> Option<(u32, u16)> {
        self.skip_transforms()?;
        let colours = self.cache()?;
        let highest = if self.bits.flag()? { self.subsampled()? } else { 0 };
        Some((highest + 1, colours))
    }

    fn skip_transforms(&mut self) -> Option<()> {
        let mut seen = [false; 4];
        while self.bits.flag()? {
            let kind = self.bits.read(2)?;
            if std::mem::replace(seen.get_mut(kind as usize)?, true) {
                return None;
            }
            match kind {
                0 | 1 => drop(self.subsampled()?),
                2 => {}
                _ => self.skip_palette()?,
            }
        }
        Some(())
    }

    fn skip_palette(&mut self) -> Option<()> {
        let colours = self.bits.read(8)? + 1;
        self.small_picture(colours, 1)?;
        let packing = match colours {
            0..=2 => 3,
            3..=4 => 2,
            5..=16 => 1,
            _ => 0,
        };
        self.width = self.width.div_ceil(1 << packing);
        Some(())
    }

    /// A small picture with one pixel for each region of the large one.
    fn subsampled(&mut self) -> Option<u32> {
        let side = 1 << (self.bits.read(3)? + 2);
        self.small_picture(self.width.div_ceil(side), self.height.div_ceil(side))
    }

    /// Reads past a small picture, for the largest number that red and green make in any of its pixels.
    fn small_picture(&mut self, width: u32, height: u32) -> Option<u32> {
        let colours = self.cache()?;
        let [green, red, blue, alpha, distance] = self.group(colours)?.map(Table::new);
        let mut largest = 0;
        let mut missing = Some(width * height).filter(|pixels| *pixels <= MAX_SMALL)?;
        let mut first = true;
        while missing > 0 {
            let before = self.bits.unread();
            let symbol = self.bits.symbol(&green)?;
            let pixels = if symbol < LITERALS {
                let high = self.bits.symbol(&red)?;
                self.bits.symbol(&blue)?;
                self.bits.symbol(&alpha)?;
                largest = largest.max(u32::from(high) << 8 | u32::from(symbol));
                1
            } else if symbol < LITERALS + COPIES {
                // Nothing is there yet that could be copied.
                if first {
                    return None;
                }
                let length = self.bits.number(symbol - LITERALS)?;
                let distance = self.bits.symbol(&distance)?;
                self.bits.number(distance)?;
                length
            } else {
                1
            };
            // What takes no bits at all is the same for ever.
            if self.bits.unread() == before {
                break;
            }
            missing = missing.checked_sub(pixels)?;
            first = false;
        }
        Some(largest)
    }

    /// The number of colours in the cache of a picture.
    fn cache(&mut self) -> Option<u16> {
        if !self.bits.flag()? {
            return Some(0);
        }
        let bits = self.bits.read(4)?;
        (1..=11).contains(&bits).then_some(1 << bits)
    }

    /// The codes of green, copies and cached colours; of red, blue, alpha and distances.
    fn group(&mut self, colours: u16) -> Option<[Code; 5]> {
        let bits = &mut self.bits;
        Some([
            bits.code(LITERALS + COPIES + colours)?,
            bits.code(LITERALS)?,
            bits.code(LITERALS)?,
            bits.code(LITERALS)?,
            bits.code(DISTANCES)?,
        ])
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use image::{ImageFormat, RgbImage};

    use super::*;

    /// The body of a chunk, from a real encoder.
    fn real() -> Vec<u8> {
        let picture = RgbImage::from_fn(90, 70, |x, y| [x as u8, y as u8, (x * y) as u8].into());
        let mut file = Cursor::new(Vec::new());
        picture.write_to(&mut file, ImageFormat::WebP).expect("a WebP");
        file.into_inner().split_off(20)
    }

    #[test]
    fn a_real_picture_needs_little() {
        let body = real();
        let bytes = tables(&body).expect("whole tables");
        assert!(bytes > SMALL_TABLES + RECORD && bytes < SMALL_TABLES + (32 << 10), "{bytes}");

        let alpha = |flags| alpha_tables(&[&[flags], &body[5..]].concat(), 90, 70);
        assert_eq!([alpha(0), alpha(1), alpha(2)], [Some(0), Some(bytes), None]);
    }

    #[test]
    fn what_ends_within_the_tables_is_broken() {
        let body = real();
        let told: Vec<_> = (0..body.len()).map(|end| tables(&body[..end])).collect();
        let whole = told.iter().position(Option::is_some).expect("tables before the end");
        assert!(whole > 50, "tables in {whole} bytes");
        assert!(told[whole..].iter().all(|bytes| *bytes == tables(&body)));
    }

    /// 4 × 4 pixels are one region, and its name is 65,535.
    #[test]
    fn a_forged_name_is_seen_before_its_groups_are_built() {
        let all_255 = 0xFF << 3 | 0b101;
        let all_0 = 0b0001;
        let names: u64 = 1 << 2 | all_255 << 7 | all_255 << 18 | all_0 << 29 | all_0 << 33 | all_0 << 37;
        // Each group is five times `all_0` again: 160 KB for all of them.
        let mut body = [&[0x2F, 0x03, 0xC0, 0, 0], &(names | 0x22 << 40).to_le_bytes()[..6]].concat();
        body.resize(200_000, 0x22);
        let groups = Stream::with_header(&body).and_then(|mut stream| stream.groups());
        assert_eq!(groups, Some((65_536, 0)));
        assert_eq!(tables(&body), None);
    }
}
