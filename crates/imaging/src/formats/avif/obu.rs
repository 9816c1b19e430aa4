//! Parses AV1 OBU headers, to check a coded image and to estimate its memory before decoding.

use crate::formats::heif::ycbcr::Nclx;

const SEQUENCE_HEADER: u8 = 1;
const FRAME_HEADER: u8 = 3;
const FRAME: u8 = 6;
const REDUNDANT_FRAME_HEADER: u8 = 7;

/// An image with padding and metadata has about five OBUs.
const MAX_OBUS: usize = 64;

/// The parameters of one coded image, from its sequence header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameInfo {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) high_bit_depth: bool,
    pub(super) monochrome: bool,
    /// Whether chroma is subsampled horizontally and vertically.
    pub(super) subsampled: (bool, bool),
    pub(super) nclx: Nclx,
    /// Whether the decoder allocates a second image for super-resolution, and another for film grain.
    pub(super) superres: bool,
    pub(super) film_grain: bool,
}

impl FrameInfo {
    /// None unless the data is exactly one key frame with the size of its sequence header. Further frames
    /// would cost decoding time and memory without being displayed.
    pub(super) fn read(data: &[u8]) -> Option<Self> {
        let (mut sequence, mut frames) = (None, 0);
        let mut rest = data;
        for _ in 0..MAX_OBUS {
            if rest.is_empty() {
                break;
            }
            let (kind, body, after) = obu(rest)?;
            match (kind, &sequence) {
                (SEQUENCE_HEADER, None) => sequence = Some(SequenceHeader::read(&mut BitReader::new(body))?),
                // Repeated sequence headers are legal, but no encoder writes them in a still image.
                (SEQUENCE_HEADER, Some(_)) => return None,
                (FRAME | FRAME_HEADER, Some(sequence)) if frames == 0 => {
                    sequence.check_frame(&mut BitReader::new(body))?;
                    frames += 1;
                }
                // rav1d decodes a repeated frame header after the frame as a new frame.
                (FRAME | FRAME_HEADER | REDUNDANT_FRAME_HEADER, _) => return None,
                _ => {}
            }
            rest = after;
        }
        sequence.filter(|_| frames == 1 && rest.is_empty()).map(|sequence| sequence.frame_info)
    }
}

