//! Test images for uploads, and assertions about served images.

use std::io::{Cursor, Read};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use image::codecs::gif::GifEncoder;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::codecs::webp::WebPEncoder;
use image::{DynamicImage, Frame, ImageEncoder, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage};

pub const RED: [u8; 3] = [220, 30, 30];
pub const GREEN: [u8; 3] = [30, 180, 60];
pub const BLUE: [u8; 3] = [40, 60, 210];
pub const YELLOW: [u8; 3] = [230, 210, 40];

/// [`stripes`] of 96 × 32 in formats that the test encoders cannot write.
pub const STRIPES_AVIF: &[u8] = include_bytes!("../fixtures/stripes.avif");
pub const STRIPES_HEIC: &[u8] = include_bytes!("../fixtures/stripes.heic");
/// Grids of 7 × 8 tiles of 1024 × 1024 pixels, with 12 and 10 bits.
pub const GRID_AVIF: &[u8] = include_bytes!("../fixtures/grid.avif");
pub const GRID_HEIC: &[u8] = include_bytes!("../fixtures/grid.heic");
/// The Display P3 colour profile, which phone cameras use.
pub const DISPLAY_P3: &[u8] = include_bytes!("../fixtures/display-p3.icc");

/// The smallest test image: 8 × 8, of a random colour.
pub fn tiny() -> Vec<u8> {
    png(&plain(8, 8, [fastrand::u8(..), fastrand::u8(..), fastrand::u8(..)]))
}

/// Random pixels, which no format compresses.
pub fn noise(width: u32, height: u32) -> DynamicImage {
    let mut rng = fastrand::Rng::with_seed(7);
    RgbImage::from_fn(width, height, |_, _| Rgb([rng.u8(..), rng.u8(..), rng.u8(..)])).into()
}

pub fn plain(width: u32, height: u32, colour: [u8; 3]) -> DynamicImage {
    RgbImage::from_pixel(width, height, Rgb(colour)).into()
}

/// Three equal stripes, left to right: red, green, blue.
pub fn stripes(width: u32, height: u32) -> DynamicImage {
    RgbImage::from_fn(width, height, |x, _| Rgb([RED, GREEN, BLUE][(3 * x / width) as usize])).into()
}

/// Four quadrants of four colours, so that all eight orientations differ.
pub fn corners(width: u32, height: u32) -> DynamicImage {
    let colours = [[RED, GREEN], [BLUE, YELLOW]];
    RgbImage::from_fn(width, height, |x, y| Rgb(colours[(2 * y / height) as usize][(2 * x / width) as usize]))
        .into()
}

/// Left half transparent, right half blue.
pub fn half_transparent(side: u32) -> DynamicImage {
    RgbaImage::from_fn(side, side, |x, _| {
        if x < side / 2 { Rgba([0, 0, 0, 0]) } else { Rgba([BLUE[0], BLUE[1], BLUE[2], 255]) }
    })
    .into()
}

/// A noisy JPEG, about as large in bytes as a real photograph of this size.
pub fn photograph(width: u32, height: u32) -> Vec<u8> {
    encode(&noisy_gradient(width, height).into(), ImageFormat::Jpeg)
}

/// A progressive JPEG, which a decoder has to hold in memory as a whole.
pub fn progressive(width: u16, height: u16) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = jpeg_encoder::Encoder::new(&mut file, 50);
    encoder.set_progressive(true);
    encoder.set_sampling_factor(jpeg_encoder::SamplingFactor::F_2_1);
    let pixels = noisy_gradient(width.into(), height.into());
    encoder.encode(&pixels, width, height, jpeg_encoder::ColorType::Rgb).unwrap();
    file
}

fn noisy_gradient(width: u32, height: u32) -> RgbImage {
    let mut rng = fastrand::Rng::with_seed(7);
    RgbImage::from_fn(width, height, |x, y| {
        let noise = rng.u8(..24);
        Rgb([(x * 200 / width) as u8 + noise, (y * 200 / height) as u8 + noise, 80 + noise])
    })
}

pub fn encode(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    match format {
        ImageFormat::Jpeg => picture.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, 95)),
        _ => picture.write_to(&mut bytes, format),
    }
    .unwrap();
    bytes.into_inner()
}

pub fn png(picture: &DynamicImage) -> Vec<u8> {
    encode(picture, ImageFormat::Png)
}

pub fn jpeg(picture: &DynamicImage) -> Vec<u8> {
    encode(picture, ImageFormat::Jpeg)
}

/// An animated GIF; the service uses its first frame.
pub fn animation(frames: &[DynamicImage]) -> Vec<u8> {
    let mut bytes = Vec::new();
    GifEncoder::new(&mut bytes)
        .encode_frames(frames.iter().map(|frame| Frame::new(frame.to_rgba8())))
        .unwrap();
    bytes
}

/// A black, interlaced PNG with four channels of 16 bits: the format that expands the most.
pub fn interlaced_png(width: u32, height: u32) -> Vec<u8> {
    /// Where the seven images of Adam7 begin, and the distances of their pixels.
    const PASSES: [[u32; 4]; 7] =
        [[0, 0, 8, 8], [4, 0, 8, 8], [0, 4, 4, 8], [2, 0, 4, 4], [0, 2, 2, 4], [1, 0, 2, 2], [0, 1, 1, 2]];
    let rows = PASSES.map(|[left, top, right, down]| {
        let columns = u64::from(width.saturating_sub(left).div_ceil(right));
        let rows = u64::from(height.saturating_sub(top).div_ceil(down));
        // Each row begins with its filter.
        if columns > 0 { rows * (1 + 8 * columns) } else { 0 }
    });
    let mut pixels = ZlibEncoder::new(Vec::new(), Compression::fast());
    std::io::copy(&mut std::io::repeat(0).take(rows.iter().sum()), &mut pixels).unwrap();
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[16, 6, 0, 0, 1]].concat();
    let pixels = pixels.finish().unwrap();
    let chunks = [png_chunk(b"IHDR", &header), png_chunk(b"IDAT", &pixels), png_chunk(b"IEND", b"")];
    [b"\x89PNG\r\n\x1a\n", &chunks.concat()[..]].concat()
}

