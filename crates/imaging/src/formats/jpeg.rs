//! JPEG: a walk along its markers for the header, libjpeg-turbo's Rust port for the pixels.

pub(super) mod strip;

use libjpeg_turbo_rs::tj3::{TjHandle, TjParam};
use libjpeg_turbo_rs::{self as turbojpeg, yuv_plane_height, yuv_plane_width};
use libjpeg_turbo_rs::{ColorSpace, ComponentInfo, DecodeLimits, DecodeWarning, Decoder, PixelFormat};
use libjpeg_turbo_rs::{RawImage, ScalingFactor};
use model::master_sides;

use crate::error::Error;
use crate::input_format::InputFormat;
use crate::limits::Limits;
use crate::metadata::exif;
use crate::orient::Orientation;
use crate::picture::{Colours, Header, Picture, Raster, bytes_at, other_picture};
use crate::pixels::{Channels, Pixels};
use crate::planes::{Plane, Planes};

/// Encoders use about ten passes. Each costs a walk over the whole picture and next to no bytes.
const MAX_SCANS: usize = 64;

/// Cameras write a few dozen.
const MAX_SEGMENTS: usize = 1024;

const SOI: u8 = 0xD8;
const EOI: u8 = 0xD9;
const SOS: u8 = 0xDA;
const APP1: u8 = 0xE1;
const APP14: u8 = 0xEE;

pub(super) fn header(file: &[u8], limits: &Limits) -> Result<Header, Error> {
    let (mut frame, mut upright, mut adobe) = (None, None, None);
    for segment in segments(file).take(MAX_SEGMENTS) {
        match segment.marker {
            0xC4 | 0xC8 | 0xCC => {}
            0xC0..=0xCF => frame = Some(Frame::read(&segment)?),
            APP1 => upright = upright.or_else(|| exif_orientation(segment.body)),
            APP14 => adobe = adobe.or(segment.adobe_transform()),
            SOS => {
                let frame = frame.ok_or_else(|| Error::damaged("a JPEG scan without a frame"))?;
                limits.check(frame.width.into(), frame.height.into())?;
                frame.check_passes(file, &segment)?;
                return Ok(Header {
                    format: InputFormat::Jpeg,
                    width: frame.width.into(),
                    height: frame.height.into(),
                    orientation: upright.unwrap_or(Orientation::NoTransforms),
                    channels: frame.channels(),
                    // The decoder copies what stands before the scan, and joins the parts of a profile.
                    decoding: frame.decoding(adobe) + 2 * segment.end as u64,
                });
            }
            _ => {}
        }
    }
    Err(Error::damaged("a JPEG without a scan, or far behind its beginning"))
}

/// Decodes at a fraction of the size where that leaves enough pixels: the inverse transform then makes
/// only what is needed, and the picture takes a quarter, a sixteenth or less of the memory.
pub(super) fn decode(file: &[u8], header: &Header, side: u32) -> Result<Picture, Error> {
    let decoder = open(file, header)?;
    // A profile in pieces that do not fit together is no reason to refuse the picture.
    let profile = decoder.icc_profile().unwrap_or_default();
    let short = header.width.min(header.height);
    let shrink = shrink(short, side);
    // Planes save resizing, and where the decoder hits the size by itself there is nothing to save.
    let is_final = shrink > 1 && short == side * shrink;
    let raster = match decoder.jpeg_color_space() {
        ColorSpace::Grayscale => planes(file, header, shrink)?,
        ColorSpace::YCbCr if !is_final => planes(file, header, shrink)?,
        ColorSpace::Cmyk | ColorSpace::Ycck => Raster::Pixels(inks(file, header, shrink)?),
        _ => Raster::Pixels(pixels(decoder, shrink, PixelFormat::Rgb)?),
    };
    Ok(Picture { raster, colours: Colours::from_profile(profile) })
}

/// By how much a picture can be decoded smaller, so that this much is left of its short side.
fn shrink(short: u32, side: u32) -> u32 {
    [8, 4, 2].into_iter().find(|by| short / by >= side).unwrap_or(1)
}

fn open<'file>(file: &'file [u8], header: &Header) -> Result<Decoder<'file>, Error> {
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
        false => Err(other_picture()),
    }
}

