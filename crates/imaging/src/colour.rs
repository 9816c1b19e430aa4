//! Colours as the picture means them, told in sRGB.

use moxcms::{CicpColorPrimaries, CicpProfile, MatrixCoefficients, TransferCharacteristics};
use moxcms::{CmsError, ColorProfile, DataColorSpace, Layout, ParsingOptions, TransformOptions};

use crate::picture::Colours;
use crate::pixels::{Channels, Pixels};

/// Those of cameras and screens have a few kilobytes, scanners' some hundred, printers' up to two thousand.
const MAX_PROFILE: usize = 4 << 20;

/// The way from a picture's colours to sRGB.
pub(crate) struct Conversion(ColorProfile);

impl Conversion {
    /// None where the picture is to be taken as sRGB: it has no profile, or one that says so by whatever
    /// name, or one that cannot be read or not be used with such pixels. Slightly wrong colours are better
    /// than no picture.
    pub(crate) fn new(colours: &Colours, channels: Channels) -> Option<Self> {
        let profile = match colours {
            Colours::Srgb => return None,
            Colours::Icc(profile) => {
                let options = ParsingOptions { max_profile_size: MAX_PROFILE, ..ParsingOptions::default() };
                ColorProfile::new_from_slice_with_options(profile, options).ok()?
            }
            Colours::Cicp { primaries, transfer } => cicp(*primaries, *transfer).ok()?,
        };
        let changes = match profile.color_space {
            DataColorSpace::Gray => channels.is_grey(),
            DataColorSpace::Rgb => channels != Channels::Cmyk && moves_colours(&profile),
            DataColorSpace::Cmyk => channels == Channels::Cmyk,
            _ => false,
        };
        changes.then_some(Self(profile))
    }

    /// The picture in RGB, or RGBA.
    pub(crate) fn apply(&self, pixels: Pixels) -> Pixels {
        // Grey pictures often carry an RGB profile.
        let pixels = match self.0.color_space {
            DataColorSpace::Rgb => pixels.into_rgb(),
            _ => pixels,
        };
        let (from, channels) = match pixels.channels {
            Channels::Grey => (Layout::Gray, Channels::Rgb),
            Channels::GreyAlpha => (Layout::GrayAlpha, Channels::Rgba),
            Channels::Rgb => (Layout::Rgb, Channels::Rgb),
            Channels::Rgba => (Layout::Rgba, Channels::Rgba),
            // Four channels are four channels.
            Channels::Cmyk => (Layout::Rgba, Channels::Rgb),
        };
        let to = if channels.has_alpha() { Layout::Rgba } else { Layout::Rgb };
        match convert(&self.0, from, to, &pixels.bytes) {
            Ok(bytes) => Pixels { channels, bytes, ..pixels },
            Err(_) => pixels.into_rgb(),
        }
    }
}

/// The profile that two numbers of ITU-T H.273 stand for; unspecified ones for sRGB.
fn cicp(primaries: u8, transfer: u8) -> Result<ColorProfile, CmsError> {
    let color_primaries = match primaries {
        2 => CicpColorPrimaries::Bt709,
        number => CicpColorPrimaries::try_from(number)?,
    };
    let transfer_characteristics = match transfer {
        // Also the curves of television cameras: screens show such pictures like any other.
        1 | 2 | 6 | 14 | 15 => TransferCharacteristics::Srgb,
        number => TransferCharacteristics::try_from(number)?,
    };
    // The other two are undone already.
    let matrix_coefficients = MatrixCoefficients::Identity;
    let cicp =
        CicpProfile { color_primaries, transfer_characteristics, matrix_coefficients, full_range: true };
    let profile = ColorProfile::new_from_cicp(cicp);
    // Numbers without a meaning leave it empty.
    if profile.red_trc.is_some() { Ok(profile) } else { Err(CmsError::InvalidProfile) }
}

fn convert(profile: &ColorProfile, from: Layout, to: Layout, pixels: &[u8]) -> Result<Vec<u8>, CmsError> {
    let srgb = ColorProfile::new_srgb();
    let transform = profile.create_transform_8bit(from, &srgb, to, TransformOptions::default())?;
    let mut converted = vec![0; pixels.len() / from.channels() * to.channels()];
    transform.transform(pixels, &mut converted)?;
    Ok(converted)
}

/// Nearly every picture says it is sRGB. Trying that on colours all over the cube is far cheaper than
/// converting four million pixels into themselves.
fn moves_colours(profile: &ColorProfile) -> bool {
    let steps = || (0..=255).step_by(51);
    let mut samples = Vec::new();
    for red in steps() {
        for green in steps() {
            samples.extend(steps().flat_map(|blue| [red, green, blue]));
        }
    }
    convert(profile, Layout::Rgb, Layout::Rgb, &samples)
        .is_ok_and(|converted| samples.iter().zip(&converted).any(|(a, b)| a.abs_diff(*b) > 1))
}
