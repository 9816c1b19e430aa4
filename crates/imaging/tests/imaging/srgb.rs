//! Decodes a file as a viewer does: with its ICC profile.

use std::io::Cursor;

use image::{DynamicImage, ImageDecoder, ImageReader, RgbaImage};
use moxcms::{ColorProfile, Layout, TransformOptions};

/// The pixels of a file in sRGB.
pub(crate) fn decode(file: &[u8]) -> RgbaImage {
    let (image, profile) = decode_with_profile(file);
    profile.map_or_else(|| image.clone(), |profile| converted(&image, &profile))
}

/// The pixels of a file as stored, and its ICC profile.
pub(crate) fn decode_with_profile(file: &[u8]) -> (RgbaImage, Option<Vec<u8>>) {
    let reader = ImageReader::new(Cursor::new(file)).with_guessed_format().expect("no I/O");
    let mut decoder = reader.into_decoder().expect("a decodable image");
    let profile = decoder.icc_profile().expect("a readable profile");
    (DynamicImage::from_decoder(decoder).expect("a decodable image").to_rgba8(), profile)
}

fn converted(image: &RgbaImage, profile: &[u8]) -> RgbaImage {
    let profile = ColorProfile::new_from_slice(profile).expect("a valid profile");
    let (srgb, options) = (ColorProfile::new_srgb(), TransformOptions::default());
    let transform = profile.create_transform_8bit(Layout::Rgba, &srgb, Layout::Rgba, options);
    let mut converted = image.clone();
    transform.expect("an RGB profile").transform(image, &mut converted).expect("as many pixels");
    converted
}
