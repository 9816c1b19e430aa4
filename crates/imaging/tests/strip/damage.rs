use imaging::{Error, Source, strip};

#[test]
fn what_has_no_picture_is_an_error() {
    for (file, source) in [
        (&b""[..], Source::Jpeg),
        (b"\xFF\xD8\xFF\xD9", Source::Jpeg),
        (b"\xFF\xD8\xFF\xDA\0\x02data\xFF\xD9", Source::Jpeg),
        (b"\x89PNG\r\n\x1A\n", Source::Png),
        (b"\x89PNG\r\n\x1A\n\0\0\0\0IDAT\0\0\0\0", Source::Png),
        (b"RIFF\0\0\0\0WEBP", Source::WebP),
        (b"RIFF\0\0\0\0WEBPEXIF\0\0\0\0", Source::WebP),
        (b"GIF89a\x01\0\x01\0\0\0\0;", Source::Gif),
        (b"GIF89a\x01\0\x01\0\x80\0\0", Source::Gif),
        (b"\0\0\0\x10ftypavif\0\0\0\0", Source::Avif),
        (b"\0\0\0\x08mdat", Source::Heic),
    ] {
        let result = strip(file, source);
        assert!(matches!(result, Err(Error::Damaged(_))), "{source:?} {}: {result:?}", file.escape_ascii());
    }
}

/// Every beginning of a file, and every byte of it changed: nothing panics, and what comes out is clean.
#[test]
fn no_damage_gets_in_the_way() {
    let files: [(&[u8], Source); 3] = [
        (include_bytes!("files/still.avif"), Source::Avif),
        (include_bytes!("files/sequence.avif"), Source::Avif),
        (include_bytes!("files/thumbnail.heic"), Source::Heic),
    ];
    for (file, source) in files {
        let beginnings = (0..file.len()).map(|end| file[..end].to_vec());
        let changed = (0..file.len()).flat_map(|at| {
            [0x00, 0x01, 0x7F, 0xFF].map(|byte| {
                let mut file = file.to_vec();
                file[at] = byte;
                file
            })
        });
        for file in beginnings.chain(changed) {
            if let Ok((kept, _)) = strip(&file, source) {
                let (again, removed) = strip(&kept, source).unwrap();
                assert!(again == kept && removed.is_empty(), "a second time changes something");
            }
        }
    }
}
