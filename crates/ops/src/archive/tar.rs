//! The subset of tar that an archive uses: regular files with short names, in POSIX's ustar format.
//!
//! A header is a function of name, length and time. The reader compares each with the one the writer would
//! have written and accepts nothing else, so no bit of an archive is unchecked.

use std::io::{self, Read, Write};

use sha2::{Digest, Sha256};

use super::error::ArchiveError;

const BLOCK: usize = 512;

pub(super) struct Writer<W> {
    to: W,
    hash: Sha256,
    mtime: u64,
}

impl<W: Write> Writer<W> {
    /// All entries have the same time, in seconds since 1970.
    pub(super) fn new(to: W, mtime: u64) -> Self {
        Self { to, hash: Sha256::new(), mtime }
    }

    pub(super) fn entry(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let header = header(name, bytes.len() as u64, self.mtime)
            .ok_or_else(|| io::Error::other(format!("{name} is too long for an archive")))?;
        self.write(&header)?;
        self.write(bytes)?;
        self.write(&[0; BLOCK][..padding(bytes.len() as u64)])
    }

    /// The checksum of everything written so far.
    pub(super) fn digest(&self) -> String {
        hex(self.hash.clone())
    }

    /// Writes the end, and returns the output.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.write(&[0; 2 * BLOCK])?;
        self.to.flush()?;
        Ok(self.to)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.to.write_all(bytes)
    }
}

pub(super) struct Entry {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    /// The checksum of everything before this entry.
    pub(super) before: Sha256,
}

pub(super) struct Reader<R> {
    from: R,
    hash: Sha256,
    /// The time of all entries, once the first was read.
    mtime: Option<u64>,
    /// The name of the previous entry, to locate damage.
    last: String,
    is_over: bool,
}

impl<R: Read> Reader<R> {
    pub(super) fn new(from: R) -> Self {
        let last = "the beginning".to_owned();
        Self { from, hash: Sha256::new(), mtime: None, last, is_over: false }
    }

    /// `None` at the end, and after an error: the start of the next entry is unknown then.
    pub(super) fn next(&mut self) -> Result<Option<Entry>, ArchiveError> {
        if self.is_over {
            return Ok(None);
        }
        let outcome = self.read_entry();
        self.is_over = !matches!(outcome, Ok(Some(_)));
        outcome
    }

    fn read_entry(&mut self) -> Result<Option<Entry>, ArchiveError> {
        let before = self.hash.clone();
        let block = self.block()?;
        if block == [0; BLOCK] {
            return self.read_end().map(|()| None);
        }
        let (name, length, mtime) = parse(&block).ok_or_else(|| self.unrecognized())?;
        let mtime = self.mtime.unwrap_or(mtime);
        if header(&name, length, mtime) != Some(block) {
            return Err(self.unrecognized());
        }
        self.mtime = Some(mtime);
        let mut bytes = Vec::new();
        let read = (&mut self.from).take(length).read_to_end(&mut bytes).map_err(ArchiveError::Read)?;
        self.last.clone_from(&name);
        if read as u64 != length {
            return Err(self.cut_off());
        }
        self.hash.update(&bytes);
        let mut rest = [0; BLOCK];
        let rest = &mut rest[..padding(length)];
        self.fill(rest)?;
        if rest.iter().any(|byte| *byte != 0) {
            return Err(self.damaged("the padding of its last block is not zero"));
        }
        Ok(Some(Entry { name, bytes, before }))
    }

    /// A second empty block, then only zeros, which a tape or a disk may have appended.
    fn read_end(&mut self) -> Result<(), ArchiveError> {
        if self.block()? != [0; BLOCK] {
            return Err(self.damaged("what follows it is not the end"));
        }
        let mut rest = [0; BLOCK];
        loop {
            match self.from.read(&mut rest).map_err(ArchiveError::Read)? {
                0 => return Ok(()),
                read if rest[..read].iter().any(|byte| *byte != 0) => {
                    return Err(self.damaged("something follows the end of the archive"));
                }
                _ => {}
            }
        }
    }

