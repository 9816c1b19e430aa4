//! The kept original: nothing in it but what the pixels need.

mod damage;
mod gif;
mod heif;
mod jpeg;
mod png;
mod webp;

use imaging::{InputFormat, strip};

/// Strips a file and hands back what is left, after checking what must hold of every file.
fn kept(file: &[u8], source: InputFormat, removed: &str) -> Vec<u8> {
    let (kept, found) = strip(file, source).expect("a file that can be walked");
    assert_eq!(found.to_string(), removed);
    assert!(!has(&kept, b"SECRET"), "a secret is left");
    let (again, found) = strip(&kept, source).expect("what was stripped already");
    assert_eq!(found.to_string(), "", "a second time");
    assert!(again == kept, "a second time changes something");
    kept
}

fn has(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}

/// An EXIF block as a phone writes it: a place, a maker note and a thumbnail.
fn exif(little: bool) -> Vec<u8> {
    let u16 = |n: u16| if little { n.to_le_bytes() } else { n.to_be_bytes() };
    let u32 = |n: u32| if little { n.to_le_bytes() } else { n.to_be_bytes() };
    let mut block = if little { b"II*\0".to_vec() } else { b"MM\0*".to_vec() };
    block.extend(u32(8));
    let mut directory = |entries: &[(u16, u32)], next: u32| {
        block.extend(u16(entries.len() as u16));
        for (tag, value) in entries {
            block.extend(u16(*tag));
            block.extend(u16(4));
            block.extend(u32(1));
            block.extend(u32(*value));
        }
        block.extend(u32(next));
    };
    directory(&[(0x8769, 38), (0x8825, 56)], 74); // 8
    directory(&[(0x927C, 0)], 0); // 38
    directory(&[(0x0001, 0)], 0); // 56
    directory(&[(0x0201, 92)], 0); // 74
    block.extend(b"SECRET");
    block
}
