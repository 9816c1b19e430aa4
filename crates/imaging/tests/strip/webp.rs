use imaging::InputFormat::WebP;

use super::profiles::clean_profile;
use super::{exif, strip_and_check};

fn chunk(name: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let padding = &[0][..body.len() % 2];
    [name, &(body.len() as u32).to_le_bytes()[..], body, padding].concat()
}

fn riff(chunks: &[Vec<u8>]) -> Vec<u8> {
    chunk(b"RIFF", &[b"WEBP", &chunks.concat()[..]].concat())
}

fn canvas(flags: u8) -> Vec<u8> {
    chunk(b"VP8X", &[flags, 0, 0, 0, 1, 0, 0, 1, 0, 0])
}

fn pixels() -> Vec<u8> {
    chunk(b"VP8 ", b"pixel")
}

pub(super) fn with_profile(profile: &[u8]) -> Vec<u8> {
    riff(&[canvas(0x20), chunk(b"ICCP", profile), pixels()])
}

#[test]
fn pixels_profile_and_animation_are_copied() {
    let frame = chunk(b"ANMF", &[&[0; 16][..], &chunk(b"ALPH", b"alpha"), &pixels()].concat());
    for file in [
        riff(&[pixels()]),
        riff(&[chunk(b"VP8L", b"pixels")]),
        riff(&[canvas(0x30), chunk(b"ICCP", &clean_profile(4)), chunk(b"ALPH", b"a"), pixels()]),
        riff(&[canvas(0x12), chunk(b"ANIM", &[0; 6]), frame.clone(), frame]),
    ] {
        assert_eq!(strip_and_check(&file, WebP, ""), file);
    }
}

#[test]
fn removed_chunks_are_reported() {
    for (chunk, removed) in [
        (chunk(b"EXIF", &exif(true)), "gps, exif, thumbnail, maker-notes"),
        (chunk(b"EXIF", &[b"Exif\0\0", &exif(false)[..]].concat()), "gps, exif, thumbnail, maker-notes"),
        (chunk(b"XMP ", b"SECRET exif:GPSLatitude"), "gps, xmp"),
        (chunk(b"ABCD", b"SECRET"), "other"),
    ] {
        let file = riff(&[canvas(0x1C), pixels(), chunk.clone()]);
        assert_eq!(strip_and_check(&file, WebP, removed), riff(&[canvas(0x10), pixels()]));
        // Decoders ignore further chunks of the simple file format, but they are removed too.
        assert_eq!(strip_and_check(&riff(&[pixels(), chunk]), WebP, removed), riff(&[pixels()]));
    }
}

#[test]
fn unknown_chunks_are_removed_from_frames() {
    let frame = |more: &[u8]| chunk(b"ANMF", &[&[0; 16][..], &pixels(), more].concat());
    let file = riff(&[canvas(2), frame(&chunk(b"ABCD", b"SECRET"))]);
    assert_eq!(strip_and_check(&file, WebP, "other"), riff(&[canvas(2), frame(&[])]));
}

#[test]
fn trailing_bytes_are_removed_and_truncated_files_terminated() {
    let complete = riff(&[pixels()]);
    assert_eq!(strip_and_check(&[&complete[..], b"SECRET and more"].concat(), WebP, "other"), complete);
    let truncated = &complete[..complete.len() - 3];
    assert_eq!(strip_and_check(truncated, WebP, ""), riff(&[chunk(b"VP8 ", b"pix")]));
    let mut without_length = complete.clone();
    without_length[4..8].fill(0);
    assert_eq!(strip_and_check(&without_length, WebP, ""), complete);
}
