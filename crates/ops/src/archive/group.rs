//! A folder of an archive: files followed by their checksums.

use std::io::{self, Read, Write};

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::error::ArchiveError;
use super::tar::{self, hex};

const SUMS: &str = "SHA256SUMS";

#[derive(Debug)]
pub(super) struct Group {
    /// Empty at the top level.
    pub(super) folder: String,
    pub(super) files: Vec<(String, Bytes)>,
    /// The checksum of everything before it.
    pub(super) before: String,
}

pub(super) fn write<W: Write>(
    to: &mut tar::Writer<W>,
    folder: &str,
    files: &[(String, Bytes)],
) -> io::Result<()> {
    for (name, bytes) in files {
        to.entry(&path(folder, name), bytes)?;
    }
    to.entry(&path(folder, SUMS), sums(files).concat().as_bytes())
}

/// `None` at the end. After a checksum error the next group can still be read.
pub(super) fn read<R: Read>(from: &mut tar::Reader<R>) -> Result<Option<Group>, ArchiveError> {
    let mut begun: Option<Group> = None;
    while let Some(entry) = from.next()? {
        let (folder, name) = entry.name.rsplit_once('/').unwrap_or(("", entry.name.as_str()));
        let mut group = begun.take().unwrap_or_else(|| Group {
            folder: folder.to_owned(),
            files: Vec::new(),
            before: hex(entry.before.clone()),
        });
        if group.folder != folder {
            let what = format!("it comes before the checksums of {}", group.folder);
            return Err(ArchiveError::Damaged { entry: entry.name, what });
        }
        if name == SUMS {
            check(&group, &entry.bytes)?;
            return Ok(Some(group));
        }
        group.files.push((name.to_owned(), entry.bytes.into()));
        begun = Some(group);
    }
    match begun {
        None => Ok(None),
        Some(group) => Err(ArchiveError::CutOff { last: group.folder }),
    }
}

fn check(group: &Group, written: &[u8]) -> Result<(), ArchiveError> {
    let expected = sums(&group.files);
    if expected.concat().as_bytes() == written {
        return Ok(());
    }
    let written = String::from_utf8_lossy(written);
    let blamed = expected.iter().zip(&group.files).find(|(sum, _)| !written.contains(sum.as_str()));
    let (name, what) = match blamed {
        Some((_, (name, _))) => (name.as_str(), "it does not match its checksum"),
        None => (SUMS, "it lists files that are not there"),
    };
    Err(ArchiveError::Damaged { entry: path(&group.folder, name), what: what.to_owned() })
}

/// A line for each file.
fn sums(files: &[(String, Bytes)]) -> Vec<String> {
    files.iter().map(|(name, bytes)| format!("{}  {name}\n", hex(Sha256::new_with_prefix(bytes)))).collect()
}

fn path(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
