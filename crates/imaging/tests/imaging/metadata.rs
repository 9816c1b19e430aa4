//! Metadata of an upload occurs neither in masters nor in rendered images.

use imaging::{OutputFormat, render};

use crate::test_images::*;

const SECRET: &str = "SECRET 47.3769N 8.5417E";

#[test]
fn masters_and_renders_contain_no_metadata_of_the_upload() {
    for (what, file) in uploads_with_metadata() {
        assert!(contains(&file, SECRET.as_bytes()), "{what}: the upload has no metadata");
        let ingested = ingested(&file);
        let mut files: Vec<Vec<u8>> =
            ingested.masters.squares.iter().map(|master| master.bytes.clone()).collect();
        for format in [OutputFormat::Jpeg, OutputFormat::WebP] {
            files.push(render(&files[0], (200, 200), format).unwrap());
        }
        for file in files {
            assert!(!contains(&file, b"SECRET"), "{what}: metadata in the output");
            assert_no_metadata(&file, what);
        }
    }
}

fn uploads_with_metadata() -> Vec<(&'static str, Vec<u8>)> {
    let image = quarters(300, 280);
    let text = SECRET.as_bytes();
    let exif = exif(1, SECRET);

    let mut jpeg_file = jpeg(&image);
    let xmp = [b"http://ns.adobe.com/xap/1.0/\0", text].concat();
    let iptc = [b"Photoshop 3.0\0", text].concat();
    for (marker, body) in [
        (0xFE, text.to_vec()),
        (0xE1, xmp),
        (0xED, iptc),
        (0xE5, text.to_vec()),
        (0xE1, jpeg_exif(1, SECRET)),
    ] {
        jpeg_file = with_segment(&jpeg_file, marker, &body);
    }
    jpeg_file.extend(text);

    let mut png_file = png(&image);
    let itxt = [b"XML:com.adobe.xmp\0\0\0\0\0", text].concat();
    for (name, body) in [
        (b"tEXt", [b"Comment\0", text].concat()),
        (b"iTXt", itxt),
        (b"eXIf", exif.clone()),
        (b"prVt", text.to_vec()),
    ] {
        png_file = with_chunk(&png_file, name, &body);
    }

    let chunks: [(&[u8; 4], &[u8]); 2] = [(b"EXIF", &exif), (b"XMP ", text)];
    let webp_file = extended_webp(&webp(&image), (300, 280), 0x0C, &chunks);

    let mut gif_file = gif(300, 280, &[(0, 0, &image)]);
    let comment = [&[0x21, 0xFE, text.len() as u8], text, &[0]].concat();
    // The first block follows the global colour table, whose size is in the header.
    let blocks = 13 + (6 << (gif_file[10] & 7)) * usize::from(gif_file[10] >> 7);
    gif_file.splice(blocks..blocks, comment);

    vec![("JPEG", jpeg_file), ("PNG", png_file), ("WebP", webp_file), ("GIF", gif_file)]
}

/// Asserts that a file has only the segments or chunks that a decoder needs.
#[track_caller]
fn assert_no_metadata(file: &[u8], what: &str) {
    if let Some(mut rest) = file.strip_prefix(b"RIFF") {
        rest = &rest[8..];
        while !rest.is_empty() {
            let name = std::str::from_utf8(&rest[..4]).expect("a chunk");
            assert!(["VP8 ", "VP8L", "VP8X", "ALPH"].contains(&name), "{what}: unexpected chunk {name}");
            let length = u32::from_le_bytes(rest[4..8].try_into().expect("four bytes")) as usize;
            rest = &rest[8 + length + length % 2..];
        }
    } else {
        let mut at = 2;
        while file[at + 1] != 0xDA {
            let marker = file[at + 1];
            let known = matches!(marker, 0xE0 | 0xDB | 0xC0 | 0xC4 | 0xDD);
            assert!(known, "{what}: unexpected segment {marker:x}");
            at += 2 + usize::from(u16::from_be_bytes([file[at + 2], file[at + 3]]));
        }
        assert!(file.ends_with(&[0xFF, 0xD9]), "{what}: bytes after EOI");
    }
}

fn contains(file: &[u8], text: &[u8]) -> bool {
    file.windows(text.len()).any(|window| window == text)
}
