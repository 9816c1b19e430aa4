//! The EXIF orientation is applied to the masters.

use image::DynamicImage;
use imaging::{FitMasters, InputFormat, orientation_edits, probe};
use model::Focus;

use crate::test_images::*;

const WIDTH: u32 = 90;
const HEIGHT: u32 = 60;

/// The side of the oriented image on which the first stored row and the first stored column are, as in the
/// EXIF standard.
const SIDES: [(char, char); 8] =
    [('T', 'L'), ('T', 'R'), ('B', 'R'), ('B', 'L'), ('L', 'T'), ('R', 'T'), ('R', 'B'), ('L', 'B')];

#[test]
fn all_eight_orientations_are_applied_in_every_format() {
    for (orientation, sides) in (1..).zip(SIDES) {
        let stored = stored(sides);
        let exif = exif(orientation, "");
        // Some encoders write the `Exif` prefix of JPEG into WebP.
        let prefixed = jpeg_exif(orientation, "");
        let canvas = (stored.width(), stored.height());
        for (format, file) in [
            (InputFormat::Jpeg, with_segment(&jpeg(&stored), 0xE1, &prefixed)),
            (InputFormat::Png, with_chunk(&png(&stored), b"eXIf", &exif)),
            (InputFormat::WebP, extended_webp(&webp(&stored), canvas, 0x08, &[(b"EXIF", &exif)])),
            (InputFormat::WebP, extended_webp(&webp(&stored), canvas, 0x08, &[(b"EXIF", &prefixed)])),
        ] {
            let what = format!("orientation {orientation} in {format:?}");
            let probe = probe(&file, &LIMITS).unwrap();
            assert_eq!((probe.format, probe.width, probe.height), (format, WIDTH, HEIGHT), "{what}");
            let ingested = ingested(&file);
            assert_eq!((ingested.width, ingested.height), (WIDTH, HEIGHT), "{what}");

            let master = decode_with_image_crate(&ingested.masters.squares[0].bytes);
            let last = HEIGHT - 4;
            assert_colour(&master, 3, 3, RED, &what);
            assert_colour(&master, last, 3, GREEN, &what);
            assert_colour(&master, 3, last, BLUE, &what);
            assert_colour(&master, last, last, YELLOW, &what);

            // The original is stored without its orientation, and gets it back when it leaves the service.
            let original = &ingested.original;
            assert_eq!(u16::from(original.orientation), orientation, "{what}");
            let (head, length) = (&original.bytes[..64], original.bytes.len() as u64);
            let edits = orientation_edits(format, head, length, original.orientation);
            assert_eq!(edits.is_empty(), orientation == 1, "{what}");
            let mut oriented = original.bytes.clone();
            for edit in edits.into_iter().rev() {
                assert!(edit.range.end <= 64 || edit.range.start == length, "{what}: {edit:?}");
                oriented.splice(edit.range.start as usize..edit.range.end as usize, edit.bytes);
            }
            let again = imaging::ingest(&oriented, Focus::CENTRE, FitMasters::All, &LIMITS).unwrap();
            assert_eq!((&again.masters, &again.original), (&ingested.masters, original), "{what}");
            decode_with_image_crate(&oriented);
        }
    }
}

#[test]
fn an_invalid_orientation_is_ignored() {
    for orientation in [0, 9, 65535] {
        let file = with_segment(&jpeg(&quarters(90, 60)), 0xE1, &jpeg_exif(orientation, ""));
        assert_colour(&decode_largest_master(&file), 3, 3, RED, "orientation out of range");
    }
}

/// The quarters as stored with this orientation.
fn stored((first_row, first_column): (char, char)) -> DynamicImage {
    let swaps_axes = matches!(first_row, 'L' | 'R');
    let (width, height) = if swaps_axes { (HEIGHT, WIDTH) } else { (WIDTH, HEIGHT) };
    paint(width, height, |x, y| {
        let mut oriented = (0, 0);
        for (side, along) in [(first_row, y), (first_column, x)] {
            match side {
                'T' => oriented.1 = along,
                'B' => oriented.1 = HEIGHT - 1 - along,
                'L' => oriented.0 = along,
                _ => oriented.0 = WIDTH - 1 - along,
            }
        }
        quarter(WIDTH, HEIGHT, oriented.0, oriented.1)
    })
}
