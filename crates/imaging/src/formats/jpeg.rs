//! JPEG: parses markers for the header and decodes with the Rust port of libjpeg-turbo.

pub(super) mod strip;

use libjpeg_turbo_rs::tj3::{TjHandle, TjParam};
use libjpeg_turbo_rs::{self as turbojpeg, yuv_plane_height, yuv_plane_width};
use libjpeg_turbo_rs::{ColorSpace, ComponentInfo, DecodeLimits, DecodeWarning, Decoder, PixelFormat};
use libjpeg_turbo_rs::{RawImage, ScalingFactor};
use model::master_sides;

use crate::decoded_image::{ColourSpace, DecodedImage, Header, Raster, bytes_at, header_mismatch};
use crate::error::Error;
use crate::input_format::InputFormat;
use crate::limits::Limits;
use crate::metadata::exif;
use crate::orient::Orientation;
use crate::pixels::{Channels, Pixels};
use crate::planes::{Plane, Planes};

/// Encoders write about ten scans. Each one costs a pass over the whole image and needs few bytes of file.
const MAX_SCANS: usize = 64;

/// Cameras write a few dozen segments.
const MAX_SEGMENTS: usize = 1024;

const SOI: u8 = 0xD8;
const EOI: u8 = 0xD9;
const SOS: u8 = 0xDA;
const APP1: u8 = 0xE1;
const APP14: u8 = 0xEE;

pub(super) fn header(file: &[u8], limits: &Limits) -> Result<Header, Error> {
    let (mut frame, mut orientation, mut adobe) = (None, None, None);
    for segment in segments(file).take(MAX_SEGMENTS) {
        match segment.marker {
            0xC4 | 0xC8 | 0xCC => {}
            0xC0..=0xCF => frame = Some(Frame::read(&segment)?),
            APP1 => orientation = orientation.or_else(|| exif_orientation(segment.body)),
            APP14 => adobe = adobe.or(segment.adobe_transform()),
            SOS => {
                let frame = frame.ok_or_else(|| Error::damaged("a JPEG scan before its frame header"))?;
                limits.check(frame.width.into(), frame.height.into())?;
                frame.check_scans(file, &segment)?;
                return Ok(Header {
                    format: InputFormat::Jpeg,
                    width: frame.width.into(),
                    height: frame.height.into(),
                    orientation: orientation.unwrap_or(Orientation::NoTransforms),
                    channels: frame.channels(),
                    // The decoder copies the bytes before the scan and joins the segments of an ICC profile.
                    decode_memory: frame.decode_memory(adobe) + 2 * segment.end as u64,
                });
            }
            _ => {}
        }
    }
    Err(Error::damaged("a JPEG without a scan in its first 1024 segments"))
}

/// Decodes at 1/2, 1/4 or 1/8 scale if enough pixels remain (shrink-on-load): the scaled inverse DCT is
/// faster and takes a quarter, a sixteenth or a 64th of the memory.
pub(super) fn decode(file: &[u8], header: &Header, side: u32) -> Result<DecodedImage, Error> {
    let decoder = open_decoder(file, header)?;
    // An ICC profile with missing segments is ignored.
    let profile = decoder.icc_profile().unwrap_or_default();
    let short_side = header.width.min(header.height);
    let shrink = shrink(short_side, side);
    // Planes make resizing cheaper. If the scaled decode yields the requested size there is no resize.
    let needs_no_resize = shrink > 1 && short_side == side * shrink;
    let raster = match decoder.jpeg_color_space() {
        ColorSpace::Grayscale => decode_planes(file, header, shrink)?,
        ColorSpace::YCbCr if !needs_no_resize => decode_planes(file, header, shrink)?,
        ColorSpace::Cmyk | ColorSpace::Ycck => Raster::Pixels(cmyk_pixels(file, header, shrink)?),
        _ => Raster::Pixels(decode_pixels(decoder, shrink, PixelFormat::Rgb)?),
    };
    Ok(DecodedImage { raster, colour_space: ColourSpace::from_icc(profile) })
}

/// The largest decode denominator that leaves at least `side` pixels of the short side.
fn shrink(short_side: u32, side: u32) -> u32 {
    [8, 4, 2].into_iter().find(|shrink| short_side / shrink >= side).unwrap_or(1)
}

