//! The headers of an AV1 picture: what its decoder will need, before it is asked.

use crate::formats::heif::ycbcr::Nclx;

const SEQUENCE_HEADER: u8 = 1;
const FRAME_HEADER: u8 = 3;
const FRAME: u8 = 6;
const FRAME_HEADER_AGAIN: u8 = 7;

/// A picture with padding and metadata has about five.
const MAX_UNITS: usize = 64;

/// What one coded picture is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Coded {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) deep: bool,
    pub(super) grey: bool,
    /// Whether there is one sample of chroma for two columns and two rows.
    pub(super) halved: (bool, bool),
    pub(super) colours: Nclx,
    /// Whether the decoder keeps a second picture to scale it, and another to add grain to it.
    pub(super) scaled: bool,
    pub(super) grainy: bool,
}

impl Coded {
    /// None unless these are the bytes of exactly one key frame of the size its sequence has. More of them
    /// would each take the decoder's time and memory, and only one would be seen.
    pub(super) fn read(data: &[u8]) -> Option<Self> {
        let (mut sequence, mut frames) = (None, 0);
        let mut rest = data;
        for _ in 0..MAX_UNITS {
            if rest.is_empty() {
                break;
            }
            let (kind, body, after) = unit(rest)?;
            match (kind, &sequence) {
                (SEQUENCE_HEADER, None) => sequence = Some(Sequence::read(&mut Bits::new(body))?),
                // The same again is allowed, but nobody needs it.
                (SEQUENCE_HEADER, Some(_)) => return None,
                (FRAME | FRAME_HEADER, Some(sequence)) if frames == 0 => {
                    sequence.check_frame(&mut Bits::new(body))?;
                    frames += 1;
                }
                // To the decoder, a header again after the frame is a new frame.
                (FRAME | FRAME_HEADER | FRAME_HEADER_AGAIN, _) => return None,
                _ => {}
            }
            rest = after;
        }
        sequence.filter(|_| frames == 1 && rest.is_empty()).map(|sequence| sequence.coded)
    }
}

