//! Parses AV1 OBU headers, to check a coded image and to estimate its memory before decoding.

use crate::formats::heif::image_item::LayerSelection;
use crate::formats::heif::ycbcr::Nclx;

const SEQUENCE_HEADER: u8 = 1;
const TEMPORAL_DELIMITER: u8 = 2;
const FRAME_HEADER: u8 = 3;
const FRAME: u8 = 6;
const REDUNDANT_FRAME_HEADER: u8 = 7;

/// An image with padding and metadata has about five OBUs.
const MAX_OBUS: usize = 64;

/// The parameters of one coded image, from its sequence header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameInfo {
    /// The largest frame. The layers below the highest one may be smaller.
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
    /// The frames to decode: one, or one for each spatial layer up to the one that is shown.
    pub(super) frames: u32,
}

/// The OBUs of a coded image that are decoded.
pub(super) struct CodedImage<'a> {
    pub(super) info: FrameInfo,
    obus: Vec<&'a [u8]>,
}

impl<'a> CodedImage<'a> {
    /// Selects the frames of the first temporal unit that the shown layer needs. Further frames would cost
    /// decoding time and memory without being displayed.
    ///
    /// None unless the first is a key frame, each has the size of the sequence header or is a layer, and the
    /// selected layer is present.
    pub(super) fn read(data: &'a [u8], selection: LayerSelection) -> Option<Self> {
        let mut sequence: Option<SequenceHeader> = None;
        let mut sequence_body: &[u8] = &[];
        let mut obus = Vec::new();
        let (mut frames, mut last_layer) = (0, 0);
        let mut rest = data;
        for read in 0.. {
            if rest.is_empty() {
                break;
            }
            if read == MAX_OBUS {
                return None;
            }
            let obu = Obu::read(rest)?;
            let (whole, after) = rest.split_at_checked(obu.length)?;
            rest = after;
            match (obu.kind, &sequence) {
                (SEQUENCE_HEADER, None) => {
                    sequence = Some(SequenceHeader::read(&mut BitReader::new(obu.body), selection)?);
                    sequence_body = obu.body;
                }
                // libaom repeats it before a key frame of a higher layer.
                (SEQUENCE_HEADER, Some(_)) if obu.body == sequence_body => continue,
                (SEQUENCE_HEADER, Some(_)) => return None,
                (TEMPORAL_DELIMITER, _) if frames > 0 => break,
                (FRAME | FRAME_HEADER, Some(sequence)) => {
                    let layer = obu.spatial_layer;
                    if !sequence.shows(&obu) || selection.layer.is_some_and(|shown| layer > shown) {
                        continue;
                    }
                    // A second frame of the same layer belongs to a later image.
                    if frames > 0 && (!sequence.is_layered() || layer <= last_layer) {
                        break;
                    }
                    sequence.check_frame(&mut BitReader::new(obu.body), frames == 0)?;
                    (frames, last_layer) = (frames + 1, layer);
                }
                // rav1d decodes a repeated frame header after the frame as a new frame.
                (REDUNDANT_FRAME_HEADER, _) | (FRAME | FRAME_HEADER, None) => return None,
                (_, Some(sequence)) if !sequence.shows(&obu) => continue,
                _ => {}
            }
            obus.push(whole);
        }
        let is_selected = selection.layer.is_none_or(|shown| frames > 0 && shown == last_layer);
        let info = sequence.filter(|_| frames > 0 && is_selected)?.frame_info;
        Some(Self { info: FrameInfo { frames, ..info }, obus })
    }

    pub(super) fn data(&self) -> Vec<u8> {
        self.obus.concat()
    }
}

struct Obu<'a> {
    kind: u8,
    /// The temporal and the spatial layer; 0 without an extension.
    temporal_layer: u8,
    spatial_layer: u8,
    has_extension: bool,
    body: &'a [u8],
    /// Including the header.
    length: usize,
}

impl<'a> Obu<'a> {
    /// The first OBU of the data.
    fn read(data: &'a [u8]) -> Option<Self> {
        let (header, mut rest) = data.split_first()?;
        let has_extension = header & 4 != 0;
        let mut extension = 0;
        if has_extension {
            (extension, rest) = rest.split_first().map(|(byte, rest)| (*byte, rest))?;
        }
        let has_size = header & 2 != 0;
        let length = if has_size { leb128(&mut rest)? } else { rest.len() };
        let body = rest.get(..length)?;
        Some(Self {
            kind: header >> 3 & 15,
            temporal_layer: extension >> 5,
            spatial_layer: extension >> 3 & 3,
            has_extension,
            body,
            length: data.len() - rest.len() + length,
        })
    }
}

/// A little-endian number of at most five bytes, with seven bits in each.
fn leb128(rest: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for index in 0..5 {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7F) << (7 * index);
        if byte & 0x80 == 0 {
            return usize::try_from(number).ok();
        }
    }
    None
}

struct SequenceHeader {
    frame_info: FrameInfo,
    /// The layers of the selected operating point: a bit for each temporal and each spatial one. 0 means all.
    operating_point: u32,
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
    fn read(bits: &mut BitReader, selection: LayerSelection) -> Option<Self> {
        let profile = bits.read(3)?;
        let (_still, reduced_still_picture_header) = (bits.flag()?, bits.flag()?);
        let (mut presentation_time_bits, mut operating_point) = (0, 0);
        if reduced_still_picture_header {
            bits.read(5)?;
        } else {
            (presentation_time_bits, operating_point) =
                operating_points(bits, selection.operating_point.into())?;
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
        let frame_info = FrameInfo {
            width,
            height,
            high_bit_depth,
            monochrome,
            subsampled,
            nclx,
            superres,
            film_grain,
            frames: 1,
        };
        Some(Self {
            frame_info,
            operating_point,
            reduced_still_picture_header,
            presentation_time_bits,
            frame_id_bits,
            choose_screen_content_tools,
            screen_content_tools,
            choose_integer_mv,
        })
    }

    /// Whether the operating point has more than one spatial layer.
    fn is_layered(&self) -> bool {
        (self.operating_point >> 8).count_ones() > 1
    }

    /// Whether the OBU belongs to the operating point.
    fn shows(&self, obu: &Obu) -> bool {
        let layers = self.operating_point;
        let in_layers = layers >> obu.temporal_layer & 1 == 1 && layers >> (8 + obu.spatial_layer) & 1 == 1;
        layers == 0 || !obu.has_extension || in_layers
    }

    /// None for a frame that is not shown, a first one that is not a key frame, and one that overrides the
    /// frame size without being a layer.
    fn check_frame(&self, bits: &mut BitReader, is_first: bool) -> Option<()> {
        if self.reduced_still_picture_header {
            return Some(());
        }
        let (show_existing_frame, frame_type, show_frame) = (bits.flag()?, bits.read(2)?, bits.flag()?);
        if show_existing_frame || !show_frame || (is_first && frame_type != 0) {
            return None;
        }
        if self.is_layered() {
            return Some(());
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

/// Skips timing info and decoder model. Returns the width of `frame_presentation_time`, and the layers of an
/// operating point: the first one if there are fewer.
fn operating_points(bits: &mut BitReader, selected: u32) -> Option<(u32, u32)> {
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
    let mut layers = 0;
    for index in 0..=bits.read(5)? {
        let point = bits.read(12)?;
        if index == 0 || index == selected {
            layers = point;
        }
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
    Some((presentation_time_bits, layers))
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