    fn block(&mut self) -> Result<[u8; BLOCK], ArchiveError> {
        let mut block = [0; BLOCK];
        self.fill(&mut block)?;
        Ok(block)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), ArchiveError> {
        match self.from.read_exact(bytes) {
            Ok(()) => {
                self.hash.update(bytes);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(self.cut_off()),
            Err(error) => Err(ArchiveError::Read(error)),
        }
    }

    fn unrecognized(&self) -> ArchiveError {
        match self.mtime {
            Some(_) => self.damaged("what follows it is not the beginning of an entry"),
            None => ArchiveError::Foreign,
        }
    }

    fn damaged(&self, what: &str) -> ArchiveError {
        ArchiveError::Damaged { entry: self.last.clone(), what: what.to_owned() }
    }

    fn cut_off(&self) -> ArchiveError {
        ArchiveError::CutOff { last: self.last.clone() }
    }
}

/// `None` for a name or a length that does not fit.
fn header(name: &str, length: u64, mtime: u64) -> Option<[u8; BLOCK]> {
    const LONGEST_NAME: usize = 99;
    const LARGEST: u64 = 1 << 33;
    if name.is_empty() || name.len() > LONGEST_NAME || length >= LARGEST || mtime >= LARGEST {
        return None;
    }
    let mut block = [0; BLOCK];
    put(&mut block, 0, name.as_bytes());
    put(&mut block, 100, b"0000600\0");
    put(&mut block, 108, b"0000000\0");
    put(&mut block, 116, b"0000000\0");
    put(&mut block, 124, format!("{length:011o}\0").as_bytes());
    put(&mut block, 136, format!("{mtime:011o}\0").as_bytes());
    // The checksum is computed with its own field blank.
    put(&mut block, 148, b"        ");
    put(&mut block, 156, b"0");
    put(&mut block, 257, b"ustar\x0000");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    put(&mut block, 148, format!("{sum:06o}\0 ").as_bytes());
    Some(block)
}

/// Name, length and time of a header.
fn parse(block: &[u8; BLOCK]) -> Option<(String, u64, u64)> {
    let text = |from: usize, to: usize| std::str::from_utf8(&block[from..to]).ok();
    let name = text(0, 100)?.trim_end_matches('\0').to_owned();
    let number = |from, to| u64::from_str_radix(text(from, to)?.trim_end_matches('\0'), 8).ok();
    Some((name, number(124, 136)?, number(136, 148)?))
}

fn put(block: &mut [u8; BLOCK], at: usize, bytes: &[u8]) {
    block[at..at + bytes.len()].copy_from_slice(bytes);
}

/// The digest as `sha256sum` prints it.
pub(super) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The number of zeros that fill the last block.
fn padding(length: u64) -> usize {
    let over = (length % BLOCK as u64) as usize;
    if over == 0 { 0 } else { BLOCK - over }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), 1_794_648_600);
        for (name, bytes) in entries {
            writer.entry(name, bytes).unwrap();
        }
        writer.finish().unwrap()
    }

    fn read(mut archive: &[u8]) -> Result<Vec<(String, Vec<u8>)>, ArchiveError> {
        let mut reader = Reader::new(&mut archive);
        let mut entries = Vec::new();
        while let Some(entry) = reader.next()? {
            entries.push((entry.name, entry.bytes));
        }
        Ok(entries)
    }

    #[test]
    fn entries_round_trip_and_every_flipped_bit_outside_of_file_contents_is_detected() {
        let block = [7; BLOCK];
        let entries: [(&str, &[u8]); 4] = [("a/b", b"hello"), ("empty", b""), ("block", &block), ("c", b"!")];
        let archive = written(&entries);
        assert_eq!(archive.len(), BLOCK * (2 + 1 + 2 + 2 + 2));
        let known = entries.map(|(name, bytes)| (name.to_owned(), bytes.to_vec()));
        assert_eq!(read(&archive).unwrap(), known);
        for at in 0..archive.len() {
            let mut damaged = archive.clone();
            damaged[at] ^= 1;
            if let Ok(found) = read(&damaged) {
                assert_ne!(found, known, "byte {at} was changed without an error");
            }
            let cut = read(&archive[..at]);
            assert!(matches!(cut, Err(ArchiveError::CutOff { .. })), "cut off at {at}: {cut:?}");
        }
        assert_eq!(read(&[&archive[..], &[0; 100]].concat()).unwrap(), known, "a tape may add zeros");
        assert!(read(&[&archive[..], &[1]].concat()).is_err());
    }

    #[test]
    fn other_files_are_recognized_as_foreign() {
        for bytes in [&b"x".repeat(2 * BLOCK), &[0xFF; 2 * BLOCK].to_vec()] {
            let found = read(bytes);
            assert!(matches!(found, Err(ArchiveError::Foreign)), "{found:?}");
        }
        assert!(Writer::new(Vec::new(), 0).entry(&"long".repeat(25), b"").is_err());
    }
}
