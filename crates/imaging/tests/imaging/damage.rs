//! Files that were cut, spoilt or made up.

use imaging::{Error, OutputFormat, ingest, render};
use model::Size;

use crate::pictures::*;

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
fn half_a_picture_is_damaged() {
    for (what, file) in samples() {
        assert!(ingest(&file, &LIMITS).is_ok(), "{what}");
        for share in [2, 10, 50, 90] {
            let cut = &file[..file.len() * share / 100];
            let error = ingest(cut, &LIMITS).unwrap_err();
            let damaged = matches!(error, Error::Damaged(_)) || cut.len() < 12;
            assert!(damaged, "{what} at {share} %: {error:?}");
        }
    }
}

#[test]
fn a_jpeg_without_its_last_bytes_or_with_more_is_fine() {
    for image in [quarters(640, 480), paint(640, 480, |_, _| RED), noise(640, 480).into()] {
        let file = jpeg(&image);
        let whole = ingested(&file);
        assert_eq!(ingested(&file[..file.len() - 2]).masters, whole.masters);
        let behind = [&file[..], b"a video, \xFF\xDA and what else phones append"].concat();
        assert_eq!(ingested(&behind).masters, whole.masters);
    }
}

#[test]
fn a_broken_master_is_nobodys_fault() {
    let file = ingested(&jpeg(&quarters(100, 100))).masters.remove(0).bytes;
    let huge = png(&quarters(2100, 2100));
    for master in [&file[..file.len() / 2], &file[..10], b"", b"text", &huge] {
        let error = render(master, Size::new(64).unwrap(), OutputFormat::Jpeg).unwrap_err();
        assert!(matches!(error, Error::Internal(_)), "{error:?}");
    }
}
