//! Colour management: converts decoded pixels from their ICC profile or CICP code points to a gamut.

use moxcms::{CicpColorPrimaries, CicpProfile, MatrixCoefficients, TransferCharacteristics};
use moxcms::{CmsError, ColorProfile, DataColorSpace, Layout, ParsingOptions, TransformOptions};

use crate::decoded_image::ColourSpace;
use crate::gamut::Gamut;
use crate::icc;
use crate::pixels::{Channels, Pixels};
use crate::tone_map::ToneMap;

/// The difference of a sample, in levels, from which on sRGB has lost a colour of a wider gamut.
const WIDER: u8 = 8;

/// How the pixels of a file become those of its gamut.
pub(crate) struct ColourTransform {
    pub(crate) gamut: Gamut,
    /// None if the pixels are used unchanged.
    pub(crate) conversion: Option<Conversion>,
}

pub(crate) enum Conversion {
    Profile(Box<ColorProfile>, Gamut),
    /// Of an HDR image.
    ToneMap(ToneMap),
}

impl ColourTransform {
    /// The pixels are used as sRGB unchanged if there is no profile, the profile equals sRGB, or it is
    /// unreadable or does not match the channels. A slightly wrong colour is better than a rejected upload.
    pub(crate) fn new(colour_space: &ColourSpace, channels: Channels) -> Self {
        const UNCHANGED: ColourTransform = ColourTransform { gamut: Gamut::Srgb, conversion: None };
        if let ColourSpace::Cicp { primaries, transfer } = colour_space
            && let Some(tone_map) = ToneMap::new((*primaries).into(), (*transfer).into(), None)
        {
            return Self { gamut: tone_map.gamut(), conversion: Some(Conversion::ToneMap(tone_map)) };
        }
        let Ok(profile) = profile(colour_space) else { return UNCHANGED };
        let gamut = match profile.color_space {
            DataColorSpace::Gray if channels.is_grey() => Gamut::Srgb,
            DataColorSpace::Cmyk if channels == Channels::Cmyk => Gamut::Srgb,
            DataColorSpace::Rgb if channels != Channels::Cmyk => {
                if !differs(&profile, Gamut::Srgb) {
                    return UNCHANGED;
                }
                match !channels.is_grey() && is_wider_than_srgb(&profile) {
                    true if !differs(&profile, Gamut::DisplayP3) => {
                        return Self { gamut: Gamut::DisplayP3, conversion: None };
                    }
                    true => Gamut::DisplayP3,
                    false => Gamut::Srgb,
                }
            }
            _ => return UNCHANGED,
        };
        Self { gamut, conversion: Some(Conversion::Profile(Box::new(profile), gamut)) }
    }
}

impl Conversion {
    /// Returns RGB, or RGBA if the pixels have alpha.
    pub(crate) fn apply(&self, pixels: Pixels) -> Pixels {
        match self {
            Self::Profile(profile, gamut) => apply_profile(profile, *gamut, pixels),
            Self::ToneMap(tone_map) => apply_tone_map(tone_map, pixels),
        }
    }
}

impl Gamut {
    fn profile(self) -> ColorProfile {
        match self {
            Self::Srgb => ColorProfile::new_srgb(),
            Self::DisplayP3 => ColorProfile::new_display_p3(),
        }
    }

    /// Converts RGB or RGBA pixels of this gamut to sRGB.
    pub(crate) fn convert_to_srgb(self, pixels: Pixels) -> Pixels {
        match self {
            Self::Srgb => pixels,
            Self::DisplayP3 => apply_profile(&self.profile(), Self::Srgb, pixels),
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

fn apply_profile(profile: &ColorProfile, gamut: Gamut, pixels: Pixels) -> Pixels {
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
    match convert(profile, from, gamut, to, &pixels.bytes) {
        Ok(bytes) => Pixels { channels, bytes, ..pixels },
        Err(_) => pixels.into_rgb(),
    }
}

fn profile(colour_space: &ColourSpace) -> Result<ColorProfile, CmsError> {
    match colour_space {
        ColourSpace::Srgb => Ok(ColorProfile::new_srgb()),
        ColourSpace::Icc(profile) => {
            let options = ParsingOptions { max_profile_size: icc::MAX_BYTES, ..ParsingOptions::default() };
            ColorProfile::new_from_slice_with_options(profile, options)
        }
        ColourSpace::Cicp { primaries, transfer } => profile_from_cicp(*primaries, *transfer),
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

fn convert(
    profile: &ColorProfile,
    from: Layout,
    gamut: Gamut,
    to: Layout,
    pixels: &[u8],
) -> Result<Vec<u8>, CmsError> {
    let transform = profile.create_transform_8bit(from, &gamut.profile(), to, TransformOptions::default())?;
    let mut converted = vec![0; pixels.len() / from.channels() * to.channels()];
    transform.transform(pixels, &mut converted)?;
    Ok(converted)
}

/// Most embedded profiles are those of a gamut. Converting a few samples detects that far more cheaply than
/// converting four million pixels into themselves.
fn differs(profile: &ColorProfile, gamut: Gamut) -> bool {
    let samples = samples();
    convert_rgb(profile, gamut, &samples).is_ok_and(|converted| largest_difference(&samples, &converted) > 1)
}

/// Whether Display P3 has colours of the profile that sRGB has not: they are lost on the way through sRGB.
fn is_wider_than_srgb(profile: &ColorProfile) -> bool {
    let samples = samples();
    let direct = convert_rgb(profile, Gamut::DisplayP3, &samples);
    let clipped = convert_rgb(profile, Gamut::Srgb, &samples)
        .and_then(|srgb| convert_rgb(&Gamut::Srgb.profile(), Gamut::DisplayP3, &srgb));
    matches!((direct, clipped), (Ok(direct), Ok(clipped)) if largest_difference(&direct, &clipped) > WIDER)
}

fn convert_rgb(profile: &ColorProfile, gamut: Gamut, samples: &[u8]) -> Result<Vec<u8>, CmsError> {
    convert(profile, Layout::Rgb, gamut, Layout::Rgb, samples)
}

/// A grid of 6 × 6 × 6 RGB pixels.
fn samples() -> Vec<u8> {
    let levels = || (0..=255).step_by(51);
    let pairs = levels().flat_map(|red| levels().map(move |green| (red, green)));
    pairs.flat_map(|(red, green)| levels().flat_map(move |blue| [red, green, blue])).collect()
}

fn largest_difference(one: &[u8], other: &[u8]) -> u8 {
    one.iter().zip(other).map(|(a, b)| a.abs_diff(*b)).max().unwrap_or_default()
}
