//! Reads corpus files, and decodes images for comparison.

#[path = "../imaging/srgb.rs"]
mod srgb;

use std::fs;
use std::path::{Path, PathBuf};

use imaging::Limits;

pub(crate) const LIMITS: Limits = Limits { max_pixels: 64_000_000 };

pub(crate) fn file(name: &str) -> Vec<u8> {
    fs::read(corpus_folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The files of a folder, with the folder's name.
pub(crate) fn files(name: &str) -> Vec<String> {
    let entries = fs::read_dir(corpus_folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let path = |entry: std::io::Result<fs::DirEntry>| entry.expect("a readable folder").file_name();
    entries.map(|entry| format!("{name}/{}", path(entry).display())).collect()
}

fn corpus_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

pub(crate) struct DecodedSquare {
    pub(crate) side: u32,
    pub(crate) alpha: Vec<u8>,
    /// Composited over white.
    pub(crate) colours: Vec<[u8; 3]>,
}

impl DecodedSquare {
    pub(crate) fn read(file: &[u8]) -> Self {
        let image = srgb::decode(file);
        assert_eq!(image.width(), image.height(), "not a square");
        let on_white = |[rgb @ .., alpha]: [u8; 4]| {
            let alpha = u32::from(alpha);
            rgb.map(|colour| ((u32::from(colour) * alpha + 255 * (255 - alpha) + 127) / 255) as u8)
        };
        Self {
            side: image.width(),
            alpha: image.pixels().map(|pixel| pixel.0[3]).collect(),
            colours: image.pixels().map(|pixel| on_white(pixel.0)).collect(),
        }
    }

    pub(crate) fn pixel(&self, x: u32, y: u32) -> [u8; 3] {
        self.colours[(y * self.side + x) as usize]
    }
}
