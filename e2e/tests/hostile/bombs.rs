//! Decompression bombs: small files that declare or expand to far more pixels or bytes.

use std::io::{Cursor, Read, Write};
use std::time::{Duration, Instant};

use e2e::picture::{self, png_chunk, png_with_chunk};
use e2e::{FormData, Service};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::probe::with_probe;

/// The limit of the service's peak resident memory, in MiB.
const MAX_MEMORY: u64 = 512;

#[test]
fn declared_dimensions_beyond_the_limit_are_rejected_without_decoding() {
    let service = Service::start(&[]);
    let eve = service.new_user("eve");
    let files = [
        ("PNG", png_with_dimensions(60_000, 60_000)),
        ("PNG of the greatest width", png_with_dimensions(0x7fff_ffff, 1)),
        ("PNG without pixels", png_with_dimensions(0, 0)),
        ("JPEG", jpeg_with_dimensions(65_500, 65_500)),
        ("JPEG without pixels", jpeg_with_dimensions(0, 0)),
        ("GIF", gif_with_dimensions(65_535, 65_535)),
        ("WebP, extended", webp_with_canvas(16_384, 16_384)),
        ("WebP, lossless", webp_with_lossless(16_384, 16_384)),
        ("WebP, lossy", webp_with_lossy(16_383, 16_383)),
        ("AVIF", avif_with_dimensions(60_000, 60_000)),
    ];
    with_probe(&service, || {
        for (what, bytes) in files {
            let began = Instant::now();
            let response = eve.post("/posts", FormData::photo(&bytes));
            assert_eq!(response.status, 400, "{what}: {response}");
            response.expect_error_for(400, Some("photo"));
            assert!(began.elapsed() < Duration::from_secs(5), "{what} took {:?}", began.elapsed());
        }
    });
    assert!(service.peak_memory() < MAX_MEMORY, "{} MiB", service.peak_memory());
}

/// Names and contents of files in a zip.
type Files<'a> = Vec<(&'a str, &'a [u8])>;

/// The archive of an account whose files expand to hundreds of MiB, or that lists very many.
#[test]
fn archives_of_accounts_that_expand_are_imported_within_the_memory_limit() {
    let service = Service::start(&[]);
    let eve = service.new_user("eve");
    let account = br#"{"format": "pinhole-account", "version": 1, "exported_at": "", "posts": 1, "likes": 0,
        "instance": {"name": "", "url": ""}, "profile": {"username": "eve", "created_at": ""}}"#;
    let post =
        br#"[{"id": "0199b1c4-7e2a-7d10-9a55-000000000001", "url": "", "created_at": "2026-01-01T00:00:00Z",
        "photo": {"file": "photo.jpg", "is_original": true}}]"#;
    let zeros = vec![0; 200 << 20];
    let blanks = [b"[".as_slice(), &vec![b' '; 200 << 20], b"]"].concat();
    let text = [b"[{\"id\": \"", vec![b'x'; 200 << 20].as_slice(), b"\"}]"].concat();
    let cases: [(&str, Files); 3] = [
        ("a photo", vec![("account.json", account), ("posts.json", post), ("photo.jpg", &zeros)]),
        ("blanks in the list", vec![("account.json", account), ("posts.json", &blanks)]),
        ("a text in the list", vec![("account.json", account), ("posts.json", &text)]),
    ];
    with_probe(&service, || {
        for (what, files) in cases {
            let import = eve.import_account(&zip(&files));
            assert!(import["error"].is_string() && import["imported"] == 0, "{what}: {import}");
        }
        let names: Vec<String> = (0..150_000).map(|n| format!("{n:x}")).collect();
        let many: Files = names.iter().map(|name| (name.as_str(), b"".as_slice())).collect();
        eve.post("/me/import", FormData::new().file("archive", &zip(&many))).expect_error(400);
    });
    assert!(service.peak_memory() < MAX_MEMORY, "{} MiB", service.peak_memory());
}

fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, content) in files {
        zip.start_file(*name, options).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn compressed_chunks_that_expand_to_600_mib_do_not_exhaust_memory() {
    let service = Service::start(&[]);
    let eve = service.new_user("eve");
    let zeros = compressed_zeros();
    let tiny = picture::tiny();
    let idat_only = [&tiny[..8 + 25], &png_chunk(b"IDAT", &zeros), &png_chunk(b"IEND", b"")].concat();
    let cases = [
        ("a compressed text", png_with_chunk(&tiny, b"zTXt", &[b"Comment\0\0", &zeros[..]].concat())),
        (
            "an international text",
            png_with_chunk(&tiny, b"iTXt", &[b"Comment\0\x01\0\0\0", &zeros[..]].concat()),
        ),
        ("a colour profile", png_with_chunk(&tiny, b"iCCP", &[b"icc\0\0", &zeros[..]].concat())),
        ("more pixel data than pixels", idat_only),
    ];
    with_probe(&service, || {
        for (what, bytes) in cases {
            let began = Instant::now();
            let response = eve.post("/posts", FormData::photo(&bytes));
            assert!([201, 400].contains(&response.status), "{what}: {response}");
            assert!(began.elapsed() < Duration::from_secs(10), "{what} took {:?}", began.elapsed());
        }
    });
    assert!(service.peak_memory() < MAX_MEMORY, "{} MiB", service.peak_memory());
}

/// 600 MiB of zeros, compressed to half a megabyte.
fn compressed_zeros() -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    std::io::copy(&mut std::io::repeat(0).take(600 << 20), &mut encoder).unwrap();
    encoder.finish().unwrap()
}

fn png_with_dimensions(width: u32, height: u32) -> Vec<u8> {
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 2, 0, 0, 0]].concat();
    let mut pixels = ZlibEncoder::new(Vec::new(), Compression::fast());
    pixels.write_all(&[0; 1_000]).unwrap();
    let pixels = pixels.finish().unwrap();
    let chunks = [png_chunk(b"IHDR", &header), png_chunk(b"IDAT", &pixels), png_chunk(b"IEND", b"")];
    [b"\x89PNG\r\n\x1a\n", &chunks.concat()[..]].concat()
}

/// A real JPEG with other dimensions in its frame header.
fn jpeg_with_dimensions(width: u16, height: u16) -> Vec<u8> {
    let mut jpeg = picture::jpeg(&picture::plain(16, 16, picture::RED));
    let frame = jpeg.windows(2).position(|marker| marker == [0xff, 0xc0]).expect("a baseline frame");
    jpeg[frame + 5..frame + 7].copy_from_slice(&height.to_be_bytes());
    jpeg[frame + 7..frame + 9].copy_from_slice(&width.to_be_bytes());
    jpeg
}

fn gif_with_dimensions(width: u16, height: u16) -> Vec<u8> {
    let sides = [width.to_le_bytes(), height.to_le_bytes()].concat();
    let colours = [0, 0, 0, 255, 255, 255];
    let pixels = [2, 2, 0x44, 0x01, 0, b';'];
    [b"GIF89a", &sides[..], &[0x80, 0, 0], &colours, &[b',', 0, 0, 0, 0], &sides, &[0], &pixels].concat()
}

fn webp(chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut body = b"WEBP".to_vec();
    for (name, payload) in chunks {
        body.extend_from_slice(*name);
        body.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        body.extend_from_slice(payload);
        body.resize(body.len().next_multiple_of(2), 0);
    }
    [b"RIFF", &(body.len() as u32).to_le_bytes()[..], &body].concat()
}

fn webp_with_canvas(width: u32, height: u32) -> Vec<u8> {
    let side = |side: u32| (side - 1).to_le_bytes()[..3].to_vec();
    let canvas = [vec![0; 4], side(width), side(height)].concat();
    webp(&[(b"VP8X", canvas), (b"VP8L", lossless_header(width, height))])
}

fn webp_with_lossless(width: u32, height: u32) -> Vec<u8> {
    webp(&[(b"VP8L", lossless_header(width, height))])
}

fn lossless_header(width: u32, height: u32) -> Vec<u8> {
    let bits = (width - 1) | (height - 1) << 14;
    [&[0x2f], &bits.to_le_bytes()[..], &[0; 64]].concat()
}

fn webp_with_lossy(width: u16, height: u16) -> Vec<u8> {
    let start = [0x10, 0, 0, 0x9d, 0x01, 0x2a];
    webp(&[(b"VP8 ", [&start[..], &width.to_le_bytes(), &height.to_le_bytes(), &[0; 64]].concat())])
}

/// A real AVIF with other dimensions in its `ispe` box.
fn avif_with_dimensions(width: u32, height: u32) -> Vec<u8> {
    let mut avif = picture::STRIPES_AVIF.to_vec();
    let extents = avif.windows(4).position(|name| name == b"ispe").expect("an ispe box") + 8;
    avif[extents..extents + 4].copy_from_slice(&width.to_be_bytes());
    avif[extents + 4..extents + 8].copy_from_slice(&height.to_be_bytes());
    avif
}
