//! Hostile crops, overlays, derivations, grids and layers of HEIF are rejected by their header, before
//! anything is decoded.

use imaging::{Error, FitMasters, Limits, ingest, probe};
use model::Focus;

use crate::test_images::*;

const CROP: &[u8] = include_bytes!("../corpus/avif/crop.avif");
const GRID: &[u8] = include_bytes!("../corpus/avif/grid-tile-alpha.avif");
const IDENTITY: &[u8] = include_bytes!("../corpus/avif/identity.avif");
const LAYER: &[u8] = include_bytes!("../corpus/avif/layer-1.avif");
const OPERATING_POINT: &[u8] = include_bytes!("../corpus/avif/operating-point.avif");
const OVERLAY: &[u8] = include_bytes!("../corpus/avif/overlay.avif");
const OVERLAY_HEIC: &[u8] = include_bytes!("../corpus/heic/overlay.heic");

/// Replaces bytes that occur once.
#[track_caller]
fn patched(file: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let found: Vec<usize> = (0..file.len()).filter(|at| file[*at..].starts_with(old)).collect();
    let [at] = found[..] else { panic!("{} places", found.len()) };
    let mut file = file.to_vec();
    file[at..at + new.len()].copy_from_slice(new);
    file
}

#[track_caller]
fn rejection(file: &[u8], limits: &Limits) -> Error {
    let error = probe(file, limits).expect_err("a rejected header");
    assert_eq!(ingest(file, Focus::CENTRE, FitMasters::All, limits).expect_err("no image"), error);
    error
}

#[track_caller]
fn assert_too_large(file: &[u8], limits: &Limits) {
    let error = rejection(file, limits);
    assert!(matches!(error, Error::TooLarge { .. }), "{error:?}");
}

#[track_caller]
fn assert_unsupported(file: &[u8], limits: &Limits) {
    let error = rejection(file, limits);
    assert!(matches!(error, Error::Unsupported(_)), "{error:?}");
}

#[track_caller]
fn assert_damaged(file: &[u8]) {
    let error = rejection(file, &LIMITS);
    assert!(matches!(error, Error::Damaged(_)), "{error:?}");
}

#[test]
fn a_crop_does_not_hide_pixels_from_the_limit() {
    // 33 × 20 of 96 × 64.
    assert!(probe(CROP, &Limits { max_pixels: 96 * 64 }).is_ok());
    assert_too_large(CROP, &Limits { max_pixels: 96 * 64 - 1 });
}

#[test]
fn a_crop_beyond_the_image_is_rejected() {
    let clap = [b"clap", &33_u32.to_be_bytes()[..], &1_u32.to_be_bytes()].concat();
    let with_width = |width: u32, denominator: u32| {
        let new = [b"clap", &width.to_be_bytes()[..], &denominator.to_be_bytes()].concat();
        patched(CROP, &clap, &new)
    };
    assert!(probe(&with_width(66, 2), &LIMITS).is_ok());
    // 34 pixels fit beside the centre of the crop, 97 do not; the others are no size.
    for (width, denominator) in [(97, 1), (0, 1), (1, 2), (33, 0), (u32::MAX, 1)] {
        assert_unsupported(&with_width(width, denominator), &LIMITS);
    }
}

#[test]
fn an_overlay_of_too_many_pixels_is_rejected() {
    // The canvas of 110 × 80 and the first position.
    let canvas = [0, 110, 0, 80, 0, 4, 0, 6];
    for file in [OVERLAY, OVERLAY_HEIC] {
        let with_canvas = |size: [u8; 4]| patched(file, &canvas, &[&size[..], &canvas[4..]].concat());
        assert_too_large(&with_canvas([255; 4]), &LIMITS);
        assert_damaged(&with_canvas([0, 0, 0, 80]));
        // Two layers of 96 × 64: each is within the limit, and both together are not.
        assert!(probe(file, &Limits { max_pixels: 2 * 96 * 64 }).is_ok());
        assert_unsupported(file, &Limits { max_pixels: 2 * 96 * 64 - 1 });
        assert_too_large(file, &Limits { max_pixels: 110 * 80 - 1 });
    }
}

#[test]
fn an_overlay_of_overlays_or_without_positions_is_rejected() {
    // The canvas is item 1, its layers are 2 and 3.
    let layers = [&b"dimg"[..], &[0, 1, 0, 2, 0, 2, 0, 3]].concat();
    let with_layers = |ids: [u8; 4]| patched(OVERLAY, &layers, &[&b"dimg"[..], &[0, 1, 0, 2], &ids].concat());
    assert_unsupported(&with_layers([0, 2, 0, 1]), &LIMITS);
    assert_damaged(&with_layers([0, 2, 0, 9]));
    // The wide numbers that the flag announces are missing.
    assert_damaged(&patched(OVERLAY, &[0, 0, 200, 200, 30, 30], &[0, 1, 200, 200, 30, 30]));
}

#[test]
fn an_image_derived_from_itself_is_rejected() {
    let file = patched(IDENTITY, b"dimg\0\x01\0\x01\0\x02", b"dimg\0\x01\0\x01\0\x01");
    assert_unsupported(&file, &LIMITS);
}

#[test]
fn a_grid_larger_than_its_tiles_is_rejected() {
    // One row, two columns, 128 × 64.
    let grid = [0, 0, 0, 1, 0, 128, 0, 64];
    let with_grid = |grid_after: [u8; 8]| patched(GRID, &grid, &grid_after);
    assert_damaged(&with_grid([0, 0, 255, 255, 0, 128, 0, 64]));
    assert_damaged(&with_grid([0, 0, 0, 1, 255, 255, 255, 255]));
    assert_too_large(GRID, &Limits { max_pixels: 128 * 64 - 1 });
}

#[test]
fn a_layer_that_is_not_in_the_image_is_rejected() {
    let with_layer =
        |layer: u16| patched(LAYER, b"lsel\0\x01", &[b"lsel", &layer.to_be_bytes()[..]].concat());
    assert!(probe(&with_layer(2), &LIMITS).is_ok());
    assert!(probe(&with_layer(0xFFFF), &LIMITS).is_ok());
    assert_unsupported(&with_layer(3), &LIMITS);
    assert_damaged(&with_layer(0x0101));
    let with_point = |point: u8| patched(OPERATING_POINT, b"a1op\x01", &[&b"a1op"[..], &[point]].concat());
    assert!(probe(&with_point(31), &LIMITS).is_ok());
    assert_damaged(&with_point(32));
}
