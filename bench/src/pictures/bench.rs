//! State shared by all sections about pictures: photos, peers, rounds.

use std::path::Path;

use serde_json::json;

use crate::error::{Error, read};
use crate::peers::Peers;
use crate::photos::Photos;
use crate::score::{Pixels, jpeg_quality};
use crate::{engine, photos};

pub(super) struct Bench {
    pub(super) rounds: usize,
    pub(super) peers: Peers,
    pub(super) photos: Photos,
    /// Of the JPEG files the peers serve.
    pub(super) quality: u8,
    /// Of those the engine serves.
    pub(super) served_quality: u8,
    /// Of those the engine keeps; the peers use the same.
    pub(super) master_quality: u8,
}

/// The quality setting means something else to each encoder, so bytes and scores are compared. With this
/// value the peers' files are as long as Pinhole's.
pub(crate) const PEERS_QUALITY: u8 = 82;

impl Bench {
    pub(super) fn open(home: &Path, rounds: Option<u16>, quick: bool) -> Result<Self, Error> {
        let photos = Photos::open(home, quick)?;
        let first = photos.twelve.first().ok_or_else(|| Error::measure("there are no photos"))?;
        let master = read(&first.master(1024))?;
        let served = engine::render(&master, engine::SIDE, imaging::OutputFormat::Jpeg)?;
        let rounds = rounds.unwrap_or(if quick { 3 } else { 7 });
        Ok(Self {
            rounds: rounds.into(),
            peers: Peers::start(home)?,
            quality: PEERS_QUALITY,
            served_quality: jpeg_quality(&served)?,
            master_quality: jpeg_quality(&master)?,
            photos,
        })
    }

    pub(super) fn setting(&self, core: usize, cpu_model: &str) -> Result<Vec<(String, String)>, Error> {
        let names: Vec<&str> = self.photos.twelve.iter().map(|photo| photo.name.as_str()).collect();
        let mut setting = vec![
            ("CPU".to_owned(), format!("{cpu_model}, everything on core {core}")),
            ("Rounds".to_owned(), self.rounds.to_string()),
            ("Photos of 12 MP".to_owned(), names.join(", ")),
            (
                "JPEG quality".to_owned(),
                format!(
                    "{} served by Pinhole and {} by the peers, {} for masters",
                    self.served_quality, self.quality, self.master_quality
                ),
            ),
        ];
        setting.extend(self.peers.versions()?.into_iter().map(|(name, version)| (name.to_owned(), version)));
        Ok(setting)
    }

    /// The pixels of a square file, decoded by Pillow instead of the engine under test.
    pub(super) fn pixels(&self, file: &Path) -> Result<Pixels, Error> {
        self.resized(file, None, None)
    }

    /// What a square should look like: from all pixels, by a plain Lanczos filter, without loss.
    pub(super) fn reference(&self, file: &Path, side: u16) -> Result<Pixels, Error> {
        self.resized(file, Some(side), None)
    }

    /// The same for a photo that is not square, cropped at the exact centre and half a pixel beside it. Peers
    /// round the crop differently; the shift is invisible, but lowers the score.
    pub(super) fn references(&self, file: &Path, side: u16) -> Result<Vec<Pixels>, Error> {
        [None, Some(0), Some(1)].into_iter().map(|cut| self.resized(file, Some(side), cut)).collect()
    }

    fn resized(&self, file: &Path, side: Option<u16>, cut: Option<u8>) -> Result<Pixels, Error> {
        let out = self.photos.out("pixels.rgb");
        let job = json!({ "do": "reference", "file": file, "side": side, "cut": cut, "out": out });
        self.peers.pillow.ask(&job)?;
        Pixels::new(read(&out)?)
    }

    /// The sides of the masters of a 12 MP photo.
    pub(super) fn master_sides(&self) -> Vec<u32> {
        engine::master_sides(photos::SHORT_SIDE)
    }
}
