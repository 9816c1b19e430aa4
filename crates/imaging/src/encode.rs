//! Encodes images to JPEG, WebP and AVIF without metadata. The same image always encodes to the same bytes.

mod avif;

use std::borrow::Cow;

use image_webp::{ColorType, WebPEncoder};
use libjpeg_turbo_rs::{self as turbojpeg, PixelFormat, Subsampling};
use webpx::{EncoderConfig, Unstoppable, YuvPlanesRef};

use crate::error::Error;
use crate::formats::add_jpeg_profile;
use crate::gamut::Gamut;
use crate::pixels::{Channels, Pixels};
use crate::planes::Planes;
use crate::upright_image::{Samples, UprightImage, flatten};

/// An output format of rendered images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputFormat {
    Jpeg,
    WebP,
    /// Takes ten to twenty times as long as WebP.
    Avif,
}

impl OutputFormat {
    /// The value of the `Content-Type` header.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::WebP => "image/webp",
            Self::Avif => "image/avif",
        }
    }

    /// The name in blob keys, logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jpeg => "jpeg",
            Self::WebP => "webp",
            Self::Avif => "avif",
        }
    }
}

/// JPEG quality of a master. Renders re-encode a decoded master, so its own loss must not be visible.
const MASTER_QUALITY: u8 = 92;
/// Scale of the JPEG Annex K quantisation tables in percent. Finer than quality numbers: between 82 and 83.
const JPEG_QUANT_SCALE: u32 = 35;
/// The same scale for masters, equal to quality 92.
const MASTER_QUANT_SCALE: u32 = 16;
/// The first libwebp method with rate-distortion optimisation: 15 % smaller than JPEG at equal quality, where
/// faster methods save only 5 % and slower ones save nothing more.
const WEBP_METHOD: u8 = 3;
/// Loop filter strength and sharpness. Weaker than libwebp's default: less blur of edges for the same bytes.
const WEBP_FILTER: (u8, u8) = (20, 5);

/// Encodes a master: JPEG, or lossless WebP if the image has alpha.
pub(crate) fn master(image: &UprightImage) -> Result<Vec<u8>, Error> {
    match &image.samples {
        Samples::Pixels(pixels) if pixels.channels.has_alpha() => webp_lossless(pixels, image.gamut),
        samples => {
            let file = match samples {
                Samples::Planes(planes) => jpeg_planes(planes, MASTER_QUALITY)?,
                Samples::Pixels(pixels) => jpeg_pixels(pixels, MASTER_QUANT_SCALE)?,
            };
            match image.gamut.icc_profile() {
                Some(profile) => add_jpeg_profile(&file, profile).ok_or_else(|| Error::internal("no JPEG")),
                None => Ok(file),
            }
        }
    }
}

/// Encodes a rendered image. JPEG is in sRGB and has no alpha: transparent pixels are flattened onto white.
pub(crate) fn output(image: UprightImage, format: OutputFormat) -> Result<Vec<u8>, Error> {
    let UprightImage { samples, gamut } = image;
    match (format, samples) {
        (OutputFormat::Jpeg, samples) => {
            let pixels = match samples {
                Samples::Planes(planes) => planes.pixels(),
                Samples::Pixels(pixels) => flatten(pixels),
            };
            jpeg_pixels(&gamut.convert_to_srgb(pixels), JPEG_QUANT_SCALE)
        }
        (OutputFormat::WebP, Samples::Planes(planes)) => webp_planes(&planes, gamut),
        (OutputFormat::WebP, Samples::Pixels(pixels)) => webp_pixels(&pixels, gamut),
        (OutputFormat::Avif, samples) => avif::encode(&samples, gamut),
    }
}

/// For icons, which some systems take only as PNG.
pub(crate) fn png(pixels: &Pixels) -> Result<Vec<u8>, Error> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, pixels.width, pixels.height);
    encoder.set_color(if pixels.channels.has_alpha() { png::ColorType::Rgba } else { png::ColorType::Rgb });
    let mut writer = encoder.write_header().map_err(Error::internal)?;
    writer.write_image_data(&pixels.bytes).map_err(Error::internal)?;
    writer.finish().map_err(Error::internal)?;
    Ok(file)
}

