use imaging::InputFormat::Gif;

use super::profiles::clean_profile;
use super::strip_and_check;

const GRAPHIC_CONTROL: &[u8] = b"!\xF9\x04\x01\x0A\0\x05\0";
const FRAME: &[u8] = b",\0\0\0\0\x01\0\x01\0\x80RGBRGB\x02\x03abc\x02de\0";

fn gif(blocks: &[&[u8]]) -> Vec<u8> {
    let screen = b"GIF89a\x01\0\x01\0\x81\0\0RGBRGBRGBRGB";
    [&screen[..], &blocks.concat()].concat()
}

fn profile_extension(profile: &[u8]) -> Vec<u8> {
    let blocks = profile.chunks(255).flat_map(|block| [&[block.len() as u8], block].concat());
    b"!\xFF\x0BICCRGBG1012".iter().copied().chain(blocks).chain([0]).collect()
}

pub(super) fn with_profile(profile: &[u8]) -> Vec<u8> {
    gif(&[&profile_extension(profile), FRAME, b";"])
}

#[test]
fn frames_timing_loop_count_and_profile_are_copied() {
    let loop_count = b"!\xFF\x0BNETSCAPE2.0\x03\x01\x05\0\0";
    let profile = profile_extension(&clean_profile(2));
    let file = gif(&[loop_count, &profile, GRAPHIC_CONTROL, FRAME, GRAPHIC_CONTROL, FRAME, b";"]);
    assert_eq!(strip_and_check(&file, Gif, ""), file);
}

#[test]
fn removed_extensions_are_reported() {
    for (extension, removed) in [
        (&b"!\xFE\x06SECRET\x06SECRET\0"[..], "comment"),
        (b"!\x01\x0C............\x06SECRET\0", "other"),
        (b"!\xFF\x0BSECRETAPP01\x06SECRET\0", "other"),
        (b"!\xFF\x0BMGKIPTC0000\x06SECRET\0", "iptc"),
        (b"!\xFF\x0BXMP DataXMP\x17SECRET exif:GPSLatitude\0", "gps, xmp"),
        (b"!\xFF\x0BNETSCAPE2.0\x05\x02\0\0\0\0\0", ""),
        (b"\0\0", ""),
    ] {
        let file = gif(&[extension, GRAPHIC_CONTROL, extension, FRAME, extension, b";"]);
        assert_eq!(strip_and_check(&file, Gif, removed), gif(&[GRAPHIC_CONTROL, FRAME, b";"]));
    }
}

#[test]
fn trailing_bytes_are_removed_and_truncated_files_terminated() {
    let complete = gif(&[FRAME, b";"]);
    assert_eq!(strip_and_check(&gif(&[FRAME, b";SECRET"]), Gif, "other"), complete);
    assert_eq!(strip_and_check(&gif(&[FRAME, b"SECRET"]), Gif, "other"), complete);
    assert_eq!(strip_and_check(&gif(&[FRAME]), Gif, ""), complete);
    assert_eq!(strip_and_check(&gif(&[FRAME, &FRAME[..9]]), Gif, "other"), complete);
    // Truncated within the last sub-block.
    let truncated = gif(&[&FRAME[..FRAME.len() - 2]]);
    assert_eq!(strip_and_check(&truncated, Gif, ""), gif(&[&FRAME[..FRAME.len() - 4], b"\x01d\0;"]));
}
