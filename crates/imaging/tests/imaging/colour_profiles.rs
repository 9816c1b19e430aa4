//! Embedded colour profiles are applied.

use image::{DynamicImage, GrayImage};
use jpeg_encoder::{ColorType, Encoder};
use moxcms::ColorProfile;

use crate::test_images::*;

const SRGB: [u8; 3] = [200, 100, 60];

#[test]
fn display_p3_is_converted_to_srgb() {
    let image = paint(64, 64, |_, _| in_display_p3(SRGB));
    let profile = ColorProfile::new_display_p3().encode().unwrap();
    for (what, file) in with_profile(&image, &profile) {
        assert_near(decode_largest_master(&file).get_pixel(32, 32).0, SRGB, 3, what);
    }
    // Without a profile the same values are another colour, so the profile made the difference.
    let plain = decode_largest_master(&png(&image)).get_pixel(32, 32).0;
    assert!(plain[0].abs_diff(SRGB[0]) > 6, "{plain:?}");
}

#[test]
fn grey_profiles_are_applied() {
    let grey: DynamicImage = GrayImage::from_pixel(64, 64, image::Luma([128])).into();
    let linear = ColorProfile::new_gray_with_gamma(1.0).encode().unwrap();
    let file = with_chunk(&png(&grey), b"iCCP", &png_profile(&linear));
    assert_near(decode_largest_master(&file).get_pixel(32, 32).0, [188; 3], 3, "linear grey");

    let file = with_segment(&jpeg(&grey), 0xE2, &jpeg_profile(&linear));
    assert_near(decode_largest_master(&file).get_pixel(32, 32).0, [188; 3], 3, "linear grey JPEG");

    let alpha = DynamicImage::ImageLumaA8(image::ImageBuffer::from_pixel(64, 64, image::LumaA([128, 99])));
    let file = with_chunk(&png(&alpha), b"iCCP", &png_profile(&linear));
    let pixel = decode_largest_master(&file).get_pixel(32, 32).0;
    assert_near(pixel, [188; 3], 3, "linear grey with alpha");
    assert_eq!(pixel[3], 99);
}

#[test]
fn a_grey_picture_with_an_rgb_profile_stays_grey() {
    let grey: DynamicImage = GrayImage::from_pixel(64, 64, image::Luma([128])).into();
    let profile = ColorProfile::new_display_p3().encode().unwrap();
    let file = with_chunk(&png(&grey), b"iCCP", &png_profile(&profile));
    assert_near(decode_largest_master(&file).get_pixel(32, 32).0, [128; 3], 2, "grey with Display P3");
}

#[test]
fn srgb_and_unusable_profiles_change_nothing() {
    let image = DynamicImage::from(noise(80, 60)).to_rgb8().into();
    let plain = ingested(&png(&image));
    let srgb = ColorProfile::new_srgb().encode().unwrap();
    let truncated = &ColorProfile::new_display_p3().encode().unwrap()[..200];
    let grey = ColorProfile::new_gray_with_gamma(1.0).encode().unwrap();
    for profile in [&srgb, truncated, &grey, b"no profile", b""] {
        let file = with_chunk(&png(&image), b"iCCP", &png_profile(profile));
        assert_eq!(ingested(&file).masters, plain.masters);
    }
}

#[test]
fn transparency_survives_the_profile() {
    let mut image = paint(64, 64, |_, _| in_display_p3(SRGB)).to_rgba8();
    image.pixels_mut().for_each(|pixel| pixel.0[3] = 77);
    let profile = ColorProfile::new_display_p3().encode().unwrap();
    let file = with_chunk(&png(&image.into()), b"iCCP", &png_profile(&profile));
    let pixel = decode_largest_master(&file).get_pixel(32, 32).0;
    assert_near(pixel, SRGB, 3, "Display P3 with alpha");
    assert_eq!(pixel[3], 77);
}

#[test]
fn cmyk_is_converted_to_rgb() {
    let mut file = Vec::new();
    // No cyan, full magenta and yellow: red.
    let cmyk = [0, 255, 255, 0].repeat(64 * 64);
    Encoder::new(&mut file, 95).encode(&cmyk, 64, 64, ColorType::Cmyk).unwrap();
    let [red, green, blue, _] = decode_largest_master(&file).get_pixel(32, 32).0;
    assert!(red > 200 && green < 60 && blue < 60, "{red}, {green}, {blue}");
}

fn with_profile(image: &DynamicImage, profile: &[u8]) -> [(&'static str, Vec<u8>); 3] {
    let canvas = (image.width(), image.height());
    [
        ("JPEG", with_segment(&jpeg(image), 0xE2, &jpeg_profile(profile))),
        ("PNG", with_chunk(&png(image), b"iCCP", &png_profile(profile))),
        ("WebP", extended_webp(&webp(image), canvas, 0x20, &[(b"ICCP", profile)])),
    ]
}

/// Converts an sRGB colour to Display P3: the same transfer function, other primaries.
fn in_display_p3(srgb: [u8; 3]) -> [u8; 3] {
    const MATRIX: [[f64; 3]; 3] =
        [[0.822_462, 0.177_538, 0.0], [0.033_194, 0.966_806, 0.0], [0.017_083, 0.072_397, 0.910_520]];
    let linear = srgb.map(|byte| match f64::from(byte) / 255.0 {
        low if low <= 0.04045 => low / 12.92,
        high => ((high + 0.055) / 1.055).powf(2.4),
    });
    MATRIX.map(|row| {
        let light: f64 = row.iter().zip(linear).map(|(weight, light)| weight * light).sum();
        let curved = match light {
            low if low <= 0.003_130_8 => low * 12.92,
            high => 1.055 * high.powf(1.0 / 2.4) - 0.055,
        };
        (curved * 255.0).round() as u8
    })
}

#[track_caller]
fn assert_near([rgb @ .., _]: [u8; 4], expected: [u8; 3], distance: u8, what: &str) {
    let near = rgb.iter().zip(expected).all(|(a, b)| a.abs_diff(b) <= distance);
    assert!(near, "{what}: {rgb:?} instead of {expected:?}");
}