/// Baseline JPEG with 4:2:0 chroma subsampling. Masters use 4:2:0 too: renders are 4:2:0 anyway and mostly
/// smaller than the master, and 4:4:4 would double the blocks to decode at each render.
fn jpeg_planes(planes: &Planes, quality: u8) -> Result<Vec<u8>, Error> {
    let (width, height) = (planes.width as usize, planes.height as usize);
    let samples: Vec<&[u8]> = planes.samples().collect();
    let with_chroma = |side: usize| [side, side.div_ceil(2), side.div_ceil(2)];
    let (widths, heights) = (with_chroma(width), with_chroma(height));
    let (count, subsampling) = match planes.is_grey() {
        true => (1, Subsampling::S444),
        false => (3, Subsampling::S420),
    };
    let (widths, heights) = (&widths[..count], &heights[..count]);
    let file = turbojpeg::compress_raw(&samples, widths, heights, width, height, quality, subsampling);
    file.map_err(Error::internal)
}

/// The same with optimised Huffman tables: about 4 % fewer bytes per response. The codec optimises them only
/// when it encodes from pixels, which is still faster than transcoding its own output.
fn jpeg_pixels(pixels: &Pixels, quant_scale: u32) -> Result<Vec<u8>, Error> {
    let (width, height) = (pixels.width as usize, pixels.height as usize);
    let (format, subsampling) = match pixels.channels {
        Channels::Grey => (PixelFormat::Grayscale, Subsampling::S444),
        _ => (PixelFormat::Rgb, Subsampling::S420),
    };
    turbojpeg::Encoder::new(&pixels.bytes, width, height, format)
        .linear_quality(quant_scale)
        .subsampling(subsampling)
        .optimize_huffman(true)
        .encode()
        .map_err(Error::internal)
}

fn webp_lossless(pixels: &Pixels, gamut: Gamut) -> Result<Vec<u8>, Error> {
    let mut file = Vec::new();
    let mut encoder = WebPEncoder::new(&mut file);
    encoder.set_icc_profile(gamut.icc_profile().unwrap_or_default().to_vec());
    let encoded = encoder.encode(&pixels.bytes, pixels.width, pixels.height, ColorType::Rgba8);
    encoded.map_err(Error::internal)?;
    Ok(file)
}

/// The quality at which WebP matches our JPEG of the same size. WebP blurs small images less.
fn webp_quality(width: u32, height: u32) -> f32 {
    // The side of a square with as many pixels.
    match (width * height).isqrt() {
        0..=256 => 81.5,
        257..=640 => 83.5,
        641..=1280 => 85.5,
        _ => 88.0,
    }
}

fn webp_config(width: u32, height: u32) -> EncoderConfig {
    let (strength, sharpness) = WEBP_FILTER;
    let config = EncoderConfig::new().quality(webp_quality(width, height)).method(WEBP_METHOD);
    config.filter_strength(strength).filter_sharpness(sharpness)
}

fn webp_planes(planes: &Planes, gamut: Gamut) -> Result<Vec<u8>, Error> {
    let (width, half) = (planes.width as usize, planes.width.div_ceil(2) as usize);
    let limited: Vec<Vec<u8>> = planes.samples().zip([219, 224, 224]).map(to_limited_range).collect();
    let neutral = || Cow::from(vec![128; half * planes.height.div_ceil(2) as usize]);
    let mut limited = limited.iter().map(Cow::from);
    let y = limited.next().unwrap_or_default();
    let u = limited.next().unwrap_or_else(neutral);
    let v = limited.next().unwrap_or_else(neutral);
    let config = webp_config(planes.width, planes.height);
    let planes = YuvPlanesRef {
        y: &y,
        y_stride: width,
        u: &u,
        u_stride: half,
        v: &v,
        v_stride: half,
        a: None,
        a_stride: 0,
        width: planes.width,
        height: planes.height,
    };
    webp(webpx::Encoder::new_yuv(planes).config(config), gamut)
}

/// Converts full-range samples (JPEG) to limited range (WebP): `steps` values from 16 on.
fn to_limited_range((samples, steps): (&[u8], usize)) -> Vec<u8> {
    // At most 16 + 224.
    let table: [u8; 256] = std::array::from_fn(|value| (16 + (value * steps + 127) / 255) as u8);
    samples.iter().map(|value| table[usize::from(*value)]).collect()
}

fn webp_pixels(pixels: &Pixels, gamut: Gamut) -> Result<Vec<u8>, Error> {
    let encoder = match pixels.channels {
        Channels::Rgba => webpx::Encoder::new_rgba(&pixels.bytes, pixels.width, pixels.height),
        _ => webpx::Encoder::new_rgb(&pixels.bytes, pixels.width, pixels.height),
    };
    webp(encoder.config(webp_config(pixels.width, pixels.height)), gamut)
}

fn webp(encoder: webpx::Encoder, gamut: Gamut) -> Result<Vec<u8>, Error> {
    let encoder = match gamut.icc_profile() {
        Some(profile) => encoder.icc_profile(profile),
        None => encoder,
    };
    encoder.encode(Unstoppable).map_err(Error::internal)
}
