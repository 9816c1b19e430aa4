//! Embedded colour profiles are applied, and photos with a wider gamut than sRGB keep it.

use image::{DynamicImage, GrayImage, RgbaImage};
use imaging::{OutputFormat, master_of_master, render};
use jpeg_encoder::{ColorType, Encoder};
use moxcms::ColorProfile;

use crate::srgb;
use crate::test_images::*;

const SRGB: [u8; 3] = [200, 100, 60];

/// A green that sRGB has not, in Display P3.
const WIDE: [u8; 3] = [40, 230, 60];

#[test]
fn the_colours_of_display_p3_are_those_of_the_upload() {
    let image = paint(64, 64, |_, _| in_display_p3(SRGB));
    let profile = ColorProfile::new_display_p3().encode().unwrap();
    for (what, file) in with_profile(&image, &profile) {
        let master = &ingested(&file).masters.squares[0].bytes;
        assert_near(srgb::decode(master).get_pixel(32, 32).0, SRGB, 3, what);
        for format in [OutputFormat::Jpeg, OutputFormat::WebP] {
            let rendered = srgb::decode(&render(master, (32, 32), format).unwrap());
            assert_near(rendered.get_pixel(16, 16).0, SRGB, 4, what);
        }
    }
    // Without a profile the same values are another colour, so the profile made the difference.
    let plain = decode_largest_master(&png(&image)).get_pixel(32, 32).0;
    assert!(plain[0].abs_diff(SRGB[0]) > 6, "{plain:?}");
}

#[test]
fn webp_and_avif_keep_a_wide_gamut_and_jpeg_is_srgb() {
    let image = paint(64, 64, |_, _| WIDE);
    let mut translucent = image.to_rgba8();
    translucent.pixels_mut().for_each(|pixel| pixel.0[3] = 180);
    let profile = ColorProfile::new_display_p3().encode().unwrap();
    let [jpeg, png_file, webp] = with_profile(&image, &profile);
    let alpha = ("alpha", with_chunk(&png(&translucent.into()), b"iCCP", &png_profile(&profile)));
    for (what, file) in [jpeg, png_file, webp, alpha] {
        let masters = ingested(&file).masters.squares;
        let rebuilt = master_of_master(&masters[0].bytes, (64, 64)).unwrap();
        // Even and odd sizes are encoded from planes and from pixels.
        for (master, side) in [(&masters[0], 64), (&masters[0], 33), (&rebuilt, 64)] {
            let centre = |image: &RgbaImage| image.get_pixel(side / 2, side / 2).0;
            let rendered = |format| render(&master.bytes, (side, side), format).unwrap();
            let webp = rendered(OutputFormat::WebP);
            assert_eq!(profile_name(&webp).as_deref(), Some("Display P3"), "{what} at {side}");
            assert_near(centre(&decode_with_image_crate(&webp)), WIDE, 6, what);

            let avif = rendered(OutputFormat::Avif);
            // Primaries 12 (Display P3), transfer 13 (sRGB), matrix 6 (BT.601), full range.
            let nclx = b"colrnclx\0\x0C\0\x0D\0\x06\x80";
            assert!(avif.windows(nclx.len()).any(|window| window == nclx), "{what} at {side}");
            let reopened = ingested(&avif).masters.squares;
            assert_near(centre(&decode_with_image_crate(&reopened[0].bytes)), WIDE, 8, what);

            let jpeg = rendered(OutputFormat::Jpeg);
            assert_eq!(profile_name(&jpeg), None, "{what} at {side}");
            // The nearest colour of sRGB has no red.
            let [red, green, ..] = centre(&decode_with_image_crate(&jpeg));
            assert!(what == "alpha" || (red < 12 && green > 225), "{what}: red {red}, green {green}");
        }
    }
}

#[test]
fn photos_in_srgb_are_not_tagged() {
    let image = paint(64, 64, |_, _| SRGB);
    let swapped = include_bytes!("../corpus/profiles/swapped.png");
    for file in [&png(&image)[..], &jpeg(&image), swapped] {
        let master = &ingested(file).masters.squares[0].bytes;
        assert_eq!(profile_name(master), None);
        assert_eq!(profile_name(&render(master, (32, 32), OutputFormat::WebP).unwrap()), None);
    }
}

#[test]
fn wider_profiles_become_display_p3() {
    let files =
        ["profiles/adobe-rgb.png", "profiles/prophoto.jpg", "hdr/pq.avif", "hdr/hlg.heic", "hdr/pq.png"];
    for file in files {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(file);
        let masters = ingested(&std::fs::read(path).unwrap()).masters;
        assert_eq!(profile_name(&masters.squares[0].bytes).as_deref(), Some("Display P3"), "{file}");
    }
}

/// The placeholder has no profile, so it is in sRGB.
#[test]
fn a_placeholder_is_in_srgb() {
    let profile = ColorProfile::new_display_p3().encode().unwrap();
    let wide = with_chunk(&png(&paint(64, 64, |_, _| in_display_p3(SRGB))), b"iCCP", &png_profile(&profile));
    let plain = png(&paint(64, 64, |_, _| SRGB));
    // The average colour; the rest is noise, since the image is flat.
    assert_eq!(ingested(&wide).placeholder[..3], ingested(&plain).placeholder[..3]);
}

/// The description of an embedded ICC profile.
fn profile_name(file: &[u8]) -> Option<String> {
    let profile = srgb::decode_with_profile(file).1?;
    // UTF-16, ASCII only.
    let text: String = profile.iter().filter(|byte| **byte != 0).map(|byte| char::from(*byte)).collect();
    Some(if text.contains("Display P3") { "Display P3".to_owned() } else { text })
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
    let pixel = srgb::decode(&ingested(&file).masters.squares[0].bytes).get_pixel(32, 32).0;
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
