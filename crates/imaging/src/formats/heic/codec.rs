//! The headers of an HEVC picture: what its decoder will need, before it is asked.

use heic_decoder::HeifError;
use heic_decoder::bitreader::strip_emulation_prevention;
use heic_decoder::hevc::nal::{NAL_PPS, NAL_SPS, is_slice_nal, parse_nal_header};
use heic_decoder::hevc::params::{Pps, Sps, parse_pps, parse_sps};
use heic_decoder::hevc::slice::parse_slice_header;
use heic_decoder::isobmff::{HevcDecoderConfig, HevcNalArray};

use crate::error::Error;
use crate::formats::heif::still::Still;
use crate::formats::heif::ycbcr::Nclx;
use crate::isobmff::Reader;
use crate::picture::other_picture;

/// What decoding one coded picture may take, at 14 to 21 bytes for each pixel: of the usual kind, 24
/// megapixels. Phones cut their photos into tiles of 512 × 512, so only other programs' files meet this.
const MAX_MEMORY: u64 = 320 << 20;

/// What all tiles of a picture share.
pub(super) struct Codec {
    pub(super) config: HevcDecoderConfig,
    sps: Sps,
    pps: Pps,
}

impl Codec {
    pub(super) fn read(still: &Still) -> Result<Self, Error> {
        if still.kind != *b"hvc1" {
            return Err(other_picture());
        }
        let config = config(still.config).ok_or_else(|| Error::damaged("a broken HEVC configuration"))?;
        let sps = parameters(&config, NAL_SPS, parse_sps)?;
        let pps = parameters(&config, NAL_PPS, parse_pps)?;
        let codec = Self { config, sps, pps };

        let [left, right, top, bottom] = codec.sps.conformance_window;
        let (coded_width, coded_height) = codec.coded();
        let shown = (coded_width.checked_sub(left + right), coded_height.checked_sub(top + bottom));
        // The window cuts off what fills up the last blocks, and no more.
        let fills = left + right <= 64 && top + bottom <= 64;
        if shown != (Some(still.tile_width), Some(still.tile_height)) || !fills {
            return Err(other_picture());
        }
        let grey = codec.sps.chroma_format_idc == 0;
        let even = grey || codec.sps.bit_depth_luma == codec.sps.bit_depth_chroma;
        if !even || codec.sps.bit_depth_luma > 12 {
            return Err(Error::Unsupported("a HEIC picture of this depth"));
        }
        let memory = codec.memory();
        if memory > MAX_MEMORY {
            let max_pixels = MAX_MEMORY * codec.pixels() / memory / 1_000_000 * 1_000_000;
            return Err(Error::TooLarge { width: still.width, height: still.height, max_pixels });
        }
        Ok(codec)
    }

    fn coded(&self) -> (u32, u32) {
        (self.sps.pic_width_in_luma_samples, self.sps.pic_height_in_luma_samples)
    }

    fn pixels(&self) -> u64 {
        u64::from(self.coded().0) * u64::from(self.coded().1)
    }

    /// Samples of luma and chroma.
    fn samples(&self) -> u64 {
        match self.sps.chroma_format_idc {
            0 => self.pixels(),
            1 => self.pixels() * 3 / 2,
            2 => self.pixels() * 2,
            _ => self.pixels() * 3,
        }
    }

    /// The most bytes of decoding: for each sample four and a mark, two for notes on every block of four by
    /// four, and one plane again while its edges are smoothed.
    pub(super) fn memory(&self) -> u64 {
        5 * self.samples() + (2 + 4) * self.pixels()
    }

    pub(super) fn colours(&self) -> Nclx {
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

    pub(super) fn depth(&self) -> u32 {
        self.sps.bit_depth_luma
    }

    /// Whether there is one sample of chroma for two columns and two rows.
    pub(super) fn halved(&self) -> (bool, bool) {
        (matches!(self.sps.chroma_format_idc, 1 | 2), self.sps.chroma_format_idc == 1)
    }

    /// Left and top of what is shown of a coded picture.
    pub(super) fn corner(&self) -> (usize, usize) {
        let [left, _, top, _] = self.sps.conformance_window;
        (left as usize, top as usize)
    }

    /// Refuses a tile that has more units or entry points than its rows of blocks can use. The decoder keeps
    /// them all before it looks at any, and they can be forged to weigh 300 times their bytes.
    pub(super) fn check(&self, data: &[u8]) -> Result<(), Error> {
        let rows = (self.coded().1 as usize).div_ceil(1 << self.sps.ctb_log2_size_y());
        let (mut units, mut entries) = (0, 0);
        let mut rest = data;
        while !rest.is_empty() {
            let (unit, after) = self.unit(rest).ok_or_else(|| Error::damaged("a HEIC tile is cut short"))?;
            let (unit, body) = parse_nal_header(unit).map_err(error)?;
            if is_slice_nal(unit.nal_unit_type) && unit.nuh_layer_id == 0 {
                let head = body.get(..256 + 8 * rows).unwrap_or(body);
                let head = strip_emulation_prevention(head);
                let slice = parse_slice_header(&head, unit.nal_unit_type, &self.sps, &self.pps);
                entries += slice.map_err(error)?.0.entry_point_offsets.len();
            }
            units += 1;
            if units > rows + 64 || entries > rows {
                return Err(Error::damaged("a HEIC tile of too many parts"));
            }
            rest = after;
        }
        Ok(())
    }

    fn unit<'a>(&self, data: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let (length, rest) = data.split_at_checked(usize::from(self.config.length_size_minus_one) + 1)?;
        rest.split_at_checked(length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)))
    }
}

/// The first parameter set of a kind, which is the one the decoder takes.
fn parameters<T>(
    config: &HevcDecoderConfig,
    kind: u8,
    parse: impl Fn(&[u8]) -> Result<T, HeifError>,
) -> Result<T, Error> {
    for unit in config.nalus_of_type(kind) {
        let (unit, body) = parse_nal_header(unit).map_err(error)?;
        if unit.nal_unit_type == kind && unit.nuh_layer_id == 0 {
            return parse(&strip_emulation_prevention(body)).map_err(error);
        }
    }
    Err(Error::damaged("a HEIC picture without parameters"))
}

/// The body of `hvcC`: of its fixed part only the size of lengths matters, all else is said again within.
fn config(body: &[u8]) -> Option<HevcDecoderConfig> {
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
        // The decoder asks for no others, and empty ones would weigh more than their bytes.
        if matches!(nal_unit_type, NAL_SPS | NAL_PPS) {
            arrays.push(HevcNalArray { nal_unit_type, nalus });
        }
    }
    Some(HevcDecoderConfig { length_size_minus_one, arrays, ..HevcDecoderConfig::default() })
}

pub(super) fn error(error: HeifError) -> Error {
    match error {
        HeifError::Unsupported(_) => Error::Unsupported("this kind of HEIC picture"),
        error => Error::damaged(error),
    }
}
