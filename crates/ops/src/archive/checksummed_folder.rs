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
    /// Empty if the files are those that were written.
    pub(super) damage: Vec<ArchiveError>,
    /// The content of `SHA256SUMS`, as far as it is known.
    recorded: Vec<u8>,
}

/// What a checksum says about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Integrity {
    Intact,
    Damaged,
    /// Its checksum is lost.
    Unknown,
}

pub(super) fn write<W: Write>(
    to: &mut tar::Writer<W>,
    folder: &str,
    files: &[(String, Bytes)],
) -> io::Result<()> {
    for (name, bytes) in files {
        to.entry(&join(folder, name), bytes)?;
    }
    let sums: String = files.iter().map(|(name, bytes)| format!("{}  {name}\n", checksum(bytes))).collect();
    to.entry(&join(folder, SUMS), sums.as_bytes())
}

/// Reads an archive folder by folder.
pub(super) struct Folders<R> {
    tar: tar::Reader<R>,
    /// The first file of the next folder.
    next: Option<tar::Entry>,
}

impl<R: Read> Folders<R> {
    pub(super) fn new(from: R) -> Self {
        Self { tar: tar::Reader::new(from), next: None }
    }

    /// `None` at the end of the archive. A folder that is damaged has the files that are left of it; after an
    /// error the next folder can still be read.
    pub(super) fn next(&mut self) -> Result<Option<ChecksummedFolder>, ArchiveError> {
        let mut current: Option<ChecksummedFolder> = None;
        loop {
            let next = self.next.take().map_or_else(|| self.tar.next(), |entry| Ok(Some(entry)));
            let entry = match next {
                Ok(Some(entry)) => entry,
                Ok(None) => break,
                Err(error @ ArchiveError::Read(_)) => return Err(error),
                Err(damage) => match &mut current {
                    Some(folder) => {
                        folder.damage.push(damage);
                        continue;
                    }
                    None => return Err(damage),
                },
            };
            let (path, name) = entry.name.rsplit_once('/').unwrap_or(("", entry.name.as_str()));
            if current.as_ref().is_some_and(|folder| folder.path != path) {
                self.next = Some(entry);
                break;
            }
            let mut folder = current.take().unwrap_or_else(|| ChecksummedFolder {
                path: path.to_owned(),
                files: Vec::new(),
                digest_before: hex(entry.hash_before.clone()),
                damage: Vec::new(),
                recorded: Vec::new(),
            });
            if name == SUMS {
                folder.recorded = entry.bytes;
                folder.verify();
                return Ok(Some(folder));
            }
            folder.files.push((name.to_owned(), entry.bytes.into()));
            current = Some(folder);
        }
        if let Some(folder) = &mut current
            && folder.damage.is_empty()
        {
            folder.damage.push(match self.next {
                Some(_) => folder.damaged(SUMS, "it is missing"),
                None => ArchiveError::Truncated { last: folder.path.clone() },
            });
        }
        Ok(current)
    }
}

impl ChecksummedFolder {
    /// The files, each with what its checksum says.
    pub(super) fn examine(&self) -> impl Iterator<Item = (&str, &Bytes, Integrity)> {
        self.files.iter().map(|(name, bytes)| (name.as_str(), bytes, self.integrity(name, bytes)))
    }

    /// Adds what is wrong with the files.
    fn verify(&mut self) {
        let sums = self.files.iter().map(|(name, bytes)| format!("{}  {name}\n", checksum(bytes)));
        if sums.collect::<String>().as_bytes() == self.recorded {
            return;
        }
        let damaged = self.examine().filter(|(_, _, integrity)| *integrity == Integrity::Damaged);
        let mut damage: Vec<ArchiveError> =
            damaged.map(|(name, ..)| self.damaged(name, "its checksum does not match")).collect();
        if damage.is_empty() {
            damage.push(self.damaged(SUMS, "it does not list exactly the files beside it"));
        }
        self.damage.extend(damage);
    }

    fn integrity(&self, name: &str, bytes: &Bytes) -> Integrity {
        /// Of 64 digits. Sums of different files agree in four on average: with this many, not the file is
        /// damaged but its record.
        const ENOUGH_EQUAL_DIGITS: usize = 48;
        let computed = checksum(bytes);
        let is_sum = |line: &[u8]| {
            let equal = line.iter().zip(computed.as_bytes()).filter(|(left, right)| left == right);
            equal.count() >= ENOUGH_EQUAL_DIGITS
        };
        let mut lines = self.recorded.split(|byte| *byte == b'\n');
        let is_listed =
            |line: &[u8]| line.len() == computed.len() + 2 + name.len() && line.ends_with(name.as_bytes());
        if lines.clone().any(is_sum) {
            Integrity::Intact
        } else if lines.any(is_listed) {
            Integrity::Damaged
        } else {
            Integrity::Unknown
        }
    }

    fn damaged(&self, name: &str, what: &str) -> ArchiveError {
        ArchiveError::Damaged { entry: join(&self.path, name), what: what.to_owned() }
    }
}

/// As `sha256sum` prints it.
fn checksum(bytes: &[u8]) -> String {
    hex(Sha256::new_with_prefix(bytes))
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
