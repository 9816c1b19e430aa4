//! The photos of `demo/`, inside the binary: it needs no repository beside it.

use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// A photo by its name, which is that of its file.
#[derive(Clone, Copy)]
pub(super) struct Embedded {
    pub(super) name: &'static str,
    pub(super) bytes: &'static [u8],
}

macro_rules! embedded {
    ($($folder:literal: $($name:literal)*;)*) => {
        &[$($(Embedded {
            name: $name,
            bytes: include_bytes!(concat!("../../../../demo/", $folder, "/", $name, ".jpg")),
        },)*)*]
    };
}

pub(super) static ALL: &[Embedded] = embedded! {
    "photos":
        "after-the-rain" "apple-blossom" "bee" "brook" "brushes" "butterfly" "citrus" "dandelion" "dogs" "drop"
        "fig" "galaxies" "hills" "jetty" "mountain-path" "night-bridge" "nuthatch" "tiger" "wildflowers"
        "wooden-bird";
    "people":
        "cat" "chameleon" "fish" "owl" "parrot" "sunflower";
};

/// By name.
impl<'de> Deserialize<'de> for Embedded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let found = ALL.iter().find(|photo| photo.name == name);
        found.copied().ok_or_else(|| D::Error::custom(format!("there is no photo {name:?}")))
    }
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
