//! A folder of an archive: files, followed by a `SHA256SUMS` of them.

use std::io::{self, Read, Write};

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::error::ArchiveError;
use super::tar::{self, hex};

const SUMS: &str = "SHA256SUMS";

#[derive(Debug)]
pub(super) struct ChecksummedFolder {
    /// Empty for the root of the archive.
    pub(super) path: String,
    pub(super) files: Vec<(String, Bytes)>,
    /// The SHA-256 of all archive bytes before this folder.
    pub(super) digest_before: String,
    /// Set if the files are not those that were written.
    pub(super) damage: Option<ArchiveError>,
}

pub(super) fn write<W: Write>(
    to: &mut tar::Writer<W>,
    folder: &str,
    files: &[(String, Bytes)],
) -> io::Result<()> {
    for (name, bytes) in files {
        to.entry(&join(folder, name), bytes)?;
    }
    to.entry(&join(folder, SUMS), sums(files).concat().as_bytes())
}

/// `None` at the end of the archive. After an error the next folder can still be read.
pub(super) fn read<R: Read>(from: &mut tar::Reader<R>) -> Result<Option<ChecksummedFolder>, ArchiveError> {
    let mut current: Option<ChecksummedFolder> = None;
    while let Some(entry) = from.next()? {
        let (path, name) = entry.name.rsplit_once('/').unwrap_or(("", entry.name.as_str()));
        let mut folder = current.take().unwrap_or_else(|| ChecksummedFolder {
            path: path.to_owned(),
            files: Vec::new(),
            digest_before: hex(entry.hash_before.clone()),
            damage: None,
        });
        if folder.path != path {
            let what = format!("it precedes the checksums of {}", folder.path);
            return Err(ArchiveError::Damaged { entry: entry.name, what });
        }
        if name == SUMS {
            folder.damage = verify(&folder, &entry.bytes).err();
            return Ok(Some(folder));
        }
        folder.files.push((name.to_owned(), entry.bytes.into()));
        current = Some(folder);
    }
    match current {
        None => Ok(None),
        Some(folder) => Err(ArchiveError::Truncated { last: folder.path }),
    }
}

fn verify(folder: &ChecksummedFolder, recorded: &[u8]) -> Result<(), ArchiveError> {
    let computed = sums(&folder.files);
    if computed.concat().as_bytes() == recorded {
        return Ok(());
    }
    let recorded = String::from_utf8_lossy(recorded);
    let mismatch = computed.iter().zip(&folder.files).find(|(sum, _)| !recorded.contains(sum.as_str()));
    let (name, what) = match mismatch {
        Some((_, (name, _))) => (name.as_str(), "its checksum does not match"),
        None => (SUMS, "it lists files that are missing"),
    };
    Err(ArchiveError::Damaged { entry: join(&folder.path, name), what: what.to_owned() })
}

/// One line for each file, as `sha256sum` prints it.
fn sums(files: &[(String, Bytes)]) -> Vec<String> {
    files.iter().map(|(name, bytes)| format!("{}  {name}\n", hex(Sha256::new_with_prefix(bytes)))).collect()
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
