use imaging::InputFormat::Jpeg;

use super::profiles::clean_profile;
use super::{exif, strip_and_check};

const JFIF: &[u8] = b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0";

fn segment(marker: u8, body: &[u8]) -> Vec<u8> {
    [&[0xFF, marker], &(body.len() as u16 + 2).to_be_bytes()[..], body].concat()
}

/// Two scans, with optional segments before each of them and bytes after the end.
fn jpeg(header: &[u8], between_scans: &[u8], trailing: &[u8]) -> Vec<u8> {
    let tables = [segment(0xDB, &[1; 65]), segment(0xC4, &[2; 20]), segment(0xDD, &[0, 4])].concat();
    let frame = segment(0xC2, &[8, 0, 8, 0, 8, 1, 1, 0x11, 0]);
    let scan = [segment(0xDA, &[1, 1, 0, 0, 63, 0]), b"\x12\xFF\0\x34\xFF\xD0\x56".to_vec()].concat();
    [&[0xFF, 0xD8], header, &tables, &frame, &scan, between_scans, &scan, &[0xFF, 0xD9], trailing].concat()
}

pub(super) fn with_profile(profile: &[u8]) -> Vec<u8> {
    let segments: Vec<&[u8]> = profile.chunks(65_519).collect();
    with_segments(&segments, &(0..segments.len()).collect::<Vec<_>>())
}

/// With the segments of a profile in this order.
pub(super) fn with_segments(segments: &[&[u8]], order: &[usize]) -> Vec<u8> {
    let segment = |at: &usize| {
        let numbers = [*at as u8 + 1, segments.len() as u8];
        segment(0xE2, &[b"ICC_PROFILE\0", &numbers[..], segments[*at]].concat())
    };
    jpeg(&order.iter().flat_map(segment).collect::<Vec<_>>(), &[], &[])
}

#[test]
fn tables_scans_and_colour_segments_are_copied() {
    let icc = segment(0xE2, &[b"ICC_PROFILE\0\x01\x01", &clean_profile(2)[..]].concat());
    let adobe = segment(0xEE, b"Adobe\0\x64\0\0\0\0\x01");
    let header = [segment(0xE0, JFIF), icc, adobe].concat();
    let file = jpeg(&header, &[], &[]);
    assert_eq!(strip_and_check(&file, Jpeg, ""), file);
}

#[test]
fn removed_segments_are_reported() {
    let app1 = |name: &[u8], body: &[u8]| segment(0xE1, &[name, body].concat());
    let photoshop =
        |id: &[u8]| segment(0xED, &[b"Photoshop 3.0\x008BIM", id, b"\0\0\0\0\0\x06SECRET"].concat());
    let mpf = b"MPF\0II*\0\x08\0\0\0\x01\0\x02\xB0\x07\0\x20\0\0\0\x1A\0\0\0\0\0\0\0";
    for (segment, removed) in [
        (app1(b"Exif\0\0", &exif(true)), "gps, exif, thumbnail, maker-notes"),
        (app1(b"Exif\0\0", &exif(false)), "gps, exif, thumbnail, maker-notes"),
        (app1(b"Exif\0\0", b"SECRET"), "exif"),
        (app1(b"http://ns.adobe.com/xap/1.0/\0", b"SECRET"), "xmp"),
        (app1(b"http://ns.adobe.com/xmp/extension/\0", b"SECRET exif:GPSLatitude"), "gps, xmp"),
        (app1(b"", b"SECRET"), "other"),
        (photoshop(&[4, 4]), "iptc"),
        (photoshop(&[4, 12]), "thumbnail"),
        (photoshop(&[3, 0xED]), "other"),
        (segment(0xE2, mpf), "thumbnail"),
        (segment(0xE0, b"JFXX\0\x10SECRET"), "thumbnail"),
        (segment(0xEB, b"SECRET"), "other"),
        (segment(0xFE, b"SECRET"), "comment"),
    ] {
        let stripped = jpeg(&[], &[], &[]);
        assert_eq!(strip_and_check(&jpeg(&segment, &[], &[]), Jpeg, removed), stripped);
        // Between the scans, with padding before the next marker.
        assert_eq!(
            strip_and_check(&jpeg(&[], &[&segment[..], &[0xFF; 3]].concat(), &[]), Jpeg, removed),
            stripped
        );
    }
}

#[test]
fn jfif_and_adobe_segments_are_reduced_to_a_canonical_form() {
    let canonical = jpeg(&segment(0xE0, JFIF), &[], &[]);
    let with_density = segment(0xE0, b"JFIF\0\x01\x02\x01\x01\x2C\x01\x2C\0\0");
    assert_eq!(strip_and_check(&jpeg(&with_density, &[], &[]), Jpeg, ""), canonical);
    let thumbnail = segment(0xE0, b"JFIF\0\x01\x02\x01\x01\x2C\x01\x2C\x02\x01SECRET");
    assert_eq!(strip_and_check(&jpeg(&thumbnail, &[], &[]), Jpeg, "thumbnail"), canonical);
    let adobe = segment(0xEE, b"Adobe\0\x64\0\0\0\0\x01SECRET");
    let canonical = jpeg(&segment(0xEE, b"Adobe\0\x64\0\0\0\0\x01"), &[], &[]);
    assert_eq!(strip_and_check(&jpeg(&adobe, &[], &[]), Jpeg, "other"), canonical);
}

#[test]
fn trailing_bytes_are_removed_and_truncated_files_terminated() {
    let complete = jpeg(&[], &[], &[]);
    for (trailing, removed) in [(&b"SECRET"[..], "other"), (&complete, "other"), (&[0; 9], "")] {
        assert_eq!(strip_and_check(&jpeg(&[], &[], trailing), Jpeg, removed), complete);
    }
    let without_eoi = complete.strip_suffix(b"\xFF\xD9").unwrap();
    assert_eq!(strip_and_check(without_eoi, Jpeg, ""), complete);
    assert_eq!(strip_and_check(&[without_eoi, &[0xFF]].concat(), Jpeg, ""), complete);
    // A second image starts within the last scan; a comment is truncated.
    assert_eq!(strip_and_check(&[without_eoi, &complete].concat(), Jpeg, "other"), complete);
    assert_eq!(strip_and_check(&[without_eoi, b"\xFF\xFE\0\xFFSECRET"].concat(), Jpeg, "comment"), complete);
}
