//! Masters and renders are the square or the whole photo, in exactly the requested size.

use imaging::{FitMasters, OutputFormat, ingest, render, render_original};
use model::{Focus, fit_dimensions};

use crate::test_images::*;

#[test]
fn renders_have_exactly_the_requested_size_below_and_above_the_master() {
    let ingested = ingested(&jpeg(&quarters(450, 301)));
    assert_eq!(ingested.masters.squares[0].side, 301);
    for master in &ingested.masters.squares {
        for side in [1, 2, 3, 17, 255, 256, 257, 301, 1023, 2047, 2048] {
            for format in [OutputFormat::Jpeg, OutputFormat::WebP] {
                let file = render(&master.bytes, (side, side), format).unwrap();
                let image = decode_with_image_crate(&file);
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
        let actual: Vec<_> = ingested.masters.squares.iter().map(|master| master.side).collect();
        assert_eq!(actual, sides, "{width} × {height}");
        assert!(!ingested.placeholder.is_empty());
        for master in &ingested.masters.squares {
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
fn the_square_is_cut_around_the_focus_of_the_upright_photo() {
    let thirds = |position: u32| [RED, GREEN, BLUE][position as usize / 100];
    let image = paint(300, 100, |x, _| thirds(x));
    for (focus, expected) in [("0,0.5", RED), ("0.5,0.5", GREEN), ("1,0", BLUE), ("0.1,1", RED)] {
        let focus: Focus = focus.parse().unwrap();
        // Orientation 6 stores a wide photo as a tall one, rotated counter-clockwise; 8 clockwise.
        let stored =
            [(1, image.clone()), (6, image.rotate270()), (8, image.rotate90()), (3, image.rotate180())];
        for (orientation, stored) in stored {
            let file = with_segment(&jpeg(&stored), 0xE1, &jpeg_exif(orientation, ""));
            let ingested = ingest(&file, focus, FitMasters::All, &LIMITS).unwrap();
            let square = decode_with_image_crate(&ingested.masters.squares[0].bytes);
            let what = format!("{focus} with orientation {orientation}");
            assert_eq!((square.width(), square.height()), (100, 100), "{what}");
            for (x, y) in [(1, 1), (98, 98), (50, 50)] {
                assert_colour(&square, x, y, expected, &what);
            }
            let fit = decode_with_image_crate(&ingested.masters.fits[0].bytes);
            assert_eq!((fit.width(), fit.height()), (300, 100), "{what}");
            for (x, colour) in [(5, RED), (150, GREEN), (295, BLUE)] {
                assert_colour(&fit, x, 50, colour, &what);
            }
        }
    }
}

#[test]
fn masters_of_the_whole_photo_keep_its_aspect() {
    for (width, height, sizes) in [
        (2600, 2100, &[(2048, 1654), (1139, 920), (569, 460), (284, 229)][..]),
        (1001, 701, &[(1001, 701), (611, 428), (305, 214)]),
        (300, 300, &[]),
        (3, 5000, &[(1, 2048)]),
    ] {
        let ingested = ingested(&jpeg(&quarters(width, height)));
        let size_of = |file: &[u8]| decode_with_image_crate(file).dimensions();
        let actual: Vec<_> = ingested.masters.fits.iter().map(|master| size_of(&master.bytes)).collect();
        assert_eq!(actual, sizes, "{width} × {height}");
    }
}

#[test]
fn renders_of_the_whole_photo_show_all_of_it_in_any_size() {
    for (format, file) in [("JPEG", jpeg(&quarters(901, 603))), ("PNG", png(&quarters(901, 603)))] {
        let ingested = ingested(&file);
        for longest in [1, 2, 63, 64, 65, 255, 256, 511, 900, 901] {
            let size = fit_dimensions(901, 603, longest);
            for output in [OutputFormat::Jpeg, OutputFormat::WebP] {
                let of_master = render(&ingested.masters.fits[0].bytes, size, output).unwrap();
                let original = &ingested.original;
                let of_original =
                    render_original(&original.bytes, original.orientation, size, output, &LIMITS).unwrap();
                for rendered in [of_master, of_original].map(|file| decode_with_image_crate(&file)) {
                    let what = format!("{longest} of a {format} as {output:?}");
                    assert_eq!(rendered.dimensions(), size, "{what}");
                    if longest > 60 {
                        let (right, bottom) = (size.0 - 1, size.1 - 1);
                        assert_colour(&rendered, 0, 0, RED, &what);
                        assert_colour(&rendered, right, 0, GREEN, &what);
                        assert_colour(&rendered, 0, bottom, BLUE, &what);
                        assert_colour(&rendered, right, bottom, YELLOW, &what);
                    }
                }
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
        let render = || render(&one.masters.squares[0].bytes, (321, 321), format).unwrap();
        assert_eq!(render(), render(), "{format:?}");
    }
}
