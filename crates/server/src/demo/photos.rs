//! The photos of `demo/`, embedded in the binary.

use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// A photo with its file name, without `.jpg`.
#[derive(Clone, Copy)]
pub(super) struct EmbeddedPhoto {
    pub(super) name: &'static str,
    pub(super) bytes: &'static [u8],
}

macro_rules! embedded_photos {
    ($($folder:literal: $($name:literal)*;)*) => {
        &[$($(EmbeddedPhoto {
            name: $name,
            bytes: include_bytes!(concat!("../../../../demo/", $folder, "/", $name, ".jpg")),
        },)*)*]
    };
}

pub(super) static ALL: &[EmbeddedPhoto] = embedded_photos! {
    "photos":
        "after-the-rain" "apple-blossom" "bee" "brook" "brushes" "butterfly" "citrus" "dandelion" "dogs" "drop"
        "fig" "galaxies" "hills" "jetty" "mountain-path" "night-bridge" "nuthatch" "tiger" "wildflowers"
        "wooden-bird";
    "people":
        "cat" "chameleon" "fish" "owl" "parrot" "sunflower";
};

/// Deserializes from the name of a photo.
impl<'de> Deserialize<'de> for EmbeddedPhoto {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let photo = ALL.iter().find(|photo| photo.name == name);
        photo.copied().ok_or_else(|| D::Error::custom(format!("there is no photo {name:?}")))
    }
}

impl fmt::Debug for EmbeddedPhoto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
