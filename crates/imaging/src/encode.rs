//! Squares as files, without a byte of metadata. The same square always gives the same bytes.

use ::webp::{PixelLayout, WebPConfig};
use image::ExtendedColorType;
use image::codecs::webp::WebPEncoder;
use jpeg_encoder::{ChromaSubsamplingMethod, ColorType, Encoder, SamplingFactor};

use crate::Error;
use crate::square::Square;

/// A format pictures are served in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    Jpeg,
    WebP,
}

impl Format {
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
const JPEG_QUALITY: u8 = 82;
const WEBP_QUALITY: f32 = 78.0;
/// Within 3 % of the bytes of the default 4, in less than half of its time.
const WEBP_METHOD: i32 = 2;

/// What is kept of a picture: JPEG, or lossless WebP where there is transparency.
pub(crate) fn master(square: &Square) -> Result<Vec<u8>, Error> {
    if square.alpha { lossless(square) } else { jpeg(square, MASTER_QUALITY) }
}

/// What is served. JPEG has no transparency: it is put on white.
pub(crate) fn rendered(square: Square, format: Format) -> Result<Vec<u8>, Error> {
    match format {
        Format::Jpeg => jpeg(&square.on_white(), JPEG_QUALITY),
        Format::WebP => lossy(&square),
    }
}

/// Baseline with halved colour in both directions. Masters too: what is served has halved colour anyway
/// and is mostly smaller than its master, and full colour would double the blocks to decode each time.
fn jpeg(square: &Square, quality: u8) -> Result<Vec<u8>, Error> {
    let side = u16::try_from(square.side).map_err(Error::internal)?;
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, quality);
    encoder.set_sampling_factor(SamplingFactor::F_2_2);
    // The default takes every second pixel, which frays coloured edges.
    encoder.set_chroma_subsampling_method(ChromaSubsamplingMethod::Average);
    let encoded = encoder.encode(&square.bytes, side, side, ColorType::Rgb);
    encoded.map_err(Error::internal)?;
    Ok(file)
}

fn lossless(square: &Square) -> Result<Vec<u8>, Error> {
    let mut file = Vec::new();
    let encoder = WebPEncoder::new_lossless(&mut file);
    let encoded = encoder.encode(&square.bytes, square.side, square.side, ExtendedColorType::Rgba8);
    encoded.map_err(Error::internal)?;
    Ok(file)
}

fn lossy(square: &Square) -> Result<Vec<u8>, Error> {
    let mut config = WebPConfig::new().map_err(|()| Error::internal("libwebp has another version"))?;
    config.quality = WEBP_QUALITY;
    config.method = WEBP_METHOD;
    let layout = match square.alpha {
        true => PixelLayout::Rgba,
        false => PixelLayout::Rgb,
    };
    let encoder = ::webp::Encoder::new(&square.bytes, layout, square.side, square.side);
    let file = encoder.encode_advanced(&config);
    let file = file.map_err(|cause| Error::internal(format!("libwebp: {cause:?}")))?;
    Ok(file.to_vec())
}
