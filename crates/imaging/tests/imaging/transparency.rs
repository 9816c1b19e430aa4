//! Kept in WebP, on white in JPEG, and never in the way where there is none.

use image::{DynamicImage, Rgba, RgbaImage};
use imaging::{OutputFormat, render};
use model::Size;

use crate::pictures::*;

const WHITE: [u8; 3] = [255; 3];

/// Invisible red on the left, blue on the right.
fn half() -> DynamicImage {
    let colour = |x, _| match x {
        0..150 => Rgba([255, 0, 0, 0]),
        _ => Rgba([30, 30, 220, 255]),
    };
    RgbaImage::from_fn(300, 300, colour).into()
}

#[test]
fn kept_in_webp_and_on_white_in_jpeg() {
    for (what, file) in [
        ("PNG", png(&half())),
        ("lossless WebP", webp(&half())),
        ("lossy WebP", lossy_webp(&half())),
        ("GIF", gif(300, 300, &[(0, 0, &half())])),
    ] {
        for side in [100, 300, 500] {
            let (left, right) = (10, u32::from(side) - 10);
            let jpeg = rendered(&file, side, OutputFormat::Jpeg);
            assert_colour(&jpeg, left, 50, WHITE, what);
            assert_colour(&jpeg, right, 50, BLUE, what);

            let webp = rendered(&file, side, OutputFormat::WebP);
            assert_eq!(webp.get_pixel(left, 50).0[3], 0, "{what}");
            assert_eq!(webp.get_pixel(right, 50).0[3], 255, "{what}");
            assert_colour(&webp, right, 50, BLUE, what);
        }
    }
}

#[test]
fn invisible_colours_do_not_bleed_into_the_edge() {
    let colour = |x, _| match x {
        0..301 => Rgba([255, 0, 0, 0]),
        _ => Rgba([30, 30, 220, 255]),
    };
    let image = RgbaImage::from_fn(600, 600, colour);
    // Every step of the pyramid, since an encoder may forget what nobody can see.
    for master in ingested(&png(&image.into())).masters {
        let file = render(&master.bytes, Size::new(200).unwrap(), OutputFormat::Jpeg).unwrap();
        for pixel in seen(&file).pixels() {
            let [red, green, blue, _] = pixel.0;
            let mixed = red.abs_diff(green) < 24 && blue > 200;
            assert!(mixed, "neither blue nor white at {}: {pixel:?}", master.side);
        }
    }
}

#[test]
fn half_transparent_is_half_white() {
    let image = RgbaImage::from_pixel(64, 64, Rgba([0, 0, 0, 128]));
    let image = rendered(&png(&image.into()), 64, OutputFormat::Jpeg);
    assert_colour(&image, 32, 32, [127; 3], "black at one half");
}

#[test]
fn alpha_that_hides_nothing_is_a_plain_picture() {
    // Also below the first resizing, which must not turn 255 into 254.
    for side in [300, 2300] {
        let mut image = noise(side, side);
        image.pixels_mut().for_each(|pixel| pixel.0[3] = 255);
        let masters = ingested(&png(&image.into())).masters;
        assert!(masters.iter().all(|master| master.bytes.starts_with(&[0xFF, 0xD8])));
    }
    assert!(ingested(&png(&half())).masters[0].bytes.starts_with(b"RIFF"));
}
