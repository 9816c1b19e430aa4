//! The stripped original contains only what the pixels need.

mod damage;
mod gif;
mod heif;
mod jpeg;
mod png;
mod profiles;
mod trailing;
mod webp;

use imaging::{InputFormat, strip};

/// Strips a file, checks the removed metadata and that stripping again changes nothing, and returns the
/// output.
fn strip_and_check(file: &[u8], format: InputFormat, expected: &str) -> Vec<u8> {
    let (stripped, removed) = strip(file, format).expect("a file that can be stripped");
    assert_eq!(removed.to_string(), expected, "removed metadata");
    assert!(!contains(&stripped, b"SECRET"), "metadata is left");
    let (again, removed) = strip(&stripped, format).expect("a stripped file");
    assert_eq!(removed.to_string(), "", "stripping again removes metadata");
    assert!(again == stripped, "stripping again changes the file");
    stripped
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}

/// An EXIF block as a phone writes it: GPS, a maker note and a thumbnail.
fn exif(is_little_endian: bool) -> Vec<u8> {
    let u16 = |n: u16| if is_little_endian { n.to_le_bytes() } else { n.to_be_bytes() };
    let u32 = |n: u32| if is_little_endian { n.to_le_bytes() } else { n.to_be_bytes() };
    let mut block = if is_little_endian { b"II*\0".to_vec() } else { b"MM\0*".to_vec() };
    block.extend(u32(8));
    let mut ifd = |entries: &[(u16, u32)], next: u32| {
        block.extend(u16(entries.len() as u16));
        for (tag, value) in entries {
            block.extend(u16(*tag));
            block.extend(u16(4));
            block.extend(u32(1));
            block.extend(u32(*value));
        }
        block.extend(u32(next));
    };
    ifd(&[(0x8769, 38), (0x8825, 56)], 74); // offset 8
    ifd(&[(0x927C, 0)], 0); // offset 38
    ifd(&[(0x0001, 0)], 0); // offset 56
    ifd(&[(0x0201, 92)], 0); // offset 74
    block.extend(b"SECRET");
    block
}
