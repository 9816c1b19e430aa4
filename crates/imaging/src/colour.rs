//! Colours as the picture's profile means them, told in sRGB.

use moxcms::{CmsError, ColorProfile, DataColorSpace, Layout, ParsingOptions, TransformOptions};

use crate::pixels::{Channels, Pixels};

/// Those of cameras and screens have a few kilobytes, scanners' some hundred.
const MAX_PROFILE: usize = 1 << 20;

/// The picture in sRGB with three or four channels. A profile that cannot be read, or not be used with
/// these pixels, is ignored: slightly wrong colours are better than no picture.
pub(crate) fn to_srgb(pixels: Pixels, profile: Option<&[u8]>) -> Pixels {
    let options = || ParsingOptions { max_profile_size: MAX_PROFILE, ..ParsingOptions::default() };
    match profile.map(|profile| ColorProfile::new_from_slice_with_options(profile, options())) {
        Some(Ok(profile)) => apply(&profile, pixels),
        Some(Err(_)) | None => pixels.into_rgb(),
    }
}

fn apply(profile: &ColorProfile, pixels: Pixels) -> Pixels {
    // Grey pictures often carry an RGB profile.
    let pixels = match profile.color_space {
        DataColorSpace::Gray => pixels,
        _ => pixels.into_rgb(),
    };
    match transform(profile, &pixels) {
        Ok(Some(bytes)) => Pixels {
            channels: match pixels.channels.has_alpha() {
                true => Channels::Rgba,
                false => Channels::Rgb,
            },
            bytes,
            ..pixels
        },
        Ok(None) | Err(_) => pixels.into_rgb(),
    }
}

/// The converted bytes, or none where the profile is sRGB by whatever name.
fn transform(profile: &ColorProfile, pixels: &Pixels) -> Result<Option<Vec<u8>>, CmsError> {
    // The sizes of pixels must fit the profile: a CMYK profile's picture was decoded to RGB long ago.
    let fits = match profile.color_space {
        DataColorSpace::Gray => pixels.channels.is_grey(),
        DataColorSpace::Rgb => !pixels.channels.is_grey(),
        _ => false,
    };
    if !fits {
        return Err(CmsError::InvalidProfile);
    }
    let (from, to) = match pixels.channels {
        Channels::Grey => (Layout::Gray, Layout::Rgb),
        Channels::GreyAlpha => (Layout::GrayAlpha, Layout::Rgba),
        Channels::Rgb => (Layout::Rgb, Layout::Rgb),
        Channels::Rgba => (Layout::Rgba, Layout::Rgba),
    };
    let srgb = ColorProfile::new_srgb();
    let into_srgb = |from, to| profile.create_transform_8bit(from, &srgb, to, TransformOptions::default());

    if from == Layout::Rgb || from == Layout::Rgba {
        let samples = samples();
        let mut converted = vec![0; samples.len()];
        into_srgb(Layout::Rgb, Layout::Rgb)?.transform(&samples, &mut converted)?;
        let moved = samples.iter().zip(&converted).any(|(a, b)| a.abs_diff(*b) > 1);
        if !moved {
            return Ok(None);
        }
    }
    let mut bytes = vec![0; pixels.bytes.len() / from.channels() * to.channels()];
    into_srgb(from, to)?.transform(&pixels.bytes, &mut bytes)?;
    Ok(Some(bytes))
}

/// Colours all over the cube. Nearly every picture says it is sRGB; trying that on a few pixels is far
/// cheaper than converting four million into themselves.
fn samples() -> Vec<u8> {
    let steps = || (0..=255).step_by(51);
    let mut samples = Vec::new();
    for red in steps() {
        for green in steps() {
            samples.extend(steps().flat_map(|blue| [red, green, blue]));
        }
    }
    samples
}
