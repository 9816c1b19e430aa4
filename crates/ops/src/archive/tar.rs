//! The subset of tar that an archive uses: regular files with short names, in the POSIX ustar format.
//!
//! A header is a function of name, length and mtime. The reader rejects every header that differs from the
//! one the writer would write, so that a flipped bit anywhere in an archive is detected.

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
    /// `mtime` is the modification time of all entries, in seconds since 1970.
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

    /// The SHA-256 of everything written so far.
    pub(super) fn digest(&self) -> String {
        hex(self.hash.clone())
    }

    /// Writes the end-of-archive marker, flushes, and returns the output.
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
    /// The hash state of all bytes before this entry.
    pub(super) hash_before: Sha256,
}

pub(super) struct Reader<R> {
    from: R,
    hash: Sha256,
    /// The modification time of all entries; known from the first.
    mtime: Option<u64>,
    /// The name of the previous entry, for error messages.
    last: String,
    /// Damage behind the previous entry, whose content is complete.
    pending: Option<ArchiveError>,
    /// The first header, if the one before it is damaged.
    found: Option<[u8; BLOCK]>,
    /// Whether the position of the next header is unknown, because of damage.
    is_lost: bool,
    is_finished: bool,
}

impl<R: Read> Reader<R> {
    pub(super) fn new(from: R) -> Self {
        let last = "the beginning".to_owned();
        let (is_lost, is_finished) = (false, false);
        let (pending, found) = (None, None);
        Self { from, hash: Sha256::new(), mtime: None, last, pending, found, is_lost, is_finished }
    }

    /// `None` at the end. After damage it continues with the next block that is a header.
    pub(super) fn next(&mut self) -> Result<Option<Entry>, ArchiveError> {
        if let Some(damage) = self.pending.take() {
            self.is_finished |= matches!(damage, ArchiveError::Truncated { .. });
            return Err(damage);
        }
        if self.is_finished {
            return Ok(None);
        }
        let outcome = self.read_entry();
        self.is_lost = matches!(outcome, Err(ArchiveError::Damaged { .. }));
        self.is_finished = !self.is_lost && !matches!(outcome, Ok(Some(_)));
        outcome
    }

    fn read_entry(&mut self) -> Result<Option<Entry>, ArchiveError> {
        let hash_before = self.hash.clone();
        let Some(block) = self.header_block()? else { return Ok(None) };
        if block == [0; BLOCK] {
            return self.read_end().map(|()| None);
        }
        let Some((name, length, mtime)) = self.parse(&block) else { return Err(self.unrecognized()) };
        self.mtime = Some(mtime);
        let mut bytes = Vec::new();
        let read = (&mut self.from).take(length).read_to_end(&mut bytes).map_err(ArchiveError::Read)?;
        self.last.clone_from(&name);
        if read as u64 != length {
            return Err(self.truncated());
        }
        self.hash.update(&bytes);
        let mut zeros = [0; BLOCK];
        let zeros = &mut zeros[..padding(length)];
        match self.fill(zeros) {
            Ok(()) if zeros.iter().all(|byte| *byte == 0) => {}
            Ok(()) => self.pending = Some(self.damaged("the padding of its last block is not zero")),
            Err(truncated) => self.pending = Some(truncated),
        }
        Ok(Some(Entry { name, bytes, hash_before }))
    }

    /// The next block; after damage the next one that is a header, and `None` if none follows.
    fn header_block(&mut self) -> Result<Option<[u8; BLOCK]>, ArchiveError> {
        if let Some(block) = self.found.take() {
            return Ok(Some(block));
        }
        loop {
            match self.block() {
                Ok(block) if self.is_lost && self.parse(&block).is_none() => {}
                Err(ArchiveError::Truncated { .. }) if self.is_lost => return Ok(None),
                outcome => return outcome.map(Some),
            }
        }
    }

    /// Name, length and mtime of a header, if the writer of this archive would have written it.
    fn parse(&self, block: &[u8; BLOCK]) -> Option<(String, u64, u64)> {
        let (name, length, mtime) = parse(block)?;
        let mtime = self.mtime.unwrap_or(mtime);
        (header(&name, length, mtime)? == *block).then_some((name, length, mtime))
    }

