use imaging::InputFormat::Gif;

use super::kept;

const CONTROL: &[u8] = b"!\xF9\x04\x01\x0A\0\x05\0";
const FRAME: &[u8] = b",\0\0\0\0\x01\0\x01\0\x80RGBRGB\x02\x03abc\x02de\0";

fn picture(parts: &[&[u8]]) -> Vec<u8> {
    let screen = b"GIF89a\x01\0\x01\0\x81\0\0RGBRGBRGBRGB";
    [&screen[..], &parts.concat()].concat()
}

#[test]
fn keeps_frames_timing_and_colours() {
    let rounds = b"!\xFF\x0BNETSCAPE2.0\x03\x01\x05\0\0";
    let profile = b"!\xFF\x0BICCRGBG1012\x07profile\x02ab\0";
    let file = picture(&[rounds, profile, CONTROL, FRAME, CONTROL, FRAME, b";"]);
    assert_eq!(kept(&file, Gif, ""), file);
}

#[test]
fn names_what_it_leaves_out() {
    for (extension, removed) in [
        (&b"!\xFE\x06SECRET\x06SECRET\0"[..], "comment"),
        (b"!\x01\x0C............\x06SECRET\0", "other"),
        (b"!\xFF\x0BSECRETAPP01\x06SECRET\0", "other"),
        (b"!\xFF\x0BMGKIPTC0000\x06SECRET\0", "iptc"),
        (b"!\xFF\x0BXMP DataXMP\x17SECRET exif:GPSLatitude\0", "gps, xmp"),
        (b"!\xFF\x0BNETSCAPE2.0\x05\x02\0\0\0\0\0", ""),
        (b"\0\0", ""),
    ] {
        let file = picture(&[extension, CONTROL, extension, FRAME, extension, b";"]);
        assert_eq!(kept(&file, Gif, removed), picture(&[CONTROL, FRAME, b";"]));
    }
}

#[test]
fn ends_where_the_picture_ends() {
    let whole = picture(&[FRAME, b";"]);
    assert_eq!(kept(&picture(&[FRAME, b";SECRET"]), Gif, "other"), whole);
    assert_eq!(kept(&picture(&[FRAME, b"SECRET"]), Gif, "other"), whole);
    assert_eq!(kept(&picture(&[FRAME]), Gif, ""), whole);
    assert_eq!(kept(&picture(&[FRAME, &FRAME[..9]]), Gif, "other"), whole);
    // Within its last block.
    let cut = picture(&[&FRAME[..FRAME.len() - 2]]);
    assert_eq!(kept(&cut, Gif, ""), picture(&[&FRAME[..FRAME.len() - 4], b"\x01d\0;"]));
}
