use imaging::InputFormat::WebP;

use super::{exif, kept};

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

#[test]
fn keeps_pixels_colours_and_animation() {
    let frame = chunk(b"ANMF", &[&[0; 16][..], &chunk(b"ALPH", b"alpha"), &pixels()].concat());
    for file in [
        riff(&[pixels()]),
        riff(&[chunk(b"VP8L", b"pixels")]),
        riff(&[canvas(0x30), chunk(b"ICCP", b"profile"), chunk(b"ALPH", b"a"), pixels()]),
        riff(&[canvas(0x12), chunk(b"ANIM", &[0; 6]), frame.clone(), frame]),
    ] {
        assert_eq!(kept(&file, WebP, ""), file);
    }
}

#[test]
fn names_what_it_leaves_out() {
    for (chunk, removed) in [
        (chunk(b"EXIF", &exif(true)), "gps, exif, thumbnail, maker-notes"),
        (chunk(b"EXIF", &[b"Exif\0\0", &exif(false)[..]].concat()), "gps, exif, thumbnail, maker-notes"),
        (chunk(b"XMP ", b"SECRET exif:GPSLatitude"), "gps, xmp"),
        (chunk(b"ABCD", b"SECRET"), "other"),
    ] {
        let file = riff(&[canvas(0x1C), pixels(), chunk.clone()]);
        assert_eq!(kept(&file, WebP, removed), riff(&[canvas(0x10), pixels()]));
        // Nobody reads on in a simple file, but it is there.
        assert_eq!(kept(&riff(&[pixels(), chunk]), WebP, removed), riff(&[pixels()]));
    }
}

#[test]
fn frames_lose_what_is_not_a_picture() {
    let frame = |more: &[u8]| chunk(b"ANMF", &[&[0; 16][..], &pixels(), more].concat());
    let file = riff(&[canvas(2), frame(&chunk(b"ABCD", b"SECRET"))]);
    assert_eq!(kept(&file, WebP, "other"), riff(&[canvas(2), frame(&[])]));
}

#[test]
fn ends_where_the_picture_ends() {
    let whole = riff(&[pixels()]);
    assert_eq!(kept(&[&whole[..], b"SECRET and more"].concat(), WebP, "other"), whole);
    let cut = &whole[..whole.len() - 3];
    assert_eq!(kept(cut, WebP, ""), riff(&[chunk(b"VP8 ", b"pix")]));
    let mut unmeasured = whole.clone();
    unmeasured[4..8].fill(0);
    assert_eq!(kept(&unmeasured, WebP, ""), whole);
}