/// Encodes with an EXIF block and a colour profile, where given.
pub fn with_metadata(
    picture: &DynamicImage,
    format: ImageFormat,
    exif: Option<Vec<u8>>,
    icc: Option<&[u8]>,
) -> Vec<u8> {
    fn write(encoder: impl ImageEncoder, picture: &DynamicImage, exif: Option<Vec<u8>>, icc: Option<&[u8]>) {
        let mut encoder = encoder;
        if let Some(exif) = exif {
            encoder.set_exif_metadata(exif).unwrap();
        }
        if let Some(icc) = icc {
            encoder.set_icc_profile(icc.to_vec()).unwrap();
        }
        picture.write_with_encoder(encoder).unwrap();
    }
    let mut bytes = Vec::new();
    match format {
        ImageFormat::Jpeg => write(JpegEncoder::new_with_quality(&mut bytes, 95), picture, exif, icc),
        ImageFormat::Png => write(PngEncoder::new(&mut bytes), picture, exif, icc),
        ImageFormat::WebP => write(WebPEncoder::new_lossless(&mut bytes), picture, exif, icc),
        other => panic!("{other:?} carries no metadata here"),
    }
    bytes
}

/// An EXIF block as cameras write it: orientation and description.
pub fn exif(orientation: u8, description: &str) -> Vec<u8> {
    let text = [description.as_bytes(), b"\0"].concat();
    let mut block = b"II*\0\x08\0\0\0\x02\0".to_vec();
    // ImageDescription (0x010e) points to offset 38, after the two entries and the end of the IFD.
    block.extend_from_slice(b"\x0e\x01\x02\0");
    block.extend_from_slice(&(text.len() as u32).to_le_bytes());
    block.extend_from_slice(&38u32.to_le_bytes());
    block.extend_from_slice(b"\x12\x01\x03\0\x01\0\0\0");
    block.extend_from_slice(&[orientation, 0, 0, 0]);
    block.extend_from_slice(&[0; 4]);
    block.extend_from_slice(&text);
    block
}

/// An EXIF block as phones write it: a description and a GPS position.
pub fn exif_with_gps(description: &str, area: &str) -> Vec<u8> {
    fn entry(tag: u16, kind: u16, count: usize, value: [u8; 4]) -> Vec<u8> {
        let count = u32::try_from(count).unwrap().to_le_bytes();
        [&tag.to_le_bytes()[..], &kind.to_le_bytes(), &count, &value].concat()
    }
    let (description, area) = (format!("{description}\0"), format!("{area}\0"));
    let degrees: Vec<u8> = [51u32, 1, 28, 1, 40, 1].iter().flat_map(|n| n.to_le_bytes()).collect();
    // An 8-byte header, two IFDs, then the values that do not fit into an entry.
    let (first, second) = (8, 8 + 2 + 2 * 12 + 4);
    let values = second + 2 + 3 * 12 + 4;
    let at = |offset: usize| u32::try_from(offset).unwrap().to_le_bytes();
    let area_offset = values + description.len();
    [
        &b"II*\0"[..],
        &at(first),
        b"\x02\0",
        // ImageDescription, and the pointer to the GPS IFD.
        &entry(0x010e, 2, description.len(), at(values)),
        &entry(0x8825, 4, 1, at(second)),
        &[0; 4],
        b"\x03\0",
        // GPSLatitudeRef, GPSLatitude and GPSAreaInformation.
        &entry(0x0001, 2, 2, *b"N\0\0\0"),
        &entry(0x0002, 5, 3, at(area_offset + area.len())),
        &entry(0x001c, 7, area.len(), at(area_offset)),
        &[0; 4],
        description.as_bytes(),
        area.as_bytes(),
        &degrees,
    ]
    .concat()
}

/// Inserts a segment, such as a comment (`0xfe`) or XMP (`0xe1`), after the SOI marker of a JPEG.
pub fn jpeg_with_segment(jpeg: &[u8], marker: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len() + 2).unwrap().to_be_bytes();
    [&jpeg[..2], &[0xff, marker], &length, payload, &jpeg[2..]].concat()
}

/// Inserts a chunk after the IHDR of a PNG.
pub fn png_with_chunk(png: &[u8], kind: &[u8; 4], payload: &[u8]) -> Vec<u8> {
    let after_ihdr = 8 + 25;
    [&png[..after_ihdr], &png_chunk(kind, payload), &png[after_ihdr..]].concat()
}

pub fn png_chunk(kind: &[u8; 4], payload: &[u8]) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(kind);
    crc.update(payload);
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length, kind, payload, &crc.sum().to_be_bytes()].concat()
}

/// Asserts the colour at a position given in percent of width and height, with a tolerance of 10 per channel.
#[track_caller]
pub fn assert_colour(picture: &DynamicImage, position: (u32, u32), expected: [u8; 3], what: &str) {
    let (x, y) = (position.0 * (picture.width() - 1) / 100, position.1 * (picture.height() - 1) / 100);
    let actual = picture.to_rgb8().get_pixel(x, y).0;
    let difference = actual.iter().zip(expected).map(|(a, b)| a.abs_diff(b)).max().unwrap();
    assert!(difference <= 10, "{what}: {actual:?} instead of {expected:?} at {position:?}");
}