fn open_decoder<'file>(file: &'file [u8], header: &Header) -> Result<Decoder<'file>, Error> {
    let limits = DecodeLimits {
        max_width: header.width as usize,
        max_height: header.height as usize,
        max_scans: MAX_SCANS,
        ..DecodeLimits::default()
    };
    let decoder = Decoder::new_with_limits(file, limits).map_err(Error::damaged)?;
    let frame = decoder.header();
    match (frame.width(), frame.height()) == (header.width as usize, header.height as usize) {
        true => Ok(decoder),
        false => Err(header_mismatch()),
    }
}

/// Strict decoding first, which is the fast path. On an error the file is decoded again in lenient mode.
fn decode_planes(file: &[u8], header: &Header, shrink: u32) -> Result<Raster, Error> {
    let strict = match shrink {
        1 => open_decoder(file, header)?.decode_raw(),
        _ => decode_scaled_planes(file, shrink),
    };
    let raw = match (strict, shrink) {
        (Ok(raw), _) => raw,
        (Err(_), 1) => {
            let (raw, warnings) = open_decoder(file, header)?
                .with_lenient(true)
                .decode_raw_with_warnings()
                .map_err(Error::damaged)?;
            check_viewable(&warnings)?;
            raw
        }
        // Scaled planes are available in strict mode only, so fall back to pixels.
        (Err(_), _) => {
            return decode_pixels(open_decoder(file, header)?, shrink, PixelFormat::Rgb).map(Raster::Pixels);
        }
    };
    let decoder = open_decoder(file, header)?;
    let components = &decoder.header().components;
    let max = |factor: fn(&ComponentInfo) -> u8| components.iter().map(factor).max().unwrap_or(1).max(1);
    let (max_horizontal, max_vertical) = (max(|c| c.horizontal_sampling), max(|c| c.vertical_sampling));

    let planes = raw.planes.into_iter().zip(components).zip(raw.plane_widths.iter().zip(&raw.plane_heights));
    let planes = planes.map(|((samples, component), (width, height))| {
        Ok(Plane {
            width: u32::try_from(*width).map_err(Error::internal)?,
            height: u32::try_from(*height).map_err(Error::internal)?,
            samples,
            scale_x: f64::from(component.horizontal_sampling) / f64::from(max_horizontal),
            scale_y: f64::from(component.vertical_sampling) / f64::from(max_vertical),
        })
    });
    let planes = planes.collect::<Result<_, Error>>()?;
    Planes::new(header.width.div_ceil(shrink), header.height.div_ceil(shrink), planes).map(Raster::Planes)
}

fn decode_scaled_planes(file: &[u8], shrink: u32) -> turbojpeg::Result<RawImage> {
    let mut handle = TjHandle::new();
    handle.set(TjParam::ScanLimit, MAX_SCANS as i32)?;
    handle.set_scaling_factor(1, shrink)?;
    let (planes, width, height, subsampling) = handle.decompress_to_yuv_planes(file)?;
    let num_components = planes.len();
    Ok(RawImage {
        plane_widths: (0..num_components).map(|plane| yuv_plane_width(plane, width, subsampling)).collect(),
        plane_heights: (0..num_components)
            .map(|plane| yuv_plane_height(plane, height, subsampling))
            .collect(),
        planes,
        width,
        height,
        num_components,
    })
}

fn decode_pixels(decoder: Decoder, shrink: u32, format: PixelFormat) -> Result<Pixels, Error> {
    let scale = ScalingFactor::try_new(1, shrink).map_err(Error::internal)?;
    let image = decoder.with_lenient(true).with_scale(scale).with_output_format(format).decode_image();
    let image = image.map_err(Error::damaged)?;
    check_viewable(&image.warnings)?;
    Ok(Pixels {
        width: u32::try_from(image.width).map_err(Error::internal)?,
        height: u32::try_from(image.height).map_err(Error::internal)?,
        channels: if format == PixelFormat::Cmyk { Channels::Cmyk } else { Channels::Rgb },
        bytes: image.data,
    })
}

