//! What is behind the end of the pixels is cut, in every format.

use imaging::{sniff, strip};

use super::{contains, strip_and_check};

const FILES: [&[u8]; 6] = [
    include_bytes!("../corpus/profiles/none.jpg"),
    include_bytes!("../corpus/profiles/p3.png"),
    include_bytes!("../corpus/profiles/p3.webp"),
    include_bytes!("../corpus/gif/plain.gif"),
    include_bytes!("../corpus/profiles/p3.avif"),
    include_bytes!("../corpus/profiles/p3.heic"),
];

fn bmff_box(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    [&(content.len() as u32 + 8).to_be_bytes()[..], kind, content].concat()
}

/// A motion photo's video, as phones append it.
fn video() -> Vec<u8> {
    let handler = bmff_box(b"hdlr", &[&[0; 8], &b"vide"[..], &[0; 13]].concat());
    let track = bmff_box(b"trak", &bmff_box(b"mdia", &handler));
    let (brands, samples) = (bmff_box(b"ftyp", b"mp42\0\0\0\0isom"), bmff_box(b"mdat", b"SECRET samples"));
    [brands, samples, bmff_box(b"moov", &track)].concat()
}

#[test]
fn what_is_behind_the_end_is_cut_in_every_format() {
    let samsung = b"\0\0\x30\x0A\x10\0\0\0MotionPhoto_DataSECRETSEFH\x6A\0\0\0\x01\0\0\0\x28\0\0\0SEFT";
    let trailers: [(&[u8], &str); 5] = [
        (b"SECRET: the rest of an uncropped picture", "text"),
        (&video(), "a video"),
        (samsung, "a trailer of Samsung"),
        (&[&bmff_box(b"mpvd", &video())[..], &bmff_box(b"sefd", samsung)].concat(), "boxes of Samsung"),
        (&[&[0; 40], FILES[0], FILES[1], b"SECRET"].concat(), "other pictures"),
    ];
    for file in FILES {
        let format = sniff(file).unwrap();
        let (clean, removed) = strip(file, format).unwrap();
        let names: Vec<_> = removed.iter().map(|kind| kind.name()).chain(["other"]).collect();
        for (trailer, what) in trailers {
            let stripped = strip_and_check(&[file, trailer].concat(), format, &names.join(", "));
            assert!(stripped == clean, "{what} behind a {format:?}");
        }
        assert_eq!(strip(&[file, &[0; 64]].concat(), format).unwrap().0, clean, "zeros behind a {format:?}");
        assert!(!contains(&clean, b"SECRET"));
    }
}
