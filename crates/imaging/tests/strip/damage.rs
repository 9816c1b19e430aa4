use imaging::{Error, InputFormat, strip};

#[test]
fn files_without_an_image_are_rejected() {
    for (file, format) in [
        (&b""[..], InputFormat::Jpeg),
        (b"\xFF\xD8\xFF\xD9", InputFormat::Jpeg),
        (b"\xFF\xD8\xFF\xDA\0\x02data\xFF\xD9", InputFormat::Jpeg),
        (b"\x89PNG\r\n\x1A\n", InputFormat::Png),
        (b"\x89PNG\r\n\x1A\n\0\0\0\0IDAT\0\0\0\0", InputFormat::Png),
        (b"RIFF\0\0\0\0WEBP", InputFormat::WebP),
        (b"RIFF\0\0\0\0WEBPEXIF\0\0\0\0", InputFormat::WebP),
        (b"GIF89a\x01\0\x01\0\0\0\0;", InputFormat::Gif),
        (b"GIF89a\x01\0\x01\0\x80\0\0", InputFormat::Gif),
        (b"\0\0\0\x10ftypavif\0\0\0\0", InputFormat::Avif),
        (b"\0\0\0\x08mdat", InputFormat::Heic),
    ] {
        let result = strip(file, format);
        assert!(matches!(result, Err(Error::Damaged(_))), "{format:?} {}: {result:?}", file.escape_ascii());
    }
}

/// Every prefix of a file and every byte changed: stripping never panics, and its output needs no further
/// strip.
#[test]
fn stripping_damaged_files_never_panics_and_is_idempotent() {
    let files: [(&[u8], InputFormat); 8] = [
        (include_bytes!("files/still.avif"), InputFormat::Avif),
        (include_bytes!("files/sequence.avif"), InputFormat::Avif),
        (include_bytes!("files/thumbnail.heic"), InputFormat::Heic),
        // With profiles.
        (include_bytes!("../corpus/profiles/p3.avif"), InputFormat::Avif),
        (include_bytes!("../corpus/profiles/p3.heic"), InputFormat::Heic),
        (include_bytes!("../corpus/profiles/p3-in-segments.jpg"), InputFormat::Jpeg),
        (include_bytes!("../corpus/profiles/p3.png"), InputFormat::Png),
        (include_bytes!("../corpus/profiles/p3.webp"), InputFormat::WebP),
    ];
    for (file, format) in files {
        let truncated = (0..file.len()).map(|end| file[..end].to_vec());
        let changed = (0..file.len()).flat_map(|at| {
            [0x00, 0x01, 0x7F, 0xFF].map(|byte| {
                let mut file = file.to_vec();
                file[at] = byte;
                file
            })
        });
        for file in truncated.chain(changed) {
            if let Ok((stripped, _)) = strip(&file, format) {
                let (again, removed) = strip(&stripped, format).unwrap();
                assert!(again == stripped && removed.is_empty(), "stripping again changes the file");
            }
        }
    }
}
