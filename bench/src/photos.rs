//! The photos and the files derived from them.

use std::path::{Path, PathBuf};

use crate::engine;
use crate::error::{Error, create_folder, read, write};

/// The 12 MP photos that `peers/photos.py` makes; a quick run takes the first three.
pub(crate) const NAMES: [&str; 6] = ["dragonfly", "brook", "nuthatch", "dandelion", "sunset", "mountains"];
const QUICK: usize = 3;

/// The sides of a 12 MP photo.
pub(crate) const SHORT_SIDE: u32 = 3024;
pub(crate) const SIZE: (u32, u32) = (4032, SHORT_SIDE);

#[derive(Debug, Clone)]
pub(crate) struct Photo {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    masters: PathBuf,
}

impl Photo {
    pub(crate) fn master(&self, side: u32) -> PathBuf {
        self.masters.join(format!("{}-{side}.jpg", self.name))
    }

    /// The master of the whole photo.
    pub(crate) fn fit_master(&self, longest: u32) -> PathBuf {
        self.masters.join(format!("{}-fit{longest}.jpg", self.name))
    }
}

/// Where the photos and everything made of them are.
#[derive(Debug)]
pub(crate) struct Photos {
    home: PathBuf,
    pub(crate) twelve: Vec<Photo>,
}

impl Photos {
    /// Also makes the masters of every photo, as the engine makes them.
    pub(crate) fn open(home: &Path, quick: bool) -> Result<Self, Error> {
        let count = if quick { QUICK } else { NAMES.len() };
        let mut photos = Self { home: home.into(), twelve: Vec::new() };
        photos.twelve = NAMES[..count].iter().map(|name| photos.file(&format!("{name}.jpg"))).collect();
        create_folder(&home.join("masters"))?;
        create_folder(&home.join("out"))?;
        for photo in &photos.twelve {
            let masters = engine::all_masters(&read(&photo.path)?)?;
            for master in masters.squares {
                write(&photo.master(master.side), &master.bytes)?;
            }
            for master in masters.fits {
                write(&photo.fit_master(master.side), &master.bytes)?;
            }
        }
        Ok(photos)
    }

    /// One of the others: `20mp.png`, `64mp.jpg`.
    pub(crate) fn file(&self, name: &str) -> Photo {
        let path = self.home.join("photos").join(name);
        let name = name.split('.').next().unwrap_or(name).to_owned();
        Photo { name, path, masters: self.home.join("masters") }
    }

    /// The path of an output file.
    pub(crate) fn out(&self, name: &str) -> PathBuf {
        self.home.join("out").join(name)
    }
}