/// Strictly first, which is the fast way. What is slightly damaged is read again, as far as it goes.
fn planes(file: &[u8], header: &Header, shrink: u32) -> Result<Raster, Error> {
    let strict = match shrink {
        1 => open(file, header)?.decode_raw(),
        _ => small_planes(file, shrink),
    };
    let raw = match (strict, shrink) {
        (Ok(raw), _) => raw,
        (Err(_), 1) => {
            let (raw, warnings) =
                open(file, header)?.with_lenient(true).decode_raw_with_warnings().map_err(Error::damaged)?;
            check_viewable(&warnings)?;
            raw
        }
        // Planes at a fraction of the size only come strictly.
        (Err(_), _) => return pixels(open(file, header)?, shrink, PixelFormat::Rgb).map(Raster::Pixels),
    };
    let decoder = open(file, header)?;
    let components = &decoder.header().components;
    let most = |factor: fn(&ComponentInfo) -> u8| components.iter().map(factor).max().unwrap_or(1).max(1);
    let (most_across, most_down) = (most(|c| c.horizontal_sampling), most(|c| c.vertical_sampling));

    let planes = raw.planes.into_iter().zip(components).zip(raw.plane_widths.iter().zip(&raw.plane_heights));
    let planes = planes.map(|((samples, component), (width, height))| {
        Ok(Plane {
            width: u32::try_from(*width).map_err(Error::internal)?,
            height: u32::try_from(*height).map_err(Error::internal)?,
            samples,
            across: f64::from(component.horizontal_sampling) / f64::from(most_across),
            down: f64::from(component.vertical_sampling) / f64::from(most_down),
        })
    });
    let planes = planes.collect::<Result<_, Error>>()?;
    Planes::new(header.width.div_ceil(shrink), header.height.div_ceil(shrink), planes).map(Raster::Planes)
}

