//! The file of a cached image: magic, checksum, length, image.
//!
//! The checksum detects a torn write. It also covers the file's name and folder, so a misplaced file fails
//! the check.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use bytes::Bytes;

use crate::Error;
use crate::checksum::checksum;

const MAGIC: &[u8; 4] = b"PHC1";
const HEADER: usize = 16;

/// The modification time records the last use, for the scan after a restart. It is updated at most this
/// often, so that most reads do not write.
const TOUCH_AFTER: Duration = Duration::from_secs(60 * 60);

pub(super) enum ReadOutcome {
    Intact(Bytes),
    /// Torn by a power failure, or changed by the disk.
    Corrupt,
    Missing,
}

/// The length of the file of an image.
pub(super) fn length(bytes: &[u8]) -> u64 {
    (HEADER + bytes.len()) as u64
}

/// Writes the file `staged`, which the caller renames to `path`.
pub(super) fn write(staged: &Path, path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let write = || {
        let mut file = File::create(staged)?;
        file.write_all(&header(path, bytes))?;
        file.write_all(bytes)
    };
    write().map_err(Error::at(staged))
}

pub(super) fn read(path: &Path) -> Result<ReadOutcome, Error> {
    let bytes = match read_and_touch(path) {
        Ok(bytes) => Bytes::from(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ReadOutcome::Missing),
        Err(error) => return Err(Error::at(path)(error)),
    };
    let is_intact = bytes.get(HEADER..).is_some_and(|image| bytes[..HEADER] == header(path, image));
    Ok(if is_intact { ReadOutcome::Intact(bytes.slice(HEADER..)) } else { ReadOutcome::Corrupt })
}

#[allow(clippy::disallowed_methods, reason = "compared with the times of files")]
fn read_and_touch(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    file.read_to_end(&mut bytes)?;
    if metadata.modified()?.elapsed().is_ok_and(|age| age > TOUCH_AFTER) {
        file.set_modified(SystemTime::now())?;
    }
    Ok(bytes)
}

fn header(path: &Path, image: &[u8]) -> [u8; HEADER] {
    // The file name and the photo's folder; the rest of the path may change with the data folder.
    let names = path.iter().rev().take(2).map(std::ffi::OsStr::as_encoded_bytes);
    let mut header = [0; HEADER];
    header[..4].copy_from_slice(MAGIC);
    header[4..8].copy_from_slice(&checksum(names, image).to_le_bytes());
    header[8..].copy_from_slice(&(image.len() as u64).to_le_bytes());
    header
}
