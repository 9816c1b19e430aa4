//! Parses HEVC parameter sets, to check a coded image and to estimate its memory before decoding.

use heic_decoder::HeifError;
use heic_decoder::bitreader::strip_emulation_prevention;
use heic_decoder::hevc::nal::{NAL_PPS, NAL_SPS, is_slice_nal, parse_nal_header};
use heic_decoder::hevc::params::{Pps, Sps, parse_pps, parse_sps};
use heic_decoder::hevc::slice::parse_slice_header;
use heic_decoder::isobmff::{HevcDecoderConfig, HevcNalArray};

use crate::decoded_image::header_mismatch;
use crate::error::Error;
use crate::formats::heif::image_item::ImageItem;
use crate::formats::heif::ycbcr::Nclx;
use crate::isobmff::Reader;

/// Memory limit for decoding one coded image, which takes 14 to 21 bytes per pixel: 24 megapixels of 4:2:0.
/// Phones write tiles of 512 × 512, so only single images of other encoders reach it.
const MAX_DECODE_MEMORY: u64 = 320 << 20;

/// The `hvcC` configuration and the SPS and PPS, which all tiles of an image share.
pub(super) struct ParameterSets {
    pub(super) config: HevcDecoderConfig,
    sps: Sps,
    pps: Pps,
}

impl ParameterSets {
    pub(super) fn read(item: &ImageItem) -> Result<Self, Error> {
        if item.kind != *b"hvc1" {
            return Err(header_mismatch());
        }
        let config =
            decoder_config(item.config).ok_or_else(|| Error::damaged("a malformed HEVC configuration"))?;
        let sps = first_parameter_set(&config, NAL_SPS, parse_sps)?;
        let pps = first_parameter_set(&config, NAL_PPS, parse_pps)?;
        let parameters = Self { config, sps, pps };

        let [left, right, top, bottom] = parameters.sps.conformance_window;
        let (coded_width, coded_height) = parameters.coded_size();
        let displayed = (coded_width.checked_sub(left + right), coded_height.checked_sub(top + bottom));
        // The conformance window may only crop the padding to whole blocks.
        let is_padding = left + right <= 64 && top + bottom <= 64;
        if displayed != (Some(item.tile_width), Some(item.tile_height)) || !is_padding {
            return Err(header_mismatch());
        }
        let equal_depths =
            parameters.is_monochrome() || parameters.sps.bit_depth_luma == parameters.sps.bit_depth_chroma;
        if !equal_depths || parameters.sps.bit_depth_luma > 12 {
            return Err(Error::Unsupported("a HEIC image of this bit depth"));
        }
        let memory = parameters.decode_memory();
        if memory > MAX_DECODE_MEMORY {
            let max_pixels = MAX_DECODE_MEMORY * parameters.pixels() / memory / 1_000_000 * 1_000_000;
            return Err(Error::TooLarge { width: item.width, height: item.height, max_pixels });
        }
        Ok(parameters)
    }

    fn coded_size(&self) -> (u32, u32) {
        (self.sps.pic_width_in_luma_samples, self.sps.pic_height_in_luma_samples)
    }

    fn pixels(&self) -> u64 {
        u64::from(self.coded_size().0) * u64::from(self.coded_size().1)
    }

    /// The number of luma and chroma samples.
    fn samples(&self) -> u64 {
        match self.sps.chroma_format_idc {
            0 => self.pixels(),
            1 => self.pixels() * 3 / 2,
            2 => self.pixels() * 2,
            _ => self.pixels() * 3,
        }
    }

    /// Peak memory of the decoder. Per sample: four bytes and a flag. Per pixel: two bytes of metadata of its
    /// 4 × 4 block, and four for the copy of a plane during in-loop filtering.
    pub(super) fn decode_memory(&self) -> u64 {
        5 * self.samples() + (2 + 4) * self.pixels()
    }

    pub(super) fn nclx(&self) -> Nclx {
        match self.sps.color_info {
            Some(info) => Nclx {
                primaries: info.color_primaries,
                transfer: info.transfer_characteristics,
                matrix: info.matrix_coefficients,
                full_range: info.full_range,
            },
            None => Nclx { primaries: 2, transfer: 2, matrix: 2, full_range: false },
        }
    }