/// Adobe software, which writes most CMYK JPEGs, stores inverted ink amounts.
fn cmyk_pixels(file: &[u8], header: &Header, shrink: u32) -> Result<Pixels, Error> {
    let mut pixels = decode_pixels(open_decoder(file, header)?, shrink, PixelFormat::Cmyk)?;
    if segments(file).any(|segment| segment.adobe_transform().is_some()) {
        pixels.bytes.iter_mut().for_each(|ink| *ink = 255 - *ink);
    }
    Ok(pixels)
}

/// Browsers show partial images. An upload with half of its rows missing is rejected all the same, so the
/// uploader notices; up to 2 % of the MCUs may be missing.
fn check_viewable(warnings: &[DecodeWarning]) -> Result<(), Error> {
    for warning in warnings {
        match warning {
            DecodeWarning::TruncatedData { decoded_mcus, total_mcus }
                if total_mcus.saturating_sub(*decoded_mcus) > total_mcus / 50 + 1 =>
            {
                return Err(Error::damaged(warning));
            }
            // The decoder suppresses further warnings only after many corrupt blocks.
            DecodeWarning::WarningsSuppressed { .. } => return Err(Error::damaged(warning)),
            DecodeWarning::UnsupportedRecovered { .. } => {
                return Err(Error::Unsupported("a JPEG with a chroma resolution above its luma resolution"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// A start-of-frame (SOF) segment.
struct Frame {
    progressive: bool,
    width: u16,
    height: u16,
    components: Vec<Component>,
}

struct Component {
    id: u8,
    /// Sampling factors.
    horizontal_sampling: u64,
    vertical_sampling: u64,
}

impl Frame {
    fn read(segment: &Segment) -> Result<Self, Error> {
        if !(0xC0..=0xC2).contains(&segment.marker) {
            return Err(Error::Unsupported("an arithmetic, lossless or hierarchical JPEG"));
        }
        let [precision, h1, h0, w1, w0, components, rest @ ..] = segment.body else {
            return Err(Error::damaged("a truncated JPEG frame header"));
        };
        if *precision != 8 {
            return Err(Error::Unsupported("a JPEG with a bit depth other than 8"));
        }
        if !matches!(components, 1 | 3 | 4) {
            return Err(Error::Unsupported("a JPEG that is neither grey, RGB nor CMYK"));
        }
        let (triples, _) = rest.as_chunks::<3>();
        if triples.len() != usize::from(*components) {
            return Err(Error::damaged("a JPEG frame with missing components"));
        }
        let component = |[id, hv, _]: &[u8; 3]| Component {
            id: *id,
            horizontal_sampling: u64::from(hv >> 4),
            vertical_sampling: u64::from(hv & 15),
        };
        Ok(Self {
            progressive: segment.marker == 0xC2,
            width: u16::from_be_bytes([*w1, *w0]),
            height: u16::from_be_bytes([*h1, *h0]),
            components: triples.iter().map(component).collect(),
        })
    }

    fn check_scans(&self, file: &[u8], first: &Segment) -> Result<(), Error> {
        let components_in_first = first.body.first().copied().unwrap_or_default();
        let has_more_scans = self.progressive || usize::from(components_in_first) < self.components.len();
        if !has_more_scans {
            return Ok(());
        }
        let scans: Vec<Segment> = scans(file).take(MAX_SCANS + 1).collect();
        if scans.len() > MAX_SCANS {
            return Err(Error::Unsupported("a JPEG with more than 64 scans"));
        }
        // The decoder would output the scans that are present, like a browser that waits for more.
        let end = scans.last().map_or(0, |scan| scan.end);
        if self.progressive && !has_eoi(&file[end..]) && !self.is_complete(&scans) {
            return Err(Error::damaged("a progressive JPEG without its last scans"));
        }
        Ok(())
    }

    /// Whether the scans refine every coefficient of every component to its last bit.
    fn is_complete(&self, scans: &[Segment]) -> bool {
        self.components.iter().all(|component| {
            let mut missing = [true; 64];
            for scan in scans {
                let [components @ .., spectral_start, spectral_end, approximation] = scan.body else {
                    continue;
                };
                let (pairs, _) = components.get(1..).unwrap_or_default().as_chunks::<2>();
                if approximation & 15 == 0 && pairs.iter().any(|[id, _]| *id == component.id) {
                    let spectral_band = usize::from(*spectral_start)..=usize::from(*spectral_end).min(63);
                    missing.get_mut(spectral_band).unwrap_or_default().fill(false);
                }
            }
            !missing.contains(&true)
        })
    }

    fn channels(&self) -> Channels {
        match self.components.len() {
            1 => Channels::Grey,
            3 => Channels::Rgb,
            _ => Channels::Cmyk,
        }
    }

    /// Peak memory of decoding for ingest.
    fn decode_memory(&self, adobe: Option<u8>) -> u64 {
        let max =
            |factor: fn(&Component) -> u64| self.components.iter().map(factor).max().unwrap_or(1).max(1);
        let (max_horizontal, max_vertical) = (max(|c| c.horizontal_sampling), max(|c| c.vertical_sampling));
        let columns = u64::from(self.width).div_ceil(8 * max_horizontal);
        let rows = u64::from(self.height).div_ceil(8 * max_vertical);
        let blocks = columns
            * rows
            * self.components.iter().map(|c| c.horizontal_sampling * c.vertical_sampling).sum::<u64>();

        let short_side = u32::from(self.width.min(self.height));
        let shrink = shrink(short_side, master_sides(short_side).next().unwrap_or(short_side));
        let fraction = u64::from(shrink * shrink);
        let planes = 64 * blocks / fraction;
        let full_planes =
            64 * columns * max_horizontal * rows * max_vertical * self.components.len() as u64 / fraction;
        let decoded = match self.is_ycbcr_or_grey(adobe) && shrink == 1 {
            true => planes,
            // Interleaved pixels are converted from planes upsampled to full resolution.
            false => planes + 2 * full_planes,
        };
        // All coefficients, two bytes each, and one byte of state per block.
        let coefficients = if self.progressive { 129 * blocks } else { 0 };
        decoded + coefficients + (1 << 20)
    }

    /// Whether the components are certainly YCbCr or grey. The decoder checks more than this; in the cases
    /// excluded here it may treat them as RGB.
    fn is_ycbcr_or_grey(&self, adobe: Option<u8>) -> bool {
        let ids = self.components.iter().map(|component| component.id);
        match self.components.len() {
            1 => true,
            3 => adobe != Some(0) && !ids.eq(*b"RGB"),
            _ => false,
        }
    }
}

fn scans(file: &[u8]) -> impl Iterator<Item = Segment<'_>> {
    segments(file).filter(|segment| segment.marker == SOS)
}

/// Whether an EOI marker follows. It cannot occur within a scan.
fn has_eoi(data: &[u8]) -> bool {
    data.windows(2).any(|pair| pair == [0xFF, EOI])
}

fn exif_orientation(segment: &[u8]) -> Option<Orientation> {
    let exif = segment.strip_prefix(b"Exif\0\0")?;
    Some(exif::orientation(exif))
}

struct Segment<'file> {
    marker: u8,
    body: &'file [u8],
    /// Offset of the end of the body in the file.
    end: usize,
}

impl Segment<'_> {
    /// The colour transform of an Adobe APP14 segment.
    fn adobe_transform(&self) -> Option<u8> {
        let body = (self.marker == APP14).then_some(self.body)?;
        body.strip_prefix(b"Adobe")?.get(6).copied()
    }
}

/// The segments up to EOI or the first truncated one.
fn segments(file: &[u8]) -> impl Iterator<Item = Segment<'_>> {
    let mut offset = 2;
    std::iter::from_fn(move || {
        let (marker, start) = next_marker(file, offset)?;
        let length = u16::from_be_bytes(bytes_at(file, start)?);
        offset = start + usize::from(length);
        let body = file.get(start + 2..offset)?;
        Some(Segment { marker, body, end: offset })
    })
}

/// The next marker that starts a segment, and the offset after it.
fn next_marker(file: &[u8], mut offset: usize) -> Option<(u8, usize)> {
    loop {
        offset += file.get(offset..)?.iter().position(|byte| *byte == 0xFF)?;
        offset += file.get(offset..)?.iter().position(|byte| *byte != 0xFF)?;
        match *file.get(offset)? {
            // Stuffed bytes and restart markers of a scan, or a second SOI.
            0x00 | 0x01 | 0xD0..=0xD7 | SOI => {}
            EOI => return None,
            marker => return Some((marker, offset + 1)),
        }
    }
}
