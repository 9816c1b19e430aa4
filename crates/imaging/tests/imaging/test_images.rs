//! Test images from real encoders, and helpers to decode the output.
#![allow(dead_code, reason = "two test binaries share this file, each uses a part of it")]

use std::io::{Cursor, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use image::{DynamicImage, ImageFormat, Rgba, RgbaImage};
use imaging::{FitMasters, Ingested, Limits, OutputFormat, ingest, render};
use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use model::Focus;

pub(crate) const LIMITS: Limits = Limits { max_pixels: 64_000_000 };

pub(crate) const RED: [u8; 3] = [220, 30, 30];
pub(crate) const GREEN: [u8; 3] = [30, 180, 30];
pub(crate) const BLUE: [u8; 3] = [30, 30, 220];
pub(crate) const YELLOW: [u8; 3] = [220, 220, 30];

/// An image with the colour of each pixel from a function.
pub(crate) fn paint(width: u32, height: u32, mut colour: impl FnMut(u32, u32) -> [u8; 3]) -> DynamicImage {
    let pixel = |x, y| image::Rgb(colour(x, y));
    image::RgbImage::from_fn(width, height, pixel).into()
}

/// Red, green, blue and yellow quarters, in reading order.
pub(crate) fn quarters(width: u32, height: u32) -> DynamicImage {
    paint(width, height, |x, y| quarter(width, height, x, y))
}

pub(crate) fn quarter(width: u32, height: u32, x: u32, y: u32) -> [u8; 3] {
    match (x < width / 2, y < height / 2) {
        (true, true) => RED,
        (false, true) => GREEN,
        (true, false) => BLUE,
        (false, false) => YELLOW,
    }
}

/// A xorshift generator: the same sequence at every run.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

pub(crate) fn noise(width: u32, height: u32) -> RgbaImage {
    let mut rng = Rng(0x9E37_79B9_7F4A_7C15);
    let mut image = RgbaImage::new(width, height);
    for pixel in image.pixels_mut() {
        *pixel = Rgba((rng.next() as u32).to_le_bytes());
    }
    image
}

pub(crate) fn jpeg(image: &DynamicImage) -> Vec<u8> {
    jpeg_with(image, |encoder| encoder.set_sampling_factor(SamplingFactor::F_1_1))
}

pub(crate) fn jpeg_with(image: &DynamicImage, set: impl FnOnce(&mut Encoder<&mut Vec<u8>>)) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, 95);
    set(&mut encoder);
    let (width, height) = (image.width() as u16, image.height() as u16);
    let encoded = match image {
        DynamicImage::ImageLuma8(grey) => encoder.encode(grey, width, height, ColorType::Luma),
        _ => encoder.encode(&image.to_rgb8(), width, height, ColorType::Rgb),
    };
    encoded.expect("the JPEG encoder accepts any image");
    file
}

pub(crate) fn png(image: &DynamicImage) -> Vec<u8> {
    encode(image, ImageFormat::Png)
}

/// A lossless WebP.
pub(crate) fn webp(image: &DynamicImage) -> Vec<u8> {
    encode(image, ImageFormat::WebP)
}

pub(crate) fn lossy_webp(image: &DynamicImage) -> Vec<u8> {
    let (width, height) = (image.width(), image.height());
    let (rgb, rgba) = (image.to_rgb8(), image.to_rgba8());
    let encoder = match image.color().has_alpha() {
        true => webpx::Encoder::new_rgba(&rgba, width, height),
        false => webpx::Encoder::new_rgb(&rgb, width, height),
    };
    encoder.quality(90.0).encode(webpx::Unstoppable).expect("a WebP")
}

fn encode(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    image.write_to(&mut file, format).expect("the encoder accepts any image");
    file.into_inner()
}

/// A GIF with one frame per image, each at its position on the logical screen.
pub(crate) fn gif(width: u16, height: u16, frames: &[(u16, u16, &DynamicImage)]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = gif::Encoder::new(&mut file, width, height, &[]).expect("a GIF header");
    for (left, top, image) in frames {
        let mut rgba = image.to_rgba8();
        let (width, height) = (rgba.width() as u16, rgba.height() as u16);
        let mut frame = gif::Frame::from_rgba(width, height, &mut rgba);
        (frame.left, frame.top) = (*left, *top);
        encoder.write_frame(&frame).expect("a GIF frame");
    }
    drop(encoder);
    file
}

/// Inserts a segment after the SOI marker of a JPEG.
pub(crate) fn with_segment(jpeg: &[u8], marker: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len() + 2).expect("a segment of at most 64 KiB");
    [&jpeg[..2], &[0xFF, marker], &length.to_be_bytes(), body, &jpeg[2..]].concat()
}

/// Inserts a chunk after the IHDR chunk of a PNG.
pub(crate) fn with_chunk(png: &[u8], name: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let (header, rest) = png.split_at(33);
    [header, &png_chunk(name, body), rest].concat()
}

