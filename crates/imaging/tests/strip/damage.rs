use imaging::{Error, InputFormat, strip};

#[test]
fn what_has_no_picture_is_an_error() {
    for (file, source) in [
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
        let result = strip(file, source);
        assert!(matches!(result, Err(Error::Damaged(_))), "{source:?} {}: {result:?}", file.escape_ascii());
    }
}

/// Every beginning of a file, and every byte of it changed: nothing panics, and what comes out is clean.
#[test]
fn no_damage_gets_in_the_way() {
    let files: [(&[u8], InputFormat); 3] = [
        (include_bytes!("files/still.avif"), InputFormat::Avif),
        (include_bytes!("files/sequence.avif"), InputFormat::Avif),
        (include_bytes!("files/thumbnail.heic"), InputFormat::Heic),
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