/// Type and payload of the first OBU, and the bytes after it.
fn obu(data: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (header, mut rest) = data.split_first()?;
    if header & 4 != 0 {
        rest = rest.get(1..)?;
    }
    let kind = header >> 3 & 15;
    if header & 2 == 0 {
        return Some((kind, rest, &[]));
    }
    let mut length = 0;
    for index in 0..5 {
        let (byte, after) = rest.split_first()?;
        rest = after;
        length |= u64::from(byte & 0x7F) << (7 * index);
        if byte & 0x80 == 0 {
            let (body, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            return Some((kind, body, after));
        }
    }
    None
}

struct SequenceHeader {
    frame_info: FrameInfo,
    /// A frame header then has no frame type and no size of its own.
    reduced_still_picture_header: bool,
    /// Widths of fields that precede `frame_size_override_flag` in a frame header.
    presentation_time_bits: u32,
    frame_id_bits: u32,
    choose_screen_content_tools: bool,
    screen_content_tools: bool,
    choose_integer_mv: bool,
}

impl SequenceHeader {
    fn read(bits: &mut BitReader) -> Option<Self> {
        let profile = bits.read(3)?;
        let (_still, reduced_still_picture_header) = (bits.flag()?, bits.flag()?);
        let mut presentation_time_bits = 0;
        if reduced_still_picture_header {
            bits.read(5)?;
        } else {
            presentation_time_bits = operating_points(bits)?;
        }
        let (width_bits, height_bits) = (bits.read(4)? + 1, bits.read(4)? + 1);
        let (width, height) = (bits.read(width_bits)? + 1, bits.read(height_bits)? + 1);
        let mut frame_id_bits = 0;
        if !reduced_still_picture_header && bits.flag()? {
            frame_id_bits = bits.read(4)? + bits.read(3)? + 3;
        }
        bits.read(3)?;
        let (mut choose_screen_content_tools, mut screen_content_tools) = (true, true);
        let mut choose_integer_mv = true;
        if !reduced_still_picture_header {
            bits.read(4)?;
            let order_hint = bits.flag()?;
            bits.read(if order_hint { 2 } else { 0 })?;
            choose_screen_content_tools = bits.flag()?;
            screen_content_tools = choose_screen_content_tools || bits.flag()?;
            if screen_content_tools {
                choose_integer_mv = bits.flag()?;
                bits.read(if choose_integer_mv { 0 } else { 1 })?;
            }
            bits.read(if order_hint { 3 } else { 0 })?;
        }
        let superres = bits.flag()?;
        bits.read(2)?;
        let (high_bit_depth, monochrome, subsampled, nclx) = color_config(bits, profile)?;
        let film_grain = bits.flag()?;
        let frame_info =
            FrameInfo { width, height, high_bit_depth, monochrome, subsampled, nclx, superres, film_grain };
        Some(Self {
            frame_info,
            reduced_still_picture_header,
            presentation_time_bits,
            frame_id_bits,
            choose_screen_content_tools,
            screen_content_tools,
            choose_integer_mv,
        })
    }

    /// None for a frame that is not shown, is not a key frame or overrides the frame size.
    fn check_frame(&self, bits: &mut BitReader) -> Option<()> {
        if self.reduced_still_picture_header {
            return Some(());
        }
        let (show_existing_frame, frame_type, show_frame) = (bits.flag()?, bits.read(2)?, bits.flag()?);
        if show_existing_frame || frame_type != 0 || !show_frame {
            return None;
        }
        bits.read(self.presentation_time_bits)?;
        let _disable_cdf_update = bits.flag()?;
        let screen_content_tools =
            if self.choose_screen_content_tools { bits.flag()? } else { self.screen_content_tools };
        if screen_content_tools && self.choose_integer_mv {
            bits.flag()?;
        }
        bits.read(self.frame_id_bits)?;
        let frame_size_override = bits.flag()?;
        (!frame_size_override).then_some(())
    }
}

/// Skips timing info, decoder model and operating points. Returns the width of `frame_presentation_time`.
fn operating_points(bits: &mut BitReader) -> Option<u32> {
    let (mut buffer_delay_bits, mut presentation_time_bits) = (0, 0);
    let timing_info_present = bits.flag()?;
    let mut decoder_model_info_present = false;
    if timing_info_present {
        bits.read(32)?;
        bits.read(32)?;
        let equal_picture_interval = bits.flag()?;
        if equal_picture_interval {
            let mut zeros = 0;
            while !bits.flag()? {
                zeros += 1;
            }
            bits.read(if zeros < 32 { zeros } else { 0 })?;
        }
        decoder_model_info_present = bits.flag()?;
        if decoder_model_info_present {
            buffer_delay_bits = bits.read(5)? + 1;
            bits.read(32)?;
            bits.read(5)?;
            let length = bits.read(5)? + 1;
            presentation_time_bits = if equal_picture_interval { 0 } else { length };
        }
    }
    let initial_display_delay_present = bits.flag()?;
    for _ in 0..=bits.read(5)? {
        bits.read(12)?;
        let level = bits.read(5)?;
        bits.read(if level > 7 { 1 } else { 0 })?;
        if decoder_model_info_present && bits.flag()? {
            bits.read(buffer_delay_bits)?;
            bits.read(buffer_delay_bits)?;
            bits.read(1)?;
        }
        if initial_display_delay_present && bits.flag()? {
            bits.read(4)?;
        }
    }
    Some(presentation_time_bits)
}

/// Parses `color_config`: high bit depth, monochrome, chroma subsampling and colour description.
fn color_config(bits: &mut BitReader, profile: u32) -> Option<(bool, bool, (bool, bool), Nclx)> {
    let high_bit_depth = bits.flag()?;
    let twelve_bit = profile == 2 && high_bit_depth && bits.flag()?;
    let monochrome = profile != 1 && bits.flag()?;
    let [_, primaries, transfer, matrix] = match bits.flag()? {
        true => bits.read(24)?.to_be_bytes().map(u16::from),
        // Unspecified.
        false => [2; 4],
    };
    // BT.709 primaries, sRGB transfer, identity matrix: the planes are RGB.
    let rgb = !monochrome && (primaries, transfer, matrix) == (1, 13, 0);
    let full_range = rgb || bits.flag()?;
    let subsampled = match profile {
        _ if monochrome => (true, true),
        _ if rgb => (false, false),
        0 => (true, true),
        1 => (false, false),
        _ if twelve_bit => {
            let horizontal = bits.flag()?;
            (horizontal, horizontal && bits.flag()?)
        }
        _ => (true, false),
    };
    if !monochrome {
        // `chroma_sample_position` and `separate_uv_delta_q`.
        let has_sample_position = !rgb && subsampled == (true, true);
        bits.read(if has_sample_position { 3 } else { 1 })?;
    }
    Some((high_bit_depth, monochrome, subsampled, Nclx { primaries, transfer, matrix, full_range }))
}

struct BitReader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> BitReader<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    fn flag(&mut self) -> Option<bool> {
        let byte = self.bytes.get(self.position / 8)?;
        let bit = byte >> (7 - self.position % 8) & 1;
        self.position += 1;
        Some(bit == 1)
    }

    /// At most 32 bits.
    fn read(&mut self, count: u32) -> Option<u32> {
        let mut value = 0;
        for _ in 0..count {
            value = value << 1 | u32::from(self.flag()?);
        }
        Some(value)
    }
}
