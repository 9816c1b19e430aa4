//! Decompression bombs: small files that would be expensive to decode are rejected by their header.

#![allow(clippy::disallowed_methods, reason = "the test bounds real time")]

use std::time::{Duration, Instant};

use imaging::{Error, FitMasters, Limits, ingest, probe};
use jpeg_encoder::SamplingFactor;
use model::Focus;

use crate::forged_webp::{CodeTables, forged_webp};
use crate::test_images::*;

/// Headers that declare this size, with little or no data.
fn headers(width: u32, height: u32) -> Vec<(&'static str, Vec<u8>)> {
    let mut png = png(&quarters(8, 8));
    png.truncate(8);
    let sides = [width.to_be_bytes(), height.to_be_bytes()].concat();
    png.extend(png_chunk(b"IHDR", &[sides, vec![8, 6, 0, 0, 0]].concat()));
    png.extend(png_chunk(b"IDAT", &zlib_compressed(&[0; 1000])));
    png.extend(png_chunk(b"IEND", &[]));

    let mut headers = vec![("PNG", png)];
    if let (Ok(width), Ok(height)) = (u16::try_from(width), u16::try_from(height)) {
        let mut jpeg = jpeg(&quarters(8, 8));
        let frame = jpeg.windows(2).position(|pair| pair == [0xFF, 0xC0]).expect("a frame");
        jpeg[frame + 5..frame + 7].copy_from_slice(&height.to_be_bytes());
        jpeg[frame + 7..frame + 9].copy_from_slice(&width.to_be_bytes());
        headers.push(("JPEG", jpeg));

        let mut gif = gif(8, 8, &[(0, 0, &quarters(8, 8))]);
        gif[6..8].copy_from_slice(&width.to_le_bytes());
        gif[8..10].copy_from_slice(&height.to_le_bytes());
        headers.push(("GIF", gif));
    }
    if width > 0 && height > 0 {
        let webp = extended_webp(&webp(&quarters(8, 8)), (width, height), 0, &[]);
        headers.push(("WebP", webp));
    }
    headers
}

#[test]
fn headers_with_too_many_pixels_are_rejected() {
    for (width, height) in [(100_000, 100_000), (65_535, 65_535), (8_001, 8_000)] {
        for (format, file) in headers(width, height) {
            let expected = Error::TooLarge { width, height, max_pixels: 64_000_000 };
            assert_eq!(probe(&file, &LIMITS), Err(expected.clone()), "{format}");
            assert_eq!(ingest(&file, Focus::CENTRE, FitMasters::All, &LIMITS), Err(expected), "{format}");
        }
    }
}

/// The tables of the resampler would take gigabytes.
#[test]
fn headers_with_a_side_that_is_too_long_are_rejected() {
    for (width, height) in [(65_536, 1), (1, 65_536), (16_000_000, 4), (4, 16_000_000)] {
        for (format, file) in headers(width, height) {
            let expected = Error::TooLong { width, height, max_side: 65_535 };
            assert_eq!(probe(&file, &LIMITS), Err(expected.clone()), "{format}");
            assert_eq!(ingest(&file, Focus::CENTRE, FitMasters::All, &LIMITS), Err(expected), "{format}");
        }
    }
}

#[test]
fn an_image_of_exactly_the_limit_is_accepted() {
    let file = png(&quarters(100, 80));
    assert!(ingest(&file, Focus::CENTRE, FitMasters::All, &Limits { max_pixels: 8000 }).is_ok());
    let error = ingest(&file, Focus::CENTRE, FitMasters::All, &Limits { max_pixels: 7999 }).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error:?}");
}

#[test]
fn headers_without_pixels_are_rejected() {
    for (width, height) in [(0, 100), (100, 0), (0, 0)] {
        for (format, file) in headers(width, height) {
            let error = probe(&file, &LIMITS).unwrap_err();
            assert!(matches!(error, Error::Damaged(_)), "{format}: {error:?}");
        }
    }
}

#[test]
fn a_jpeg_of_a_thousand_scans_is_rejected_by_its_header() {
    let file = jpeg_with(&quarters(64, 64), |encoder| encoder.set_progressive(true));
    let scan = file.windows(2).rposition(|pair| pair == [0xFF, 0xDA]).unwrap();
    let end = file.len() - 2;
    let repeated = |times| [&file[..scan], &file[scan..end].repeat(times), &file[end..]].concat();

    assert!(ingest(&repeated(20), Focus::CENTRE, FitMasters::All, &LIMITS).is_ok());
    let error = probe(&repeated(1000), &LIMITS).unwrap_err();
    assert!(matches!(error, Error::Unsupported(_)), "{error:?}");
}

#[test]
fn a_frame_larger_than_its_screen_or_canvas_is_rejected() {
    let mut file = gif(8, 8, &[(0, 0, &quarters(8, 8))]);
    let frame = file.iter().position(|byte| *byte == 0x2C).unwrap();
    file[frame + 5..frame + 9].copy_from_slice(&[0xFF; 4]);
    let error = ingest(&file, Focus::CENTRE, FitMasters::All, &LIMITS).unwrap_err();
    assert!(matches!(error, Error::Damaged(_)), "{error:?}");

    let lossy = lossy_webp(&noise(500, 500).into());
    let file = extended_webp(&lossy, (4, 4), 0, &[]);
    let error = probe(&file, &LIMITS).unwrap_err();
    assert!(matches!(error, Error::Damaged(_)), "{error:?}");
}

#[test]
fn a_jpeg_of_too_many_segments_is_rejected_quickly() {
    let xmp = [b"http://ns.adobe.com/xmp/extension/\0", &[7; 60][..]].concat();
    let segment = with_segment(&[0xFF, 0xD8], 0xE1, &xmp).split_off(2);
    let file = jpeg(&quarters(64, 64));
    let file = [&file[..2], &segment.repeat(100_000), &file[2..]].concat();
    let start = Instant::now();
    assert!(ingest(&file, Focus::CENTRE, FitMasters::All, &LIMITS).is_err());
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

#[test]
fn too_many_prefix_code_groups_are_rejected_by_the_header() {
    let file = forged_webp(65_536, CodeTables::Empty);
    assert!(file.len() < 200_000);
    assert!(matches!(probe(&file, &LIMITS), Err(Error::Damaged(_))));
    assert!(probe(&forged_webp(100, CodeTables::Largest), &LIMITS).is_ok());
}

#[test]
fn a_large_progressive_444_jpeg_has_a_lower_pixel_limit() {
    let mut file = jpeg_with(&quarters(64, 64), |encoder| {
        encoder.set_sampling_factor(SamplingFactor::F_1_1);
        encoder.set_progressive(true);
    });
    let frame = file.windows(2).position(|pair| pair == [0xFF, 0xC2]).expect("a frame");
    file[frame + 5..frame + 9].copy_from_slice(&[0x1F, 0x40, 0x1F, 0x40]);
    let message = probe(&file, &LIMITS).unwrap_err().to_string();
    assert!(message.starts_with("the photo has 64 megapixels (8000 × 8000) and 5"), "{message}");
}