fn small_planes(file: &[u8], shrink: u32) -> turbojpeg::Result<RawImage> {
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

fn pixels(decoder: Decoder, shrink: u32, format: PixelFormat) -> Result<Pixels, Error> {
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

/// Adobe's programs, which write most of these, store how much ink is missing.
fn inks(file: &[u8], header: &Header, shrink: u32) -> Result<Pixels, Error> {
    let mut inks = pixels(open(file, header)?, shrink, PixelFormat::Cmyk)?;
    if segments(file).any(|segment| segment.adobe_transform().is_some()) {
        inks.bytes.iter_mut().for_each(|ink| *ink = 255 - *ink);
    }
    Ok(inks)
}

/// Browsers show whatever they can. Half a picture is a broken upload all the same, and its sender should
/// hear of it: up to a fiftieth may be missing.
fn check_viewable(warnings: &[DecodeWarning]) -> Result<(), Error> {
    for warning in warnings {
        match warning {
            DecodeWarning::TruncatedData { decoded_mcus, total_mcus }
                if total_mcus.saturating_sub(*decoded_mcus) > total_mcus / 50 + 1 =>
            {
                return Err(Error::damaged(warning));
            }
            // As many spoiled blocks as the decoder bothers to list are too many.
            DecodeWarning::WarningsSuppressed { .. } => return Err(Error::damaged(warning)),
            DecodeWarning::UnsupportedRecovered { .. } => {
                return Err(Error::Unsupported("a JPEG with its colours finer than its brightness"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// A start-of-frame segment.
struct Frame {
    progressive: bool,
    width: u16,
    height: u16,
    components: Vec<Component>,
}

struct Component {
    id: u8,
    /// Sampling factors.
    across: u64,
    down: u64,
}

impl Frame {
    fn read(segment: &Segment) -> Result<Self, Error> {
        if !(0xC0..=0xC2).contains(&segment.marker) {
            return Err(Error::Unsupported("an arithmetic, lossless or hierarchical JPEG"));
        }
        let [precision, h1, h0, w1, w0, components, rest @ ..] = segment.body else {
            return Err(Error::damaged("a short JPEG frame"));
        };
        if *precision != 8 {
            return Err(Error::Unsupported("a JPEG of other than 8 bits"));
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
            across: u64::from(hv >> 4),
            down: u64::from(hv & 15),
        };
        Ok(Self {
            progressive: segment.marker == 0xC2,
            width: u16::from_be_bytes([*w1, *w0]),
            height: u16::from_be_bytes([*h1, *h0]),
            components: triples.iter().map(component).collect(),
        })
    }

    fn check_passes(&self, file: &[u8], first: &Segment) -> Result<(), Error> {
        let in_first = first.body.first().copied().unwrap_or_default();
        let may_repeat = self.progressive || usize::from(in_first) < self.components.len();
        if !may_repeat {
            return Ok(());
        }
        let scans: Vec<Segment> = scans(file).take(MAX_SCANS + 1).collect();
        if scans.len() > MAX_SCANS {
            return Err(Error::Unsupported("a JPEG in more than 64 passes"));
        }
        // The decoder shows what passes there are. Browsers do so too, while they wait for more.
        let end = scans.last().map_or(0, |scan| scan.end);
        if self.progressive && !is_closed(&file[end..]) && !self.is_whole(&scans) {
            return Err(Error::damaged("a progressive JPEG without its last passes"));
        }
        Ok(())
    }

    /// Whether the passes bring every coefficient of every component down to its last bit.
    fn is_whole(&self, scans: &[Segment]) -> bool {
        self.components.iter().all(|component| {
            let mut missing = [true; 64];
            for scan in scans {
                let [components @ .., from, to, bits] = scan.body else { continue };
                let (pairs, _) = components.get(1..).unwrap_or_default().as_chunks::<2>();
                if bits & 15 == 0 && pairs.iter().any(|[id, _]| *id == component.id) {
                    let band = usize::from(*from)..=usize::from(*to).min(63);
                    missing.get_mut(band).unwrap_or_default().fill(false);
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

    /// The most that decoding towards masters takes.
    fn decoding(&self, adobe: Option<u8>) -> u64 {
        let most =
            |factor: fn(&Component) -> u64| self.components.iter().map(factor).max().unwrap_or(1).max(1);
        let (across, down) = (most(|c| c.across), most(|c| c.down));
        let columns = u64::from(self.width).div_ceil(8 * across);
        let rows = u64::from(self.height).div_ceil(8 * down);
        let blocks = columns * rows * self.components.iter().map(|c| c.across * c.down).sum::<u64>();

        let short = u32::from(self.width.min(self.height));
        let shrink = shrink(short, master_sides(short).next().unwrap_or(short));
        let fraction = u64::from(shrink * shrink);
        let planes = 64 * blocks / fraction;
        let full_planes = 64 * columns * across * rows * down * self.components.len() as u64 / fraction;
        let decoded = match self.is_planar(adobe) && shrink == 1 {
            true => planes,
            // Interleaved pixels are made from planes, by way of planes at full resolution.
            false => planes + 2 * full_planes,
        };
        // All coefficients, two bytes each, and how far each block is filled.
        let coefficients = if self.progressive { 129 * blocks } else { 0 };
        decoded + coefficients + (1 << 20)
    }

    /// Whether the components are brightness and colour for certain. The decoder goes by more than this;
    /// these are the cases in which it may find red, green and blue.
    fn is_planar(&self, adobe: Option<u8>) -> bool {
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

/// Whether an end marker follows. It cannot occur within a scan.
fn is_closed(data: &[u8]) -> bool {
    data.windows(2).any(|pair| pair == [0xFF, EOI])
}

fn exif_orientation(segment: &[u8]) -> Option<Orientation> {
    let exif = segment.strip_prefix(b"Exif\0\0")?;
    Some(exif::orientation(exif))
}

struct Segment<'file> {
    marker: u8,
    body: &'file [u8],
    /// Where in the file the body ends.
    end: usize,
}

impl Segment<'_> {
    /// What Adobe's own segment says of the colours.
    fn adobe_transform(&self) -> Option<u8> {
        let body = (self.marker == APP14).then_some(self.body)?;
        body.strip_prefix(b"Adobe")?.get(6).copied()
    }
}

/// Every segment up to the end of the picture, or as far as the file is whole.
fn segments(file: &[u8]) -> impl Iterator<Item = Segment<'_>> {
    let mut at = 2;
    std::iter::from_fn(move || {
        let (marker, start) = next_marker(file, at)?;
        let length = u16::from_be_bytes(bytes_at(file, start)?);
        at = start + usize::from(length);
        let body = file.get(start + 2..at)?;
        Some(Segment { marker, body, end: at })
    })
}

/// The next marker that has a segment, and where it ends.
fn next_marker(file: &[u8], mut at: usize) -> Option<(u8, usize)> {
    loop {
        at += file.get(at..)?.iter().position(|byte| *byte == 0xFF)?;
        at += file.get(at..)?.iter().position(|byte| *byte != 0xFF)?;
        match *file.get(at)? {
            // Data of a scan, restarts within it, a second beginning.
            0x00 | 0x01 | 0xD0..=0xD7 | SOI => {}
            EOI => return None,
            marker => return Some((marker, at + 1)),
        }
    }
}
