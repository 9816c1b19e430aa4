//! JPEG: a walk along its markers for the header, zune-jpeg for the pixels.

use image::metadata::Orientation;
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use super::{Header, Picture, Source, bytes_at, orientation, other_picture};
use crate::Error;
use crate::pixels::Channels;

/// Encoders use about ten passes. Each costs a walk over the whole picture and next to no bytes.
const MAX_SCANS: usize = 64;

/// Cameras write a few dozen. zune-jpeg sorts extended XMP anew at every segment, which is quadratic.
const MAX_SEGMENTS: usize = 1024;

const SOI: u8 = 0xD8;
const EOI: u8 = 0xD9;
const SOS: u8 = 0xDA;
const APP1: u8 = 0xE1;

pub(super) fn header(file: &[u8]) -> Result<Header, Error> {
    let (mut frame, mut upright) = (None, None);
    for segment in segments(file).take(MAX_SEGMENTS) {
        match segment.marker {
            0xC4 | 0xC8 | 0xCC => {}
            0xC0..=0xCF => frame = Some(Frame::read(&segment)?),
            APP1 => upright = upright.or_else(|| exif_orientation(segment.body)),
            SOS => {
                let frame = frame.ok_or_else(|| Error::damaged("a JPEG scan without a frame"))?;
                return frame.header(file, &segment, upright.unwrap_or(Orientation::NoTransforms));
            }
            _ => {}
        }
    }
    Err(Error::damaged("a JPEG without a scan, or far behind its beginning"))
}

pub(super) fn decode(file: &[u8], header: &Header) -> Result<Picture, Error> {
    let colours = match header.channels {
        Channels::Grey => ColorSpace::Luma,
        _ => ColorSpace::RGB,
    };
    let options = DecoderOptions::default()
        .set_max_width(header.width as usize)
        .set_max_height(header.height as usize)
        .jpeg_set_max_scans(MAX_SCANS)
        .jpeg_set_out_colorspace(colours)
        // A file that was closed properly is read as far as it goes. One that was not must at least
        // hold every row: half a picture is a broken upload, and its sender should hear of it.
        .set_strict_mode(!is_closed(file));

    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(file), options);
    decoder.decode_headers().map_err(Error::damaged)?;
    if decoder.dimensions() != Some((header.width as usize, header.height as usize)) {
        return Err(other_picture());
    }
    let mut bytes = header.buffer()?;
    decoder.decode_into(&mut bytes).map_err(Error::damaged)?;
    Ok(header.picture(bytes, decoder.icc_profile()))
}

/// A start-of-frame segment.
struct Frame {
    progressive: bool,
    width: u16,
    height: u16,
    /// The sampling factors of each component.
    sampling: Vec<(u64, u64)>,
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
        Ok(Self {
            progressive: segment.marker == 0xC2,
            width: u16::from_be_bytes([*w1, *w0]),
            height: u16::from_be_bytes([*h1, *h0]),
            sampling: triples.iter().map(|[_, hv, _]| (u64::from(hv >> 4), u64::from(hv & 15))).collect(),
        })
    }

    fn header(self, file: &[u8], scan: &Segment, orientation: Orientation) -> Result<Header, Error> {
        let components = self.sampling.len();
        let in_first_scan = scan.body.first().copied().unwrap_or_default();
        let separate = usize::from(in_first_scan) < components;
        if separate && !self.progressive && self.sampling.iter().any(|(_, v)| *v > 1) {
            // zune-jpeg 0.5.15 makes a plain green picture of these, without an error.
            return Err(Error::Unsupported("a JPEG with its colours in separate scans"));
        }
        // Only then are the coefficients of the whole picture kept, and only then may scans repeat.
        let many_scans = self.progressive || separate;
        if many_scans && scans(file) > MAX_SCANS {
            return Err(Error::Unsupported("a JPEG in more than 64 passes"));
        }
        Ok(Header {
            source: Source::Jpeg,
            width: self.width.into(),
            height: self.height.into(),
            orientation,
            channels: match components {
                1 => Channels::Grey,
                _ => Channels::Rgb,
            },
            // The decoder copies metadata, and joins the parts of a colour profile.
            scratch: self.scratch(many_scans) + 2 * scan.end as u64,
        })
    }

    fn scratch(&self, many_scans: bool) -> u64 {
        let most = |part: fn(&(u64, u64)) -> u64| self.sampling.iter().map(part).max().unwrap_or(1).max(1);
        let (h_max, v_max) = (most(|s| s.0), most(|s| s.1));
        let columns = u64::from(self.width).div_ceil(8 * h_max);
        let rows = u64::from(self.height).div_ceil(8 * v_max);
        let blocks: u64 = self.sampling.iter().map(|(h, v)| h * v).sum();
        // A row of blocks as coefficients and upsampled, or all of them: 64 numbers of two bytes each.
        let row = columns * h_max * v_max * self.sampling.len() as u64 * 128 * 4;
        let all = columns * rows * blocks * 128;
        row + if many_scans { all } else { 0 }
    }
}

/// How many scans there are, or one more than are allowed.
fn scans(file: &[u8]) -> usize {
    let scans = segments(file).filter(|segment| segment.marker == SOS);
    scans.take(MAX_SCANS + 1).count()
}

/// Whether an end marker follows the first scan's header. It cannot occur within a scan, so a file that
/// was cut short has none there, and one with something behind the picture has.
fn is_closed(file: &[u8]) -> bool {
    let scan = segments(file).find(|segment| segment.marker == SOS);
    let data = scan.map(|scan| &file[scan.end..]).unwrap_or_default();
    data.windows(2).rev().any(|pair| pair == [0xFF, EOI])
}

fn exif_orientation(segment: &[u8]) -> Option<Orientation> {
    let exif = segment.strip_prefix(b"Exif\0\0")?;
    Some(orientation(Some(exif)))
}

struct Segment<'file> {
    marker: u8,
    body: &'file [u8],
    /// Where in the file the body ends.
    end: usize,
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
