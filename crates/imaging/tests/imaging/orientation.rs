//! Phones store pictures lying and say so in EXIF. What is kept stands upright.

use image::DynamicImage;
use imaging::{InputFormat, probe};

use crate::pictures::*;

const WIDTH: u32 = 90;
const HEIGHT: u32 = 60;

/// On which side of the upright picture the first stored row and the first stored column are, as the
/// EXIF standard words it.
const SIDES: [(char, char); 8] =
    [('T', 'L'), ('T', 'R'), ('B', 'R'), ('B', 'L'), ('L', 'T'), ('R', 'T'), ('R', 'B'), ('L', 'B')];

#[test]
fn all_eight_stand_upright_in_every_format() {
    for (orientation, sides) in (1..).zip(SIDES) {
        let stored = stored(sides);
        let exif = exif(orientation, "");
        // Some write the prefix of JPEG also into WebP.
        let prefixed = jpeg_exif(orientation, "");
        let canvas = (stored.width(), stored.height());
        for (source, file) in [
            (InputFormat::Jpeg, with_segment(&jpeg(&stored), 0xE1, &prefixed)),
            (InputFormat::Png, with_chunk(&png(&stored), b"eXIf", &exif)),
            (InputFormat::WebP, extended_webp(&webp(&stored), canvas, 0x08, &[(b"EXIF", &exif)])),
            (InputFormat::WebP, extended_webp(&webp(&stored), canvas, 0x08, &[(b"EXIF", &prefixed)])),
        ] {
            let what = format!("orientation {orientation} in {source:?}");
            let probe = probe(&file, &LIMITS).unwrap();
            assert_eq!((probe.format, probe.width, probe.height), (source, WIDTH, HEIGHT), "{what}");
            let ingested = ingested(&file);
            assert_eq!((ingested.width, ingested.height), (WIDTH, HEIGHT), "{what}");

            let master = seen(&ingested.masters[0].bytes);
            let far = HEIGHT - 4;
            assert_colour(&master, 3, 3, RED, &what);
            assert_colour(&master, far, 3, GREEN, &what);
            assert_colour(&master, 3, far, BLUE, &what);
            assert_colour(&master, far, far, YELLOW, &what);
        }
    }
}

#[test]
fn a_nonsense_orientation_changes_nothing() {
    for orientation in [0, 9, 65535] {
        let file = with_segment(&jpeg(&quarters(90, 60)), 0xE1, &jpeg_exif(orientation, ""));
        assert_colour(&top(&file), 3, 3, RED, "orientation out of range");
    }
}

/// The quarters as a camera held like this would store them.
fn stored((first_row, first_column): (char, char)) -> DynamicImage {
    let lies = matches!(first_row, 'L' | 'R');
    let (width, height) = if lies { (HEIGHT, WIDTH) } else { (WIDTH, HEIGHT) };
    paint(width, height, |x, y| {
        let mut upright = (0, 0);
        for (side, along) in [(first_row, y), (first_column, x)] {
            match side {
                'T' => upright.1 = along,
                'B' => upright.1 = HEIGHT - 1 - along,
                'L' => upright.0 = along,
                _ => upright.0 = WIDTH - 1 - along,
            }
        }
        quarter(WIDTH, HEIGHT, upright.0, upright.1)
    })
}
