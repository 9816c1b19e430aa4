//! The centre of the picture, in exactly the size asked for.

use imaging::{OutputFormat, render};
use model::Size;

use crate::pictures::*;

#[test]
fn every_size_is_exact_smaller_and_larger_than_the_master() {
    let ingested = ingested(&jpeg(&quarters(450, 301)));
    assert_eq!(ingested.masters[0].side, 301);
    for master in &ingested.masters {
        for side in [1, 2, 3, 17, 255, 256, 257, 301, 1023, 2047, 2048] {
            for format in [OutputFormat::Jpeg, OutputFormat::WebP] {
                let file = render(&master.bytes, Size::new(side).unwrap(), format).unwrap();
                let image = seen(&file);
                let side = u32::from(side);
                assert_eq!((image.width(), image.height()), (side, side), "{format:?}");
                if side > 200 {
                    assert_colour(&image, 0, 0, RED, "upper left");
                    assert_colour(&image, side - 1, side - 1, YELLOW, "lower right");
                }
            }
        }
    }
}

#[test]
fn the_square_is_the_centre() {
    let thirds = |along: u32| match along {
        0..100 => RED,
        100..200 => GREEN,
        _ => BLUE,
    };
    for (what, image) in
        [("wide", paint(300, 100, |x, _| thirds(x))), ("tall", paint(100, 300, |_, y| thirds(y)))]
    {
        let master = top(&png(&image));
        assert_eq!((master.width(), master.height()), (100, 100));
        for (x, y) in [(0, 0), (99, 0), (0, 99), (99, 99), (50, 50)] {
            assert_colour(&master, x, y, GREEN, what);
        }
    }
}

#[test]
fn a_pyramid_as_the_model_says() {
    for (width, height, sides) in [
        (2600, 2100, &[2048, 1024, 512, 256][..]),
        (700, 1000, &[700, 512, 256]),
        (256, 300, &[256]),
        (1, 5000, &[1]),
    ] {
        let ingested = ingested(&jpeg(&quarters(width, height)));
        let made: Vec<_> = ingested.masters.iter().map(|master| master.side).collect();
        assert_eq!(made, sides, "{width} × {height}");
        assert!(!ingested.placeholder.is_empty());
        for master in &ingested.masters {
            let image = seen(&master.bytes);
            assert_eq!((image.width(), image.height()), (master.side, master.side));
            if master.side > 1 {
                assert_colour(&image, 0, 0, RED, "upper left");
                assert_colour(&image, master.side - 1, master.side - 1, YELLOW, "lower right");
            }
        }
    }
}

#[test]
fn the_placeholder_shows_the_square() {
    // Only the middle is green: a hash of the whole picture would be mostly red and blue.
    let image = paint(900, 100, |x, _| match x {
        0..400 => RED,
        400..500 => GREEN,
        _ => BLUE,
    });
    let placeholder = ingested(&png(&image)).placeholder;
    let (width, height, rgba) = thumbhash::thumb_hash_to_rgba(&placeholder).unwrap();
    assert_eq!(width, height);
    let middle = &rgba[(height / 2 * width + width / 2) * 4..][..3];
    assert!(middle[1] > 120 && middle[0] < 90 && middle[2] < 90, "{middle:?}");
}

#[test]
fn the_same_bytes_every_time() {
    let file = jpeg(&noise(600, 500).into());
    let (one, other) = (ingested(&file), ingested(&file));
    assert_eq!(one, other);
    for format in [OutputFormat::Jpeg, OutputFormat::WebP] {
        let render = || render(&one.masters[0].bytes, Size::new(321).unwrap(), format).unwrap();
        assert_eq!(render(), render(), "{format:?}");
    }
}
