use imaging::InputFormat::Png;

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::profiles::clean_profile;
use super::{contains, exif, strip_and_check};

/// The CRC is arbitrary: stripping checks it only for chunks it rewrites.
fn chunk(name: &[u8; 4], body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32).to_be_bytes()[..], name, body, b"\x01\x02\x03\x04"].concat()
}

const IEND: &[u8] = b"\0\0\0\0IEND\xAE\x42\x60\x82";

fn png(before_idat: &[u8], after_idat: &[u8]) -> Vec<u8> {
    let header = chunk(b"IHDR", b"\0\0\0\x01\0\0\0\x01\x08\0\0\0\0");
    [b"\x89PNG\r\n\x1A\n", &header[..], before_idat, &chunk(b"IDAT", b"pixels"), after_idat].concat()
}

/// An iCCP chunk with its CRC.
fn profile_chunk(name: &[u8], profile: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(profile).expect("compression in memory");
    let mut chunk =
        chunk(b"iCCP", &[name, b"\0\0", &encoder.finish().expect("compression in memory")].concat());
    let mut crc = flate2::Crc::new();
    let end = chunk.len() - 4;
    crc.update(&chunk[4..end]);
    chunk[end..].copy_from_slice(&crc.sum().to_be_bytes());
    chunk
}

pub(super) fn with_profile(profile: &[u8]) -> Vec<u8> {
    png(&profile_chunk(b"icc", profile), IEND)
}

#[test]
fn pixels_and_colour_chunks_are_copied() {
    let colour_chunks = [
        chunk(b"sRGB", &[0]),
        chunk(b"gAMA", &[0; 4]),
        chunk(b"cHRM", &[0; 32]),
        chunk(b"cICP", &[1, 13, 0, 1]),
        chunk(b"sBIT", &[5]),
        chunk(b"mDCV", &[0; 24]),
        chunk(b"cLLI", &[0; 8]),
        chunk(b"PLTE", &[9; 6]),
        chunk(b"tRNS", &[7; 2]),
    ];
    let file = png(&colour_chunks.concat(), IEND);
    assert_eq!(strip_and_check(&file, Png, ""), file);
}

#[test]
fn removed_chunks_are_reported() {
    for (chunk, removed) in [
        (chunk(b"eXIf", &exif(false)), "gps, exif, thumbnail, maker-notes"),
        (chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0SECRET exif:GPSLatitude"), "gps, xmp"),
        (chunk(b"tEXt", b"Author\0SECRET"), "comment"),
        (chunk(b"zTXt", b"Raw profile type exif\0SECRET"), "exif"),
        (chunk(b"zTXt", b"Raw profile type xmp\0SECRET"), "xmp"),
        (chunk(b"tEXt", b"Raw profile type iptc\0SECRET"), "iptc"),
        (chunk(b"tIME", b"SECRET\0"), "other"),
        (chunk(b"caBX", b"SECRET"), "other"),
        (chunk(b"fdAT", b"\0\0\0\x01SECRET"), "other"),
        (chunk(b"sRGB", b"SECRET"), "other"),
        (chunk(b"pHYs", b"\0\0\x0B\x13\0\0\x0B\x13\x01"), ""),
    ] {
        let stripped = png(&[], IEND);
        assert_eq!(strip_and_check(&png(&chunk, IEND), Png, removed), stripped);
        assert_eq!(strip_and_check(&png(&[], &[&chunk, IEND].concat()), Png, removed), stripped);
    }
}

#[test]
fn the_name_of_an_icc_profile_is_replaced() {
    let profile = clean_profile(4);
    let file = png(&profile_chunk(b"SECRET screen", &profile), IEND);
    assert_eq!(strip_and_check(&file, Png, ""), with_profile(&profile));
    // Decoders ignore a profile with a wrong CRC, and would use it if the CRC were corrected.
    let wrong_crc = chunk(b"iCCP", b"SECRET screen\0\0packed");
    assert_eq!(strip_and_check(&png(&wrong_crc, IEND), Png, "other"), png(&[], IEND));
}

#[test]
fn trailing_bytes_are_removed_and_truncated_files_terminated() {
    let complete = png(&[], IEND);
    assert_eq!(strip_and_check(&[&complete[..], b"SECRET"].concat(), Png, "other"), complete);
    assert_eq!(strip_and_check(&[&complete[..], &[0; 9]].concat(), Png, ""), complete);
    assert_eq!(strip_and_check(&png(&[], &[]), Png, ""), complete);
    // Truncated within the CRC, and within the pixels.
    for missing in [2, 7] {
        let file = png(&[], &[]);
        let file = strip_and_check(&file[..file.len() - missing], Png, "");
        assert!(file.ends_with(IEND) && contains(&file, b"IDATpix"), "{}", file.escape_ascii());
    }
}