pub(crate) fn png_chunk(name: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(name);
    crc.update(body);
    let length = body.len() as u32;
    [&length.to_be_bytes(), name, body, &crc.sum().to_be_bytes()].concat()
}

/// Converts a WebP to the extended file format and adds chunks.
pub(crate) fn extended_webp(
    webp: &[u8],
    canvas: (u32, u32),
    flags: u8,
    chunks: &[(&[u8; 4], &[u8])],
) -> Vec<u8> {
    let side = |side: u32| (side - 1).to_le_bytes()[..3].to_vec();
    let header = [vec![flags, 0, 0, 0], side(canvas.0), side(canvas.1)].concat();
    let mut body = [b"WEBP".to_vec(), webp_chunk(b"VP8X", &header)].concat();
    // The order required by the format: profile, image, metadata.
    let (before, after): (Vec<_>, Vec<_>) = chunks.iter().partition(|(name, _)| *name == b"ICCP");
    body.extend(before.iter().flat_map(|(name, chunk)| webp_chunk(name, chunk)));
    body.extend(&webp[12..]);
    body.extend(after.iter().flat_map(|(name, chunk)| webp_chunk(name, chunk)));
    [b"RIFF", &(body.len() as u32).to_le_bytes()[..], &body].concat()
}

pub(crate) fn webp_chunk(name: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let length = body.len() as u32;
    [name, &length.to_le_bytes()[..], body, &[0][..body.len() % 2]].concat()
}

pub(crate) fn animated_webp(canvas: (u32, u32), frames: &[&DynamicImage]) -> Vec<u8> {
    let three = |number: u32| number.to_le_bytes()[..3].to_vec();
    let mut body = webp_chunk(b"ANIM", &[0; 6]);
    for image in frames {
        let header = [three(0), three(0), three(image.width() - 1), three(image.height() - 1)];
        let frame = [header.concat(), three(100), vec![0], webp(image)[12..].to_vec()];
        body.extend(webp_chunk(b"ANMF", &frame.concat()));
    }
    let body = [&[0; 12][..], &body].concat();
    extended_webp(&body, canvas, 0x02, &[])
}

/// zlib-compresses the body of a PNG chunk.
pub(crate) fn zlib_compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory is writable");
    encoder.finish().expect("memory is writable")
}

/// A TIFF block with an orientation, followed by a text.
pub(crate) fn exif(orientation: u16, text: &str) -> Vec<u8> {
    let entry = [0x0112_u16.to_be_bytes(), 3_u16.to_be_bytes()].concat();
    let value = [orientation.to_be_bytes(), [0; 2]].concat();
    [
        b"MM\0\x2A\0\0\0\x08\0\x01".to_vec(),
        entry,
        1_u32.to_be_bytes().to_vec(),
        value,
        vec![0; 4],
        text.as_bytes().to_vec(),
    ]
    .concat()
}

pub(crate) fn jpeg_exif(orientation: u16, text: &str) -> Vec<u8> {
    [b"Exif\0\0".to_vec(), exif(orientation, text)].concat()
}

pub(crate) fn jpeg_profile(profile: &[u8]) -> Vec<u8> {
    [b"ICC_PROFILE\0\x01\x01", profile].concat()
}

pub(crate) fn png_profile(profile: &[u8]) -> Vec<u8> {
    [b"icc\0\0".to_vec(), zlib_compressed(profile)].concat()
}

pub(crate) fn ingested(file: &[u8]) -> Ingested {
    ingest(file, Focus::CENTRE, FitMasters::All, &LIMITS).expect("a valid image")
}

/// The decoded largest master of an upload.
pub(crate) fn decode_largest_master(file: &[u8]) -> RgbaImage {
    decode_with_image_crate(&ingested(file).masters.squares[0].bytes)
}

/// The decoded render of an upload at one size.
pub(crate) fn decode_rendered(file: &[u8], side: u32, format: OutputFormat) -> RgbaImage {
    let master = &ingested(file).masters.squares[0].bytes;
    decode_with_image_crate(&render(master, (side, side), format).expect("a valid master"))
}

/// Decodes a file with the image crate, as stored: without its profile.
pub(crate) fn decode_with_image_crate(file: &[u8]) -> RgbaImage {
    image::load_from_memory(file).expect("a decodable image").to_rgba8()
}

/// Asserts the colour of a pixel, with a tolerance for lossy compression.
#[track_caller]
pub(crate) fn assert_colour(image: &RgbaImage, x: u32, y: u32, colour: [u8; 3], what: &str) {
    let [rgb @ .., _] = image.get_pixel(x, y).0;
    let differs = rgb.iter().zip(colour).any(|(a, b)| a.abs_diff(b) > 12);
    assert!(!differs, "{what}: pixel {x}, {y} is {rgb:?} instead of {colour:?}");
}
