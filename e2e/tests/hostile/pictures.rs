//! Uploads that are not images, truncated images and corrupt images.

use e2e::{Client, FormData, Response, picture};
use image::ImageFormat;

use crate::probe::with_probe;
use crate::shared_service;

#[test]
fn files_that_are_not_images_are_rejected() {
    let eve = shared_service().new_user("eve");
    let mut noise = vec![0; 10_000];
    fastrand::Rng::with_seed(1).fill(&mut noise);
    let empty_gif = b"GIF89a\x08\0\x08\0\0\0\0;";
    let cases: [(&str, &[u8]); 19] = [
        ("nothing", b""),
        ("one byte", b"\xff"),
        ("text", b"hello"),
        ("a page", b"<!doctype html><script>alert(1)</script>"),
        ("SVG", b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>"),
        (
            "an external entity",
            b"<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY e SYSTEM \"file:///etc/passwd\">]><svg>&e;</svg>",
        ),
        ("PDF", b"%PDF-1.7\n1 0 obj\n"),
        ("ZIP", b"PK\x03\x04\x14\0\0\0\0\0"),
        (
            "ImageMagick's delegates",
            b"push graphic-context\nimage over 0,0 0,0 'https://evil.example/x'\npop graphic-context",
        ),
        ("PostScript", b"%!PS-Adobe-3.0\n"),
        ("a program", b"\x7fELF\x02\x01\x01\0"),
        ("TIFF", b"II*\0\x08\0\0\0\0\0\0\0\0\0"),
        ("noise", &noise),
        ("the first bytes of a JPEG", b"\xff\xd8\xff\xe0"),
        ("the first bytes of a PNG", b"\x89PNG\r\n\x1a\n"),
        ("the first bytes of a GIF", b"GIF89a"),
        ("a GIF without a frame", empty_gif),
        ("the first bytes of a WebP", b"RIFF\x04\0\0\0WEBP"),
        ("the first bytes of an AVIF", b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf"),
    ];
    with_probe(shared_service(), || {
        for (what, bytes) in cases {
            let response = eve.post("/posts", FormData::photo(bytes));
            assert_eq!(response.status, 400, "{what}: {response}");
            response.expect_error_for(400, Some("photo"));
        }
    });
}

#[test]
fn a_truncated_image_is_rejected_or_rendered() {
    let eve = shared_service().new_user("eve");
    with_probe(shared_service(), || {
        for (what, bytes) in formats() {
            let head = eve.post("/posts", FormData::photo(&bytes[..bytes.len().min(40)]));
            assert_eq!(head.status, 400, "the first bytes of a {what}: {head}");
            head.expect_error_for(400, Some("photo"));
            for tenths in [2, 5, 9] {
                let response = eve.post("/posts", FormData::photo(&bytes[..bytes.len() * tenths / 10]));
                assert_rejected_or_rendered(&eve, response, &format!("{tenths} tenths of a {what}"));
            }
        }
    });
}

#[test]
fn a_corrupt_image_is_rejected_or_rendered() {
    let eve = shared_service().new_user("eve");
    let seed = fastrand::u64(..);
    let mut rng = fastrand::Rng::with_seed(seed);
    with_probe(shared_service(), || {
        for (what, bytes) in formats() {
            for _ in 0..20 {
                let mut corrupt = bytes.clone();
                for _ in 0..rng.usize(1..20) {
                    let position = rng.usize(..corrupt.len());
                    corrupt[position] = rng.u8(..);
                }
                let response = eve.post("/posts", FormData::photo(&corrupt));
                assert_rejected_or_rendered(&eve, response, &format!("a corrupt {what} (seed {seed})"));
            }
        }
    });
}

fn formats() -> [(&'static str, Vec<u8>); 5] {
    let stripes = picture::stripes(96, 64);
    [
        ("JPEG", picture::jpeg(&stripes)),
        ("PNG", picture::png(&stripes)),
        ("GIF", picture::encode(&stripes, ImageFormat::Gif)),
        ("WebP", picture::encode(&stripes, ImageFormat::WebP)),
        ("AVIF", picture::STRIPES_AVIF.to_vec()),
    ]
}

/// Decoders differ in what they tolerate, but every accepted post has an image.
#[track_caller]
fn assert_rejected_or_rendered(client: &Client, response: Response, what: &str) {
    if response.status == 201 {
        let image = format!("/photos/{}/32x32", response.json()["photo"]["id"].as_str().unwrap());
        let rendered = client.get(&image).expect(200).picture();
        assert_eq!((rendered.width(), rendered.height()), (32, 32), "{what}");
    } else {
        assert_eq!(response.status, 400, "{what}: {response}");
        response.expect_error_for(400, Some("photo"));
    }
}
