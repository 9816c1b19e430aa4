//! The files a photo is made of, by name.

use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use bytes::Bytes;
use model::PhotoId;

/// One of a photo's squares, by the length of its side, or what was uploaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    Square(u32),
    Original,
}

/// One master of a photo, by the length of its side.
#[derive(Debug, Clone)]
pub struct Square {
    pub side: u32,
    pub bytes: Bytes,
}

/// A photo that lies in the blob store: its files with their lengths, the largest square first and the
/// original last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub photo: PhotoId,
    pub parts: Vec<(Part, u64)>,
    pub since: SystemTime,
}

impl Kept {
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|(_, length)| length).sum()
    }
}

impl Part {
    const ORIGINAL: &'static str = "original";

    fn rank(self) -> (bool, Reverse<u32>) {
        match self {
            Self::Square(side) => (false, Reverse(side)),
            Self::Original => (true, Reverse(0)),
        }
    }
}

impl Ord for Part {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The name of its file.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Square(side) => side.fmt(f),
            Self::Original => f.write_str(Self::ORIGINAL),
        }
    }
}

/// Not the name of a file we would write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no file of a photo")]
pub struct UnknownPart(String);

impl FromStr for Part {
    type Err = UnknownPart;

    fn from_str(name: &str) -> Result<Self, UnknownPart> {
        if name == Self::ORIGINAL {
            return Ok(Self::Original);
        }
        let side = name.parse().ok().filter(|side: &u32| *side > 0 && side.to_string() == name);
        side.map(Self::Square).ok_or_else(|| UnknownPart(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_we_write() {
        for name in ["2048", "1", "original"] {
            assert_eq!(name.parse::<Part>().unwrap().to_string(), name);
        }
        for name in ["", "0", "007", "+7", "Original", "2048.jpg", "SHA256SUMS"] {
            assert!(name.parse::<Part>().is_err(), "{name:?} passed for a file of a photo");
        }
    }
}
