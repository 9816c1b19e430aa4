//! AVIF renders, read back with the engine's own decoder.

use image::{DynamicImage, Rgba, RgbaImage};
use imaging::{OutputFormat, probe, render};

use crate::test_images::*;

/// The AVIF of an upload. It is decoded by another upload, whose master shows its pixels.
fn avif(file: &[u8], side: u32) -> Vec<u8> {
    let master = &ingested(file).masters.squares[0].bytes;
    render(master, (side, side), OutputFormat::Avif).expect("a valid master")
}

#[test]
fn avif_shows_what_the_other_formats_show() {
    let gradient = paint(700, 700, |x, y| [(x / 3) as u8, (y / 3) as u8, ((x + y) / 6) as u8]);
    let grey: DynamicImage = gradient.to_luma8().into();
    for (what, file) in
        [("colours", jpeg(&gradient)), ("grey", jpeg(&grey)), ("quarters", png(&quarters(600, 600)))]
    {
        // Odd and even, from scaled and from full decodes, smaller than a block, enlarged.
        for side in [1, 7, 64, 201, 350, 512, 801] {
            let file_of_avif = avif(&file, side);
            assert_eq!(&file_of_avif[4..12], b"ftypavif", "{what} at {side}");
            let found = probe(&file_of_avif, &LIMITS).unwrap();
            assert_eq!((found.width, found.height), (side, side), "{what}");
            let expected = decode_rendered(&file, side, OutputFormat::Jpeg);
            let actual = decode_largest_master(&file_of_avif);
            let difference = |(a, b): (&Rgba<u8>, &Rgba<u8>)| {
                a.0.iter().zip(b.0).map(|(a, b)| u64::from(a.abs_diff(b))).sum::<u64>()
            };
            let sum: u64 = actual.pixels().zip(expected.pixels()).map(difference).sum();
            let mean = sum as f64 / f64::from(3 * side * side);
            // Both formats blur the few pixels of a tiny image.
            let limit = if side < 64 { 8.0 } else { 3.0 };
            assert!(mean < limit, "{what} at {side}: channels differ by {mean:.2} on average");
        }
    }
}

#[test]
fn avif_keeps_alpha() {
    let colour = |x, _| match x {
        0..150 => Rgba([255, 0, 0, 0]),
        _ => Rgba([30, 30, 220, 255]),
    };
    let image: DynamicImage = RgbaImage::from_fn(300, 300, colour).into();
    for side in [100, 201, 300] {
        let image = decode_largest_master(&avif(&png(&image), side));
        let (left, right) = (10, side - 10);
        assert_eq!((image.get_pixel(left, 50).0[3], image.get_pixel(right, 50).0[3]), (0, 255), "{side}");
        assert_colour(&image, right, 50, BLUE, "the opaque half");
    }
}

#[test]
fn an_image_always_encodes_to_the_same_avif() {
    let file = png(&noise(256, 256).into());
    assert!(avif(&file, 256) == avif(&file, 256));
}
