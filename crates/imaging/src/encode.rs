//! Squares as files, without a byte of metadata. The same square always gives the same bytes.

use std::borrow::Cow;

use image_webp::{ColorType, WebPEncoder};
use libjpeg_turbo_rs::{self as turbojpeg, PixelFormat, Subsampling};
use webpx::{EncoderConfig, Unstoppable, YuvPlanesRef};

use crate::error::Error;
use crate::pixels::{Channels, Pixels};
use crate::planes::Planes;
use crate::square::Square;

/// A format pictures are served in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputFormat {
    Jpeg,
    WebP,
}

impl OutputFormat {
    /// As in `Content-Type`.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::WebP => "image/webp",
        }
    }

    /// As in keys, logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jpeg => "jpeg",
            Self::WebP => "webp",
        }
    }
}

/// Everything served is made from a master, so its losses come on top of the next ones: they must not show.
const MASTER_QUALITY: u8 = 92;
/// In per cent of JPEG's example tables, which is finer than qualities are: between 82 and 83.
const JPEG_STEPS: u32 = 35;
/// The same for masters: quality 92.
const MASTER_STEPS: u32 = 16;
/// The first method that weighs bytes against losses: at equal looks 15 % smaller than JPEG, where the
/// quicker ones save only 5 %, and as small as slower ones.
const WEBP_METHOD: u8 = 3;
/// A weaker filter than libwebp's own, that spares edges: less blur for the same bytes.
const WEBP_FILTER: (u8, u8) = (20, 5);

/// What is kept of a picture: JPEG, or lossless WebP where there is transparency.
pub(crate) fn master(square: &Square) -> Result<Vec<u8>, Error> {
    match square {
        Square::Planes(planes) => jpeg_planes(planes, MASTER_QUALITY),
        Square::Pixels(pixels) if pixels.channels.has_alpha() => lossless(pixels),
        Square::Pixels(pixels) => jpeg_pixels(pixels, MASTER_STEPS),
    }
}

/// What is served. JPEG has no transparency: it is put on white.
pub(crate) fn rendered(square: Square, format: OutputFormat) -> Result<Vec<u8>, Error> {
    match (format, square.on_white_for(format)) {
        (OutputFormat::Jpeg, Square::Planes(planes)) => jpeg_pixels(&planes.pixels(), JPEG_STEPS),
        (OutputFormat::Jpeg, Square::Pixels(pixels)) => jpeg_pixels(&pixels, JPEG_STEPS),
        (OutputFormat::WebP, Square::Planes(planes)) => webp_planes(&planes),
        (OutputFormat::WebP, Square::Pixels(pixels)) => webp_pixels(&pixels),
    }
}

impl Square {
    fn on_white_for(self, format: OutputFormat) -> Self {
        match format {
            OutputFormat::Jpeg => self.on_white(),
            OutputFormat::WebP => self,
        }
    }
}

/// Baseline with halved colour in both directions. Masters too: what is served has halved colour anyway
/// and is mostly smaller than its master, and full colour would double the blocks to decode each time.
fn jpeg_planes(planes: &Planes, quality: u8) -> Result<Vec<u8>, Error> {
    let side = planes.width as usize;
    let samples: Vec<&[u8]> = planes.samples().collect();
    let (sides, subsampling) = match planes.is_grey() {
        true => (&[side][..], Subsampling::S444),
        false => (&[side, side / 2, side / 2][..], Subsampling::S420),
    };
    let file = turbojpeg::compress_raw(&samples, sides, sides, side, side, quality, subsampling);
    file.map_err(Error::internal)
}

/// The same with code tables of its own: some 4 % fewer bytes, each time it is sent. The codec makes those
/// from pixels only, and still sooner than from its own file made of planes.
fn jpeg_pixels(pixels: &Pixels, steps: u32) -> Result<Vec<u8>, Error> {
    let side = pixels.width as usize;
    let (format, subsampling) = match pixels.channels {
        Channels::Grey => (PixelFormat::Grayscale, Subsampling::S444),
        _ => (PixelFormat::Rgb, Subsampling::S420),
    };
    turbojpeg::Encoder::new(&pixels.bytes, side, side, format)
        .linear_quality(steps)
        .subsampling(subsampling)
        .optimize_huffman(true)
        .encode()
        .map_err(Error::internal)
}

fn lossless(pixels: &Pixels) -> Result<Vec<u8>, Error> {
    let mut file = Vec::new();
    let encoder = WebPEncoder::new(&mut file);
    let encoded = encoder.encode(&pixels.bytes, pixels.width, pixels.height, ColorType::Rgba8);
    encoded.map_err(Error::internal)?;
    Ok(file)
}

/// What looks like our JPEG of the same size. The smaller the picture, the less WebP blurs it.
fn webp_quality(side: u32) -> f32 {
    match side {
        0..=256 => 81.5,
        257..=640 => 83.5,
        641..=1280 => 85.5,
        _ => 88.0,
    }
}

fn webp_config(side: u32) -> EncoderConfig {
    let (strength, sharpness) = WEBP_FILTER;
    let config = EncoderConfig::new().quality(webp_quality(side)).method(WEBP_METHOD);
    config.filter_strength(strength).filter_sharpness(sharpness)
}

fn webp_planes(planes: &Planes) -> Result<Vec<u8>, Error> {
    let (side, half) = (planes.width as usize, planes.width as usize / 2);
    let narrowed: Vec<Vec<u8>> = planes.samples().zip([219, 224, 224]).map(narrowed).collect();
    let grey = || Cow::from(vec![128; half * half]);
    let mut narrowed = narrowed.iter().map(Cow::from);
    let y = narrowed.next().unwrap_or_default();
    let u = narrowed.next().unwrap_or_else(grey);
    let v = narrowed.next().unwrap_or_else(grey);
    let planes = YuvPlanesRef {
        y: &y,
        y_stride: side,
        u: &u,
        u_stride: half,
        v: &v,
        v_stride: half,
        a: None,
        a_stride: 0,
        width: planes.width,
        height: planes.height,
    };
    let config = webp_config(planes.width);
    webpx::Encoder::new_yuv(planes).config(config).encode(Unstoppable).map_err(Error::internal)
}

/// JPEG uses the whole range of a byte, WebP leaves room at both ends: so many steps from 16 on.
fn narrowed((samples, steps): (&[u8], usize)) -> Vec<u8> {
    // At most 16 + 224.
    let table: [u8; 256] = std::array::from_fn(|value| (16 + (value * steps + 127) / 255) as u8);
    samples.iter().map(|value| table[usize::from(*value)]).collect()
}

fn webp_pixels(pixels: &Pixels) -> Result<Vec<u8>, Error> {
    let encoder = match pixels.channels {
        Channels::Rgba => webpx::Encoder::new_rgba(&pixels.bytes, pixels.width, pixels.height),
        _ => webpx::Encoder::new_rgb(&pixels.bytes, pixels.width, pixels.height),
    };
    encoder.config(webp_config(pixels.width)).encode(Unstoppable).map_err(Error::internal)
}
