use imaging::InputFormat::Png;

use super::{exif, has, kept};

/// A checksum is only looked at where a chunk is written anew.
fn chunk(name: &[u8; 4], body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32).to_be_bytes()[..], name, body, b"\x01\x02\x03\x04"].concat()
}

const END: &[u8] = b"\0\0\0\0IEND\xAE\x42\x60\x82";

fn picture(before: &[u8], behind: &[u8]) -> Vec<u8> {
    let header = chunk(b"IHDR", b"\0\0\0\x01\0\0\0\x01\x08\0\0\0\0");
    [b"\x89PNG\r\n\x1A\n", &header[..], before, &chunk(b"IDAT", b"pixels"), behind].concat()
}

#[test]
fn keeps_pixels_and_colours() {
    let colours = [
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
    let file = picture(&colours.concat(), END);
    assert_eq!(kept(&file, Png, ""), file);
}

#[test]
fn names_what_it_leaves_out() {
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
        let bare = picture(&[], END);
        assert_eq!(kept(&picture(&chunk, END), Png, removed), bare);
        assert_eq!(kept(&picture(&[], &[&chunk, END].concat()), Png, removed), bare);
    }
}

#[test]
fn a_profile_loses_its_name() {
    // The checksum of this very chunk.
    let profile = b"\0\0\0\x15iCCPSECRET screen\0\0packed\x62\x0E\xF4\x23";
    let file = kept(&picture(profile, END), Png, "");
    assert!(has(&file, b"\0\0\0\x0BiCCPicc\0\0packed"), "{}", file.escape_ascii());
    // Decoders ignore one with a wrong checksum, and would not if it were mended.
    let broken = chunk(b"iCCP", b"SECRET screen\0\0packed");
    assert_eq!(kept(&picture(&broken, END), Png, "other"), picture(&[], END));
}

#[test]
fn ends_where_the_picture_ends() {
    let whole = picture(&[], END);
    assert_eq!(kept(&[&whole[..], b"SECRET"].concat(), Png, "other"), whole);
    assert_eq!(kept(&[&whole[..], &[0; 9]].concat(), Png, ""), whole);
    assert_eq!(kept(&picture(&[], &[]), Png, ""), whole);
    // Without its checksum, and with half of its pixels.
    for cut in [2, 7] {
        let file = picture(&[], &[]);
        let file = kept(&file[..file.len() - cut], Png, "");
        assert!(file.ends_with(END) && has(&file, b"IDATpix"), "{}", file.escape_ascii());
    }
}
