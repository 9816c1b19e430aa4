//! Masters and renders are the centre square in exactly the requested size.

use imaging::{OutputFormat, render};
use model::Size;

use crate::test_images::*;

#[test]
fn renders_have_exactly_the_requested_size_below_and_above_the_master() {
    let ingested = ingested(&jpeg(&quarters(450, 301)));
    assert_eq!(ingested.masters[0].side, 301);
    for master in &ingested.masters {
        for side in [1, 2, 3, 17, 255, 256, 257, 301, 1023, 2047, 2048] {
            for format in [OutputFormat::Jpeg, OutputFormat::WebP] {
                let file = render(&master.bytes, Size::new(side).unwrap(), format).unwrap();
                let image = decode_with_image_crate(&file);
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
fn the_master_is_the_centre_square() {
    let thirds = |position: u32| match position {
        0..100 => RED,
        100..200 => GREEN,
        _ => BLUE,
    };
    for (what, image) in
        [("wide", paint(300, 100, |x, _| thirds(x))), ("tall", paint(100, 300, |_, y| thirds(y)))]
    {
        let master = decode_largest_master(&png(&image));
        assert_eq!((master.width(), master.height()), (100, 100));
        for (x, y) in [(0, 0), (99, 0), (0, 99), (99, 99), (50, 50)] {
            assert_colour(&master, x, y, GREEN, what);
        }
    }
}

#[test]
fn masters_have_the_sides_of_the_model() {
    for (width, height, sides) in [
        (2600, 2100, &[2048, 1024, 512, 256][..]),
        (700, 1000, &[700, 512, 256]),
        (256, 300, &[256]),
        (1, 5000, &[1]),
    ] {
        let ingested = ingested(&jpeg(&quarters(width, height)));
        let actual: Vec<_> = ingested.masters.iter().map(|master| master.side).collect();
        assert_eq!(actual, sides, "{width} × {height}");
        assert!(!ingested.placeholder.is_empty());
        for master in &ingested.masters {
            let image = decode_with_image_crate(&master.bytes);
            assert_eq!((image.width(), image.height()), (master.side, master.side));
            if master.side > 1 {
                assert_colour(&image, 0, 0, RED, "upper left");
                assert_colour(&image, master.side - 1, master.side - 1, YELLOW, "lower right");
            }
        }
    }
}

#[test]
fn the_placeholder_is_made_from_the_square() {
    // Only the middle is green: a thumbhash of the whole image would be mostly red and blue.
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
fn ingest_and_render_are_deterministic() {
    let file = jpeg(&noise(600, 500).into());
    let (one, other) = (ingested(&file), ingested(&file));
    assert_eq!(one, other);
    for format in [OutputFormat::Jpeg, OutputFormat::WebP] {
        let render = || render(&one.masters[0].bytes, Size::new(321).unwrap(), format).unwrap();
        assert_eq!(render(), render(), "{format:?}");
    }
}
