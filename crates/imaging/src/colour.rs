//! Colour management: converts decoded pixels from their ICC profile or CICP code points to sRGB.

use moxcms::{CicpColorPrimaries, CicpProfile, MatrixCoefficients, TransferCharacteristics};
use moxcms::{CmsError, ColorProfile, DataColorSpace, Layout, ParsingOptions, TransformOptions};

use crate::decoded_image::ColourSpace;
use crate::pixels::{Channels, Pixels};
use crate::tone_map::ToneMap;

/// ICC profiles of cameras and displays have a few kB, of scanners some hundred kB, of printers up to 2 MB.
const MAX_PROFILE_BYTES: usize = 4 << 20;

/// The transform from an image's colour space to sRGB.
pub(crate) enum SrgbTransform {
    Profile(Box<ColorProfile>),
    /// Of an HDR image.
    ToneMap(ToneMap),
}

impl SrgbTransform {
    /// None if the pixels are used as sRGB unchanged: there is no profile, the profile equals sRGB, or it is
    /// unreadable or does not match the channels. A slightly wrong colour is better than a rejected upload.
    pub(crate) fn new(colour_space: &ColourSpace, channels: Channels) -> Option<Self> {
        let profile = match colour_space {
            ColourSpace::Srgb => return None,
            ColourSpace::Icc(profile) => {
                let options =
                    ParsingOptions { max_profile_size: MAX_PROFILE_BYTES, ..ParsingOptions::default() };
                ColorProfile::new_from_slice_with_options(profile, options).ok()?
            }
            ColourSpace::Cicp { primaries, transfer } => {
                if let Some(tone_map) = ToneMap::new((*primaries).into(), (*transfer).into(), None) {
                    return Some(Self::ToneMap(tone_map));
                }
                profile_from_cicp(*primaries, *transfer).ok()?
            }
        };
        let is_needed = match profile.color_space {
            DataColorSpace::Gray => channels.is_grey(),
            DataColorSpace::Rgb => channels != Channels::Cmyk && differs_from_srgb(&profile),
            DataColorSpace::Cmyk => channels == Channels::Cmyk,
            _ => false,
        };
        is_needed.then(|| Self::Profile(Box::new(profile)))
    }

    /// Returns RGB, or RGBA if the pixels have alpha.
    pub(crate) fn apply(&self, pixels: Pixels) -> Pixels {
        match self {
            Self::Profile(profile) => apply_profile(profile, pixels),
            Self::ToneMap(tone_map) => apply_tone_map(tone_map, pixels),
        }
    }
}

fn apply_tone_map(tone_map: &ToneMap, pixels: Pixels) -> Pixels {
    let mut pixels = pixels.into_rgb();
    for pixel in pixels.bytes.chunks_exact_mut(pixels.channels.count()) {
        if let [red, green, blue, ..] = pixel {
            [*red, *green, *blue] =
                tone_map.apply([*red, *green, *blue].map(|value| f32::from(value) / 255.0));
        }
    }
    pixels
}

fn apply_profile(profile: &ColorProfile, pixels: Pixels) -> Pixels {
    // Greyscale images often carry an RGB profile.
    let pixels = match profile.color_space {
        DataColorSpace::Rgb => pixels.into_rgb(),
        _ => pixels,
    };
    let (from, channels) = match pixels.channels {
        Channels::Grey => (Layout::Gray, Channels::Rgb),
        Channels::GreyAlpha => (Layout::GrayAlpha, Channels::Rgba),
        Channels::Rgb => (Layout::Rgb, Channels::Rgb),
        Channels::Rgba => (Layout::Rgba, Channels::Rgba),
        // moxcms has no CMYK layout: any four-channel layout works.
        Channels::Cmyk => (Layout::Rgba, Channels::Rgb),
    };
    let to = if channels.has_alpha() { Layout::Rgba } else { Layout::Rgb };
    match convert(profile, from, to, &pixels.bytes) {
        Ok(bytes) => Pixels { channels, bytes, ..pixels },
        Err(_) => pixels.into_rgb(),
    }
}

/// The profile of two ITU-T H.273 code points. The code point 2 (unspecified) means sRGB.
fn profile_from_cicp(primaries: u8, transfer: u8) -> Result<ColorProfile, CmsError> {
    let color_primaries = match primaries {
        2 => CicpColorPrimaries::Bt709,
        code_point => CicpColorPrimaries::try_from(code_point)?,
    };
    let transfer_characteristics = match transfer {
        // BT.709, BT.601 and BT.2020 camera curves too: viewers display such images with the sRGB curve.
        1 | 2 | 6 | 14 | 15 => TransferCharacteristics::Srgb,
        code_point => TransferCharacteristics::try_from(code_point)?,
    };
    // The decoder has already applied the matrix coefficients and the range.
    let matrix_coefficients = MatrixCoefficients::Identity;
    let cicp =
        CicpProfile { color_primaries, transfer_characteristics, matrix_coefficients, full_range: true };
    let profile = ColorProfile::new_from_cicp(cicp);
    // Reserved code points leave the profile without tone curves.
    if profile.red_trc.is_some() { Ok(profile) } else { Err(CmsError::InvalidProfile) }
}

fn convert(profile: &ColorProfile, from: Layout, to: Layout, pixels: &[u8]) -> Result<Vec<u8>, CmsError> {
    let srgb = ColorProfile::new_srgb();
    let transform = profile.create_transform_8bit(from, &srgb, to, TransformOptions::default())?;
    let mut converted = vec![0; pixels.len() / from.channels() * to.channels()];
    transform.transform(pixels, &mut converted)?;
    Ok(converted)
}

/// Most embedded profiles are sRGB. Converting a 6 × 6 × 6 grid of samples detects that far more cheaply than
/// converting four million pixels into themselves.
fn differs_from_srgb(profile: &ColorProfile) -> bool {
    let levels = || (0..=255).step_by(51);
    let mut samples = Vec::new();
    for red in levels() {
        for green in levels() {
            samples.extend(levels().flat_map(|blue| [red, green, blue]));
        }
    }
    convert(profile, Layout::Rgb, Layout::Rgb, &samples)
        .is_ok_and(|converted| samples.iter().zip(&converted).any(|(a, b)| a.abs_diff(*b) > 1))
}