    /// A second block of zeros, then only zeros: tar pads to a record, and a tape to its block size.
    fn read_end(&mut self) -> Result<(), ArchiveError> {
        if self.block()? != [0; BLOCK] {
            return Err(self.damaged("the end-of-archive marker after it is incomplete"));
        }
        loop {
            let mut rest = Vec::with_capacity(BLOCK);
            (&mut self.from).take(BLOCK as u64).read_to_end(&mut rest).map_err(ArchiveError::Read)?;
            if rest.is_empty() {
                return Ok(());
            }
            if rest.iter().any(|byte| *byte != 0) {
                // Zeros in place of a header look like the end.
                self.found = rest.try_into().ok().filter(|block| self.parse(block).is_some());
                return Err(self.damaged("data follows the end-of-archive marker"));
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
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(self.truncated()),
            Err(error) => Err(ArchiveError::Read(error)),
        }
    }

    /// An archive whose first header is damaged has another one after its first file.
    fn unrecognized(&mut self) -> ArchiveError {
        const SEARCHED: usize = 64 << 20;
        let mut blocks = 0..SEARCHED / BLOCK;
        while self.mtime.is_none() && self.found.is_none() {
            match self.block() {
                Ok(block) if self.parse(&block).is_some() => self.found = Some(block),
                Ok(_) if blocks.next().is_some() => {}
                Ok(_) | Err(ArchiveError::Truncated { .. }) => return ArchiveError::NotAnArchive,
                Err(error) => return error,
            }
        }
        self.damaged("the header after it is invalid")
    }

    fn damaged(&self, what: &str) -> ArchiveError {
        ArchiveError::Damaged { entry: self.last.clone(), what: what.to_owned() }
    }

    fn truncated(&self) -> ArchiveError {
        ArchiveError::Truncated { last: self.last.clone() }
    }
}

/// `None` for a name, length or mtime that does not fit its field.
fn header(name: &str, length: u64, mtime: u64) -> Option<[u8; BLOCK]> {
    const MAX_NAME: usize = 99;
    const FIELD_LIMIT: u64 = 1 << 33;
    if name.is_empty() || name.len() > MAX_NAME || length >= FIELD_LIMIT || mtime >= FIELD_LIMIT {
        return None;
    }
    let mut block = [0; BLOCK];
    put(&mut block, 0, name.as_bytes());
    put(&mut block, 100, b"0000600\0");
    put(&mut block, 108, b"0000000\0");
    put(&mut block, 116, b"0000000\0");
    put(&mut block, 124, format!("{length:011o}\0").as_bytes());
    put(&mut block, 136, format!("{mtime:011o}\0").as_bytes());
    // The header checksum is computed with its own field as spaces.
    put(&mut block, 148, b"        ");
    put(&mut block, 156, b"0");
    put(&mut block, 257, b"ustar\x0000");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    put(&mut block, 148, format!("{sum:06o}\0 ").as_bytes());
    Some(block)
}

/// Name, length and mtime of a header.
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

/// The number of zeros that pad the last block.
fn padding(length: u64) -> usize {
    let over = (length % BLOCK as u64) as usize;
    if over == 0 { 0 } else { BLOCK - over }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive_of(entries: &[(&str, &[u8])]) -> Vec<u8> {
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
        let archive = archive_of(&entries);
        assert_eq!(archive.len(), BLOCK * (2 + 1 + 2 + 2 + 2));
        let expected = entries.map(|(name, bytes)| (name.to_owned(), bytes.to_vec()));
        assert_eq!(read(&archive).unwrap(), expected);
        for at in 0..archive.len() {
            let mut damaged = archive.clone();
            damaged[at] ^= 1;
            if let Ok(entries) = read(&damaged) {
                assert_ne!(entries, expected, "byte {at} was changed without an error");
            }
            let truncated = read(&archive[..at]);
            assert!(
                matches!(truncated, Err(ArchiveError::Truncated { .. })),
                "truncated at {at}: {truncated:?}"
            );
        }
        assert_eq!(
            read(&[&archive[..], &[0; 100]].concat()).unwrap(),
            expected,
            "trailing zeros are allowed"
        );
        assert!(read(&[&archive[..], &[1]].concat()).is_err(), "trailing data is an error");
    }

    #[test]
    fn entries_after_a_damaged_header_are_found() {
        let entries: [(&str, &[u8]); 3] = [("a", b"1"), ("b", &[7; 3 * BLOCK]), ("c", b"3")];
        let mut archive = archive_of(&entries);
        archive[2 * BLOCK] ^= 1;
        let mut reader = Reader::new(&archive[..]);
        assert_eq!(reader.next().unwrap().unwrap().name, "a");
        assert!(matches!(reader.next(), Err(ArchiveError::Damaged { .. })));
        assert_eq!(reader.next().unwrap().unwrap().name, "c");
        assert!(reader.next().unwrap().is_none());
    }

    #[test]
    fn a_file_that_is_not_a_tar_is_not_an_archive() {
        for bytes in [&b"x".repeat(2 * BLOCK), &[0xFF; 2 * BLOCK].to_vec()] {
            let outcome = read(bytes);
            assert!(matches!(outcome, Err(ArchiveError::NotAnArchive)), "{outcome:?}");
        }
    }

    #[test]
    fn a_name_that_does_not_fit_its_field_is_refused() {
        assert!(Writer::new(Vec::new(), 0).entry(&"long".repeat(25), b"").is_err());
    }
}
