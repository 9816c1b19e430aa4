use imaging::InputFormat::Jpeg;

use super::{exif, kept};

const JFIF: &[u8] = b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0";

fn segment(marker: u8, body: &[u8]) -> Vec<u8> {
    [&[0xFF, marker], &(body.len() as u16 + 2).to_be_bytes()[..], body].concat()
}

/// Two scans, and something before each of them and behind the last.
fn picture(header: &[u8], between: &[u8], behind: &[u8]) -> Vec<u8> {
    let tables = [segment(0xDB, &[1; 65]), segment(0xC4, &[2; 20]), segment(0xDD, &[0, 4])].concat();
    let frame = segment(0xC2, &[8, 0, 8, 0, 8, 1, 1, 0x11, 0]);
    let scan = [segment(0xDA, &[1, 1, 0, 0, 63, 0]), b"\x12\xFF\0\x34\xFF\xD0\x56".to_vec()].concat();
    [&[0xFF, 0xD8], header, &tables, &frame, &scan, between, &scan, &[0xFF, 0xD9], behind].concat()
}

#[test]
fn keeps_tables_scans_and_colours() {
    let icc = segment(0xE2, b"ICC_PROFILE\0\x01\x01profile");
    let adobe = segment(0xEE, b"Adobe\0\x64\0\0\0\0\x01");
    let header = [segment(0xE0, JFIF), icc, adobe].concat();
    let file = picture(&header, &[], &[]);
    assert_eq!(kept(&file, Jpeg, ""), file);
}

#[test]
fn names_what_it_leaves_out() {
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
        let bare = picture(&[], &[], &[]);
        assert_eq!(kept(&picture(&segment, &[], &[]), Jpeg, removed), bare);
        // Between the scans, with padding before the next.
        assert_eq!(kept(&picture(&[], &[&segment[..], &[0xFF; 3]].concat(), &[]), Jpeg, removed), bare);
    }
}

#[test]
fn headers_become_plain_ones() {
    let plain = picture(&segment(0xE0, JFIF), &[], &[]);
    let dense = segment(0xE0, b"JFIF\0\x01\x02\x01\x01\x2C\x01\x2C\0\0");
    assert_eq!(kept(&picture(&dense, &[], &[]), Jpeg, ""), plain);
    let thumbnail = segment(0xE0, b"JFIF\0\x01\x02\x01\x01\x2C\x01\x2C\x02\x01SECRET");
    assert_eq!(kept(&picture(&thumbnail, &[], &[]), Jpeg, "thumbnail"), plain);
    let adobe = segment(0xEE, b"Adobe\0\x64\0\0\0\0\x01SECRET");
    let plain = picture(&segment(0xEE, b"Adobe\0\x64\0\0\0\0\x01"), &[], &[]);
    assert_eq!(kept(&picture(&adobe, &[], &[]), Jpeg, "other"), plain);
}

#[test]
fn ends_where_the_picture_ends() {
    let whole = picture(&[], &[], &[]);
    for (behind, removed) in [(&b"SECRET"[..], "other"), (&whole, "other"), (&[0; 9], "")] {
        assert_eq!(kept(&picture(&[], &[], behind), Jpeg, removed), whole);
    }
    let open = whole.strip_suffix(b"\xFF\xD9").unwrap();
    assert_eq!(kept(open, Jpeg, ""), whole);
    assert_eq!(kept(&[open, &[0xFF]].concat(), Jpeg, ""), whole);
    // Another picture begins in the middle of the last scan; a comment is cut short.
    assert_eq!(kept(&[open, &whole].concat(), Jpeg, "other"), whole);
    assert_eq!(kept(&[open, b"\xFF\xFE\0\xFFSECRET"].concat(), Jpeg, "comment"), whole);
}
