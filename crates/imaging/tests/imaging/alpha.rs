//! Alpha is preserved in WebP, flattened onto white in JPEG, and dropped if the image is opaque.

use image::{DynamicImage, Rgba, RgbaImage};
use imaging::{OutputFormat, render};

use crate::test_images::*;

const WHITE: [u8; 3] = [255; 3];

/// Fully transparent red on the left, opaque blue on the right.
fn half_transparent() -> DynamicImage {
    let colour = |x, _| match x {
        0..150 => Rgba([255, 0, 0, 0]),
        _ => Rgba([30, 30, 220, 255]),
    };
    RgbaImage::from_fn(300, 300, colour).into()
}

#[test]
fn alpha_is_preserved_in_webp_and_flattened_onto_white_in_jpeg() {
    for (what, file) in [
        ("PNG", png(&half_transparent())),
        ("lossless WebP", webp(&half_transparent())),
        ("lossy WebP", lossy_webp(&half_transparent())),
        ("GIF", gif(300, 300, &[(0, 0, &half_transparent())])),
    ] {
        for side in [100, 300, 500] {
            let (left, right) = (10, side - 10);
            let jpeg = decode_rendered(&file, side, OutputFormat::Jpeg);
            assert_colour(&jpeg, left, 50, WHITE, what);
            assert_colour(&jpeg, right, 50, BLUE, what);

            let webp = decode_rendered(&file, side, OutputFormat::WebP);
            assert_eq!(webp.get_pixel(left, 50).0[3], 0, "{what}");
            assert_eq!(webp.get_pixel(right, 50).0[3], 255, "{what}");
            assert_colour(&webp, right, 50, BLUE, what);
        }
    }
}

#[test]
fn transparent_colours_do_not_bleed_into_the_edge() {
    let colour = |x, _| match x {
        0..301 => Rgba([255, 0, 0, 0]),
        _ => Rgba([30, 30, 220, 255]),
    };
    let image = RgbaImage::from_fn(600, 600, colour);
    // Every master, since an encoder may discard the colour of transparent pixels.
    for master in ingested(&png(&image.into())).masters.squares {
        let file = render(&master.bytes, (200, 200), OutputFormat::Jpeg).unwrap();
        for pixel in decode_with_image_crate(&file).pixels() {
            let [red, green, blue, _] = pixel.0;
            let is_blend = red.abs_diff(green) < 24 && blue > 200;
            assert!(is_blend, "not a blend of blue and white at side {}: {pixel:?}", master.side);
        }
    }
}

#[test]
fn black_at_half_alpha_becomes_grey_in_jpeg() {
    let image = RgbaImage::from_pixel(64, 64, Rgba([0, 0, 0, 128]));
    let image = decode_rendered(&png(&image.into()), 64, OutputFormat::Jpeg);
    assert_colour(&image, 32, 32, [127; 3], "black at one half");
}

#[test]
fn a_fully_opaque_alpha_channel_is_dropped() {
    // Also for images that are resized, which must not turn 255 into 254.
    for side in [300, 2300] {
        let mut image = noise(side, side);
        image.pixels_mut().for_each(|pixel| pixel.0[3] = 255);
        let masters = ingested(&png(&image.into())).masters;
        assert!(masters.squares.iter().all(|master| master.bytes.starts_with(&[0xFF, 0xD8])));
    }
    assert!(ingested(&png(&half_transparent())).masters.squares[0].bytes.starts_with(b"RIFF"));
}
