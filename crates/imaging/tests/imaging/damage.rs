//! Truncated, corrupt and forged files.

use imaging::{Error, FitMasters, OutputFormat, ingest, render};
use model::Focus;

use crate::test_images::*;

fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let image = quarters(64, 48);
    let noise = noise(64, 48).into();
    vec![
        ("JPEG", jpeg(&noise)),
        ("progressive JPEG", jpeg_with(&noise, |encoder| encoder.set_progressive(true))),
        ("JPEG of separate scans", jpeg_with(&noise, |encoder| encoder.set_optimized_huffman_tables(true))),
        ("PNG", png(&noise)),
        ("lossless WebP", webp(&noise)),
        ("lossy WebP", lossy_webp(&image)),
        ("lossy WebP with alpha", lossy_webp(&noise)),
        ("animated WebP", animated_webp((64, 48), &[&noise, &image])),
        ("GIF", gif(64, 48, &[(0, 0, &noise)])),
    ]
}

#[test]
fn truncated_images_are_rejected() {
    for (what, file) in samples() {
        assert!(ingest(&file, Focus::CENTRE, FitMasters::All, &LIMITS).is_ok(), "{what}");
        for percent in [2, 10, 50, 90] {
            let truncated = &file[..file.len() * percent / 100];
            let error = ingest(truncated, Focus::CENTRE, FitMasters::All, &LIMITS).unwrap_err();
            let is_expected = matches!(error, Error::Damaged(_)) || truncated.len() < 12;
            assert!(is_expected, "{what} truncated to {percent} %: {error:?}");
        }
    }
}

#[test]
fn a_jpeg_without_eoi_or_with_trailing_bytes_is_accepted() {
    for image in [quarters(640, 480), paint(640, 480, |_, _| RED), noise(640, 480).into()] {
        let file = jpeg(&image);
        let complete = ingested(&file);
        assert_eq!(ingested(&file[..file.len() - 2]).masters, complete.masters);
        let trailing = [&file[..], b"a video, \xFF\xDA and more trailing bytes"].concat();
        assert_eq!(ingested(&trailing).masters, complete.masters);
    }
}

#[test]
fn a_corrupt_master_is_an_internal_error() {
    let file = ingested(&jpeg(&quarters(100, 100))).masters.squares.remove(0).bytes;
    let huge = png(&quarters(2100, 2100));
    for master in [&file[..file.len() / 2], &file[..10], b"", b"text", &huge] {
        let error = render(master, (64, 64), OutputFormat::Jpeg).unwrap_err();
        assert!(matches!(error, Error::Internal(_)), "{error:?}");
    }
}