/// Kind and body of the first unit, and what follows it.
fn unit(data: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (header, mut rest) = data.split_first()?;
    if header & 4 != 0 {
        rest = rest.get(1..)?;
    }
    let kind = header >> 3 & 15;
    if header & 2 == 0 {
        return Some((kind, rest, &[]));
    }
    let mut length = 0;
    for place in 0..5 {
        let (byte, after) = rest.split_first()?;
        rest = after;
        length |= u64::from(byte & 0x7F) << (7 * place);
        if byte & 0x80 == 0 {
            let (body, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            return Some((kind, body, after));
        }
    }
    None
}

struct Sequence {
    coded: Coded,
    /// A short form for pictures that are no film. A frame header then has no size of its own.
    reduced: bool,
    /// Bits of what stands in front of a frame's size flag.
    time_bits: u32,
    id_bits: u32,
    choose_screen: bool,
    screen: bool,
    choose_whole_vectors: bool,
}

impl Sequence {
    fn read(bits: &mut Bits) -> Option<Self> {
        let profile = bits.take(3)?;
        let (_still, reduced) = (bits.flag()?, bits.flag()?);
        let mut time_bits = 0;
        if reduced {
            bits.take(5)?;
        } else {
            time_bits = operating_points(bits)?;
        }
        let (width_bits, height_bits) = (bits.take(4)? + 1, bits.take(4)? + 1);
        let (width, height) = (bits.take(width_bits)? + 1, bits.take(height_bits)? + 1);
        let mut id_bits = 0;
        if !reduced && bits.flag()? {
            id_bits = bits.take(4)? + bits.take(3)? + 3;
        }
        bits.take(3)?;
        let (mut choose_screen, mut screen, mut choose_whole_vectors) = (true, true, true);
        if !reduced {
            bits.take(4)?;
            let ordered = bits.flag()?;
            bits.take(if ordered { 2 } else { 0 })?;
            choose_screen = bits.flag()?;
            screen = choose_screen || bits.flag()?;
            if screen {
                choose_whole_vectors = bits.flag()?;
                bits.take(if choose_whole_vectors { 0 } else { 1 })?;
            }
            bits.take(if ordered { 3 } else { 0 })?;
        }
        let scaled = bits.flag()?;
        bits.take(2)?;
        let (deep, grey, halved, colours) = colours(bits, profile)?;
        let grainy = bits.flag()?;
        let coded = Coded { width, height, deep, grey, halved, colours, scaled, grainy };
        Some(Self { coded, reduced, time_bits, id_bits, choose_screen, screen, choose_whole_vectors })
    }

    /// None for a frame that is not shown, refers to others or has another size.
    fn check_frame(&self, bits: &mut Bits) -> Option<()> {
        if self.reduced {
            return Some(());
        }
        let (existing, kind, shown) = (bits.flag()?, bits.take(2)?, bits.flag()?);
        if existing || kind != 0 || !shown {
            return None;
        }
        bits.take(self.time_bits)?;
        let _keep_tables = bits.flag()?;
        let screen = if self.choose_screen { bits.flag()? } else { self.screen };
        if screen && self.choose_whole_vectors {
            bits.flag()?;
        }
        bits.take(self.id_bits)?;
        let own_size = bits.flag()?;
        (!own_size).then_some(())
    }
}

/// Skips what a sequence says of time. Gives the bits of a frame's time of presentation.
fn operating_points(bits: &mut Bits) -> Option<u32> {
    let (mut delay_bits, mut time_bits) = (0, 0);
    let timed = bits.flag()?;
    let mut modelled = false;
    if timed {
        bits.take(32)?;
        bits.take(32)?;
        let regular = bits.flag()?;
        if regular {
            let mut zeros = 0;
            while !bits.flag()? {
                zeros += 1;
            }
            bits.take(if zeros < 32 { zeros } else { 0 })?;
        }
        modelled = bits.flag()?;
        if modelled {
            delay_bits = bits.take(5)? + 1;
            bits.take(32)?;
            bits.take(5)?;
            let length = bits.take(5)? + 1;
            time_bits = if regular { 0 } else { length };
        }
    }
    let delayed = bits.flag()?;
    for _ in 0..=bits.take(5)? {
        bits.take(12)?;
        let level = bits.take(5)?;
        bits.take(if level > 7 { 1 } else { 0 })?;
        if modelled && bits.flag()? {
            bits.take(delay_bits)?;
            bits.take(delay_bits)?;
            bits.take(1)?;
        }
        if delayed && bits.flag()? {
            bits.take(4)?;
        }
    }
    Some(time_bits)
}

/// Whether samples have more than eight bits, whether there is no chroma, how it is halved, and the colours.
fn colours(bits: &mut Bits, profile: u32) -> Option<(bool, bool, (bool, bool), Nclx)> {
    let deep = bits.flag()?;
    let twelve = profile == 2 && deep && bits.flag()?;
    let grey = profile != 1 && bits.flag()?;
    let [_, primaries, transfer, matrix] = match bits.flag()? {
        true => bits.take(24)?.to_be_bytes().map(u16::from),
        // Unspecified.
        false => [2; 4],
    };
    // BT.709 primaries, the curve of sRGB, no matrix: that is RGB.
    let rgb = !grey && (primaries, transfer, matrix) == (1, 13, 0);
    let full_range = rgb || bits.flag()?;
    let halved = match profile {
        _ if grey => (true, true),
        _ if rgb => (false, false),
        0 => (true, true),
        1 => (false, false),
        _ if twelve => {
            let across = bits.flag()?;
            (across, across && bits.flag()?)
        }
        _ => (true, false),
    };
    if !grey {
        // Where chroma lies, and whether both of its planes are scaled alike.
        let placed = !rgb && halved == (true, true);
        bits.take(if placed { 3 } else { 1 })?;
    }
    Some((deep, grey, halved, Nclx { primaries, transfer, matrix, full_range }))
}

struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bits<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn flag(&mut self) -> Option<bool> {
        let byte = self.bytes.get(self.at / 8)?;
        let bit = byte >> (7 - self.at % 8) & 1;
        self.at += 1;
        Some(bit == 1)
    }

    /// At most 32 of them.
    fn take(&mut self, count: u32) -> Option<u32> {
        let mut number = 0;
        for _ in 0..count {
            number = number << 1 | u32::from(self.flag()?);
        }
        Some(number)
    }
}