    pub(super) fn is_monochrome(&self) -> bool {
        self.sps.chroma_format_idc == 0
    }

    pub(super) fn bit_depth(&self) -> u32 {
        self.sps.bit_depth_luma
    }

    /// Whether chroma is subsampled horizontally and vertically.
    pub(super) fn subsampled(&self) -> (bool, bool) {
        (matches!(self.sps.chroma_format_idc, 1 | 2), self.sps.chroma_format_idc == 1)
    }

    /// Left and top of the conformance window.
    pub(super) fn window_origin(&self) -> (usize, usize) {
        let [left, _, top, _] = self.sps.conformance_window;
        (left as usize, top as usize)
    }

    /// Rejects a tile with more NAL units or entry points than its CTB rows can use. The decoder collects
    /// them all before it reads any, and forged ones take 300 times their size in memory.
    pub(super) fn check_tile(&self, data: &[u8]) -> Result<(), Error> {
        let ctb_rows = (self.coded_size().1 as usize).div_ceil(1 << self.sps.ctb_log2_size_y());
        let (mut nal_units, mut entry_points) = (0, 0);
        let mut rest = data;
        while !rest.is_empty() {
            let (nal_unit, after) =
                self.nal_unit(rest).ok_or_else(|| Error::damaged("a truncated HEIC tile"))?;
            let (header, body) = parse_nal_header(nal_unit).map_err(decode_error)?;
            if is_slice_nal(header.nal_unit_type) && header.nuh_layer_id == 0 {
                let slice_header = body.get(..256 + 8 * ctb_rows).unwrap_or(body);
                let slice_header = strip_emulation_prevention(slice_header);
                let slice = parse_slice_header(&slice_header, header.nal_unit_type, &self.sps, &self.pps);
                entry_points += slice.map_err(decode_error)?.0.entry_point_offsets.len();
            }
            nal_units += 1;
            if nal_units > ctb_rows + 64 || entry_points > ctb_rows {
                return Err(Error::damaged("a HEIC tile with too many NAL units or entry points"));
            }
            rest = after;
        }
        Ok(())
    }

    fn nal_unit<'a>(&self, data: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let (length, rest) = data.split_at_checked(usize::from(self.config.length_size_minus_one) + 1)?;
        rest.split_at_checked(length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)))
    }
}

/// The first parameter set of a type, which is the one the decoder uses.
fn first_parameter_set<T>(
    config: &HevcDecoderConfig,
    kind: u8,
    parse: impl Fn(&[u8]) -> Result<T, HeifError>,
) -> Result<T, Error> {
    for nal_unit in config.nalus_of_type(kind) {
        let (header, body) = parse_nal_header(nal_unit).map_err(decode_error)?;
        if header.nal_unit_type == kind && header.nuh_layer_id == 0 {
            return parse(&strip_emulation_prevention(body)).map_err(decode_error);
        }
    }
    Err(Error::damaged("a HEIC image without its parameter sets"))
}

/// Parses `hvcC`. Of its fixed fields only the NAL length size is used; the SPS repeats the others.
fn decoder_config(body: &[u8]) -> Option<HevcDecoderConfig> {
    let length_size_minus_one = body.get(21)? & 3;
    let mut arrays = Vec::new();
    let mut rest = Reader(body.get(23..)?);
    for _ in 0..*body.get(22)? {
        let nal_unit_type = rest.u8()? & 0x3F;
        let mut nalus = Vec::new();
        for _ in 0..rest.u16()? {
            let length = rest.u16()?;
            nalus.push(rest.take(length.into())?.to_vec());
        }
        // The decoder reads no other types, and empty ones would take more memory than their bytes.
        if matches!(nal_unit_type, NAL_SPS | NAL_PPS) {
            arrays.push(HevcNalArray { nal_unit_type, nalus });
        }
    }
    Some(HevcDecoderConfig { length_size_minus_one, arrays, ..HevcDecoderConfig::default() })
}

pub(super) fn decode_error(error: HeifError) -> Error {
    match error {
        HeifError::Unsupported(_) => Error::Unsupported("this kind of HEIC image"),
        error => Error::damaged(error),
    }
}
