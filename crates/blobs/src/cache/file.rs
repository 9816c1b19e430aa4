//! One image as a file that says itself whether it is whole.
//!
//! Magic, checksum, length, image. The checksum also covers where the file belongs, so that a file that came
//! to lie elsewhere is not taken for another.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use bytes::Bytes;

use crate::Error;
use crate::checksum::checksum;

const MAGIC: &[u8; 4] = b"PHC1";
const HEADER: usize = 16;

/// The use of a file is noted in its time of change, for after a restart. Not more often than this: a read
/// should not turn into a write.
const NOTE_AFTER: Duration = Duration::from_secs(60 * 60);

pub(super) enum Found {
    Whole(Bytes),
    /// Torn by a power cut, or changed by the disk.
    Damaged,
    Nothing,
}

/// The length of the file an image makes.
pub(super) fn length(bytes: &[u8]) -> u64 {
    (HEADER + bytes.len()) as u64
}

/// Writes the file that will be renamed to `place`.
pub(super) fn write(staged: &Path, place: &Path, bytes: &[u8]) -> Result<(), Error> {
    let write = || {
        let mut file = File::create(staged)?;
        file.write_all(&header(place, bytes))?;
        file.write_all(bytes)
    };
    write().map_err(Error::at(staged))
}

pub(super) fn read(place: &Path) -> Result<Found, Error> {
    let bytes = match read_and_note(place) {
        Ok(bytes) => Bytes::from(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(Error::at(place)(error)),
    };
    let whole = bytes.get(HEADER..).is_some_and(|image| bytes[..HEADER] == header(place, image));
    Ok(if whole { Found::Whole(bytes.slice(HEADER..)) } else { Found::Damaged })
}

#[allow(clippy::disallowed_methods, reason = "compared with the times of files")]
fn read_and_note(place: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(place)?;
    let about = file.metadata()?;
    let mut bytes = Vec::with_capacity(usize::try_from(about.len()).unwrap_or(0));
    file.read_to_end(&mut bytes)?;
    if about.modified()?.elapsed().is_ok_and(|age| age > NOTE_AFTER) {
        file.set_modified(SystemTime::now())?;
    }
    Ok(bytes)
}

fn header(place: &Path, image: &[u8]) -> [u8; HEADER] {
    // The image's name and the photo; the rest of the path may move.
    let names = place.iter().rev().take(2).map(std::ffi::OsStr::as_encoded_bytes);
    let mut header = [0; HEADER];
    header[..4].copy_from_slice(MAGIC);
    header[4..8].copy_from_slice(&checksum(names, image).to_le_bytes());
    header[8..].copy_from_slice(&(image.len() as u64).to_le_bytes());
    header
}
