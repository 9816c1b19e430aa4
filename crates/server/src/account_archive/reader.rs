//! Reads an archive, which may come from anywhere: what it needs of memory is bounded, whatever it contains.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::{Refusal, ValidationError};
use serde::de::{Deserializer, SeqAccess, Visitor};
use zip::ZipArchive;
use zip::result::ZipError;

use super::records::{ACCOUNT_FILE, AccountRecord, FORMAT, POSTS_FILE, PostRecord, VERSION};

/// The largest directory of a zip that a user sends, in bytes: enough for about 45,000 files.
pub(crate) const MAX_DIRECTORY: u64 = 4 << 20;

/// How much larger than in the file a directory may be in memory.
const DIRECTORY_GROWTH: u64 = 20;

/// What is read of a photo at a time.
const CHUNK: usize = 64 << 10;

/// The same for an archive that the operator imports.
pub(crate) const MAX_OPERATOR_DIRECTORY: u64 = 64 << 20;

/// The longest JSON of a post, with escapes; also of `account.json`.
const MAX_RECORD: u64 = 128 << 10;

#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum ArchiveError {
    #[error("this is not the archive of an account: send the zip that was downloaded from the settings")]
    NotAnArchive,
    #[error("the archive is of a newer version of Pinhole; this instance has to be updated first")]
    Newer,
    #[error("the archive is damaged: {0}; download it again")]
    Damaged(String),
    #[error("{0} is larger than this instance allows")]
    TooLarge(String),
    #[error("the archive has more files than this instance allows; ask its operator to import it")]
    TooManyFiles,
    #[error("other imports take the memory that this archive needs; send it again later")]
    NoMemory,
}

impl ArchiveError {
    pub(crate) fn rule(&self) -> ValidationError {
        let refusal = match self {
            Self::NotAnArchive => Refusal::NotAnArchive,
            Self::Newer => Refusal::ArchiveNewer,
            Self::Damaged(_) => Refusal::ArchiveDamaged,
            Self::TooLarge(_) | Self::TooManyFiles | Self::NoMemory => Refusal::ArchiveTooLarge,
        };
        ValidationError::refused(refusal, self.to_string())
    }
}

fn damaged(cause: impl fmt::Display) -> ArchiveError {
    ArchiveError::Damaged(cause.to_string())
}

/// An open archive. Its methods block. Clones read the same file independently.
#[derive(Clone)]
pub(crate) struct Archive {
    zip: ZipArchive<LimitedFile>,
    pub(crate) account: Arc<AccountRecord>,
    /// How many bytes of photos may still be read: a photo that many posts name counts for each of them.
    photo_budget: Arc<AtomicU64>,
}

impl Archive {
    /// `reserve` is asked for the memory of its directory, in bytes, before that is read.
    pub(crate) fn open(
        file: Arc<File>,
        max_directory: u64,
        reserve: impl FnOnce(u64) -> bool,
    ) -> Result<Self, ArchiveError> {
        let (length, directory) = check_directory(&file, max_directory)?;
        if !reserve(directory * DIRECTORY_GROWTH) {
            return Err(ArchiveError::NoMemory);
        }
        let budget = Arc::new(AtomicU64::new(2 * max_directory + TAIL));
        let file = LimitedFile { file, position: 0, budget: budget.clone() };
        let mut zip = ZipArchive::new(file).map_err(|_| ArchiveError::NotAnArchive)?;
        // The content of each file is limited where it is read.
        budget.store(u64::MAX, Ordering::Relaxed);
        let mut bytes = Vec::new();
        let account = zip.by_name(ACCOUNT_FILE).map_err(|_| ArchiveError::NotAnArchive)?;
        account.take(MAX_RECORD).read_to_end(&mut bytes).map_err(damaged)?;
        let account: AccountRecord =
            serde_json::from_slice(&bytes).map_err(|_| ArchiveError::NotAnArchive)?;
        match account.version {
            _ if account.format != FORMAT => Err(ArchiveError::NotAnArchive),
            VERSION => {
                // Photos hardly shrink in a zip.
                let photo_budget = Arc::new(AtomicU64::new(2 * length + (1 << 20)));
                Ok(Self { zip, account: Arc::new(account), photo_budget })
            }
            _ => Err(ArchiveError::Newer),
        }
    }

    /// Writes the content of a photo, at most `max` bytes, in chunks.
    pub(crate) fn read_photo<E: From<ArchiveError>>(
        &mut self,
        path: &str,
        max: u64,
        mut write: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut entry = match self.zip.by_name(path) {
            Err(ZipError::FileNotFound) => return Err(damaged(format_args!("{path} is missing")).into()),
            entry => entry.map_err(damaged)?,
        };
        let (mut chunk, mut total) = (vec![0; CHUNK], 0);
        loop {
            let read = entry.read(&mut chunk).map_err(damaged)?;
            if read == 0 {
                return Ok(());
            }
            total += read as u64;
            if total > max {
                return Err(ArchiveError::TooLarge(path.to_owned()).into());
            }
            spend(&self.photo_budget, read)
                .map_err(|_| damaged("its photos are larger than the whole of it"))?;
            write(&chunk[..read])?;
        }
    }

    /// Calls `visit` with each post in the order of the list, until it returns `false`. The list is not kept
    /// in memory.
    pub(crate) fn for_each_post(
        &mut self,
        mut visit: impl FnMut(PostRecord) -> bool,
    ) -> Result<(), ArchiveError> {
        // Each post has a file of its own.
        let mut left = self.account.posts.min(self.zip.len() as u64);
        let mut is_longer = false;
        let visit = |post| match left.checked_sub(1) {
            Some(rest) => {
                left = rest;
                visit(post)
            }
            None => {
                is_longer = true;
                false
            }
        };
        let list = BufReader::new(self.zip.by_name(POSTS_FILE).map_err(damaged)?);
        let budget = Arc::new(AtomicU64::new(MAX_RECORD));
        let reader = LimitedReader { inner: list, budget: budget.clone() };
        let mut json = serde_json::Deserializer::from_reader(reader);
        let mut is_stopped = false;
        let visited = json.deserialize_seq(PostVisitor { budget, visit, is_stopped: &mut is_stopped });
        match is_stopped {
            true if is_longer => Err(damaged("its list of posts is too long")),
            true => Ok(()),
            false => visited.map_err(damaged),
        }
    }
}

/// The end of a zip without a comment: the record of the central directory, and before it the locator and the
/// record of a large one (zip64).
const END: u64 = 22;
const LOCATOR: u64 = 20;
const END_64: u64 = 56;
const TAIL: u64 = END + LOCATOR + END_64;

/// Checks the end of a zip, and returns the length of the file and that of the directory. The reader of the
/// directory allocates memory for as many files as the end declares, and takes other places for it if the
/// last one is invalid.
fn check_directory(file: &File, max_directory: u64) -> Result<(u64, u64), ArchiveError> {
    let length = file.metadata().map_err(damaged)?.len();
    let read =
        |at: u64, bytes: &mut [u8]| file.read_exact_at(bytes, at).map_err(|_| ArchiveError::NotAnArchive);
    let (mut end, mut locator, mut end_64) = ([0; END as usize], [0; LOCATOR as usize], [0; END_64 as usize]);
    let end_at = length.checked_sub(END).ok_or(ArchiveError::NotAnArchive)?;
    read(end_at, &mut end)?;
    let locator_at = end_at.checked_sub(LOCATOR);
    if let Some(at) = locator_at {
        read(at, &mut locator)?;
    }
    let number = |bytes: &[u8], at: usize, width: usize| {
        bytes[at..at + width].iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
    };
    let is_valid = end.starts_with(b"PK\x05\x06") && number(&end, 20, 2) == 0;
    let (files, size, offset, directory_end) = match locator_at {
        Some(locator_at) if locator.starts_with(b"PK\x06\x07") => {
            let at = locator_at.checked_sub(END_64).ok_or(ArchiveError::NotAnArchive)?;
            read(at, &mut end_64)?;
            let is_there = number(&locator, 8, 8) == at;
            if !is_there || !end_64.starts_with(b"PK\x06\x06") || number(&end_64, 4, 8) != END_64 - 12 {
                return Err(ArchiveError::NotAnArchive);
            }
            (number(&end_64, 32, 8), number(&end_64, 40, 8), number(&end_64, 48, 8), at)
        }
        _ => (number(&end, 10, 2), number(&end, 12, 4), number(&end, 16, 4), end_at),
    };
    if !is_valid || offset.checked_add(size) != Some(directory_end) || files > size / FILE_HEADER {
        return Err(ArchiveError::NotAnArchive);
    }
    if size > max_directory { Err(ArchiveError::TooManyFiles) } else { Ok((length, size)) }
}

/// The shortest entry of the directory.
const FILE_HEADER: u64 = 46;

/// A file of which a limited number of bytes can be read. It has a position of its own.
#[derive(Clone)]
struct LimitedFile {
    file: Arc<File>,
    position: u64,
    budget: Arc<AtomicU64>,
}

impl Read for LimitedFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.budget.load(Ordering::Relaxed)).unwrap_or(usize::MAX);
        // Not more than may be read, since the buffer may be larger.
        let allowed = bytes.len().min(left.saturating_add(1));
        let read = self.file.read_at(&mut bytes[..allowed], self.position)?;
        spend(&self.budget, read)?;
        self.position += read as u64;
        Ok(read)
    }
}

impl Seek for LimitedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
            SeekFrom::End(offset) => self.file.metadata()?.len().checked_add_signed(offset),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

/// A reader of which a limited number of bytes can be read between two resets of the budget.
struct LimitedReader<R> {
    inner: R,
    budget: Arc<AtomicU64>,
}

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(bytes)?;
        spend(&self.budget, read)?;
        Ok(read)
    }
}

fn spend(budget: &AtomicU64, bytes: usize) -> io::Result<()> {
    let left = budget.load(Ordering::Relaxed).checked_sub(bytes as u64);
    budget.store(left.ok_or_else(|| io::Error::other("an entry is too long"))?, Ordering::Relaxed);
    Ok(())
}

struct PostVisitor<'a, F> {
    budget: Arc<AtomicU64>,
    visit: F,
    is_stopped: &'a mut bool,
}

impl<'de, F: FnMut(PostRecord) -> bool> Visitor<'de> for PostVisitor<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of posts")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut posts: A) -> Result<(), A::Error> {
        while let Some(post) = posts.next_element()? {
            self.budget.store(MAX_RECORD, Ordering::Relaxed);
            if !(self.visit)(post) {
                *self.is_stopped = true;
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::write::SimpleFileOptions;
    use zip::{CompressionMethod, ZipWriter};

    use super::*;

    const ACCOUNT: &str = r#"{"format": "pinhole-account", "version": 1, "exported_at": "", "posts": 2, "likes": 0,
        "instance": {"name": "", "url": ""}, "profile": {"username": "ada", "created_at": ""}}"#;

    fn zip(files: &[(&str, &str)]) -> File {
        let mut zip = ZipWriter::new(tempfile::tempfile().unwrap());
        for (name, content) in files {
            let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
            zip.start_file(*name, stored).unwrap();
            zip.write_all(content.as_bytes()).unwrap();
        }
        zip.finish().unwrap()
    }

    fn open_archive(file: File, max_directory: u64) -> Result<Archive, ArchiveError> {
        Archive::open(Arc::new(file), max_directory, |_| true)
    }

    fn read_photo(archive: &mut Archive, path: &str, max: u64) -> Result<Vec<u8>, ArchiveError> {
        let mut photo = Vec::new();
        archive.read_photo::<ArchiveError>(path, max, |chunk| {
            photo.extend_from_slice(chunk);
            Ok(())
        })?;
        Ok(photo)
    }

    fn post(message: &str) -> String {
        format!(
            r#"{{"id": "1", "url": "", "created_at": "", "message": "{message}", "unknown": [],
                "photo": {{"file": "photos/1.jpg", "is_original": true}}}}"#
        )
    }

    #[test]
    fn only_archives_of_accounts_are_opened() {
        let open = |files: &[(&str, &str)]| {
            open_archive(zip(files), MAX_DIRECTORY).err().map(|error| error.to_string())
        };
        assert_eq!(open(&[(ACCOUNT_FILE, ACCOUNT)]), None);
        assert_eq!(open(&[("readme.txt", "")]), Some(ArchiveError::NotAnArchive.to_string()));
        assert_eq!(open(&[(ACCOUNT_FILE, "{}")]), Some(ArchiveError::NotAnArchive.to_string()));
        let newer = ACCOUNT.replace("\"version\": 1", "\"version\": 2");
        assert_eq!(open(&[(ACCOUNT_FILE, &newer)]), Some(ArchiveError::Newer.to_string()));
        let mut text = tempfile::tempfile().unwrap();
        text.write_all(&[b'x'; 100_000]).unwrap();
        assert!(matches!(open_archive(text, MAX_DIRECTORY), Err(ArchiveError::NotAnArchive)));
    }

    #[test]
    fn posts_are_read_one_by_one_until_the_visitor_stops() {
        let list = format!("[{}, {}]", post("first"), post("second"));
        let mut archive =
            open_archive(zip(&[(ACCOUNT_FILE, ACCOUNT), (POSTS_FILE, &list)]), MAX_DIRECTORY).unwrap();
        let mut photos = archive.clone();
        let mut seen = Vec::new();
        let visit = |post: PostRecord| {
            assert!(read_photo(&mut photos, &post.photo.file, 10).is_err(), "a missing photo");
            seen.push(post.message.unwrap());
            true
        };
        archive.for_each_post(visit).unwrap();
        assert_eq!(seen, ["first", "second"]);
        let mut visited = 0;
        archive
            .for_each_post(|_| {
                visited += 1;
                false
            })
            .unwrap();
        assert_eq!(visited, 1);
    }

    #[test]
    fn files_lists_and_entries_beyond_their_limits_are_rejected() {
        let long = format!("[{}]", post(&"x".repeat(MAX_RECORD as usize)));
        let files = [(ACCOUNT_FILE, ACCOUNT), (POSTS_FILE, long.as_str()), ("photos/1.jpg", "four")];
        let mut archive = open_archive(zip(&files), MAX_DIRECTORY).unwrap();
        assert!(matches!(archive.for_each_post(|_| true), Err(ArchiveError::Damaged(_))));
        assert_eq!(read_photo(&mut archive, "photos/1.jpg", 4).unwrap(), b"four");
        assert!(matches!(read_photo(&mut archive, "photos/1.jpg", 3), Err(ArchiveError::TooLarge(_))));

        let names: Vec<String> = (0..100).map(|n| format!("{n}{}", "y".repeat(60_000))).collect();
        let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
        assert!(matches!(open_archive(zip(&many), MAX_DIRECTORY), Err(ArchiveError::TooManyFiles)));
        assert!(matches!(open_archive(zip(&many), 2 * MAX_DIRECTORY), Err(ArchiveError::NotAnArchive)));

        // A list that is longer than it says, or than there are files, ends.
        let list = format!("[{}]", vec![post("x"); 9].join(","));
        let nine = ACCOUNT.replace("\"posts\": 2", "\"posts\": 9");
        for account in [ACCOUNT, &nine] {
            let files = [(ACCOUNT_FILE, account), (POSTS_FILE, &list), ("photos/1.jpg", "four")];
            let mut archive = open_archive(zip(&files), MAX_DIRECTORY).unwrap();
            let mut visited = 0;
            let outcome = archive.for_each_post(|_| {
                visited += 1;
                true
            });
            assert!(outcome.is_err() && visited <= 3, "{visited}");
        }
    }

    #[test]
    fn photos_that_many_posts_name_are_read_within_the_size_of_the_archive() {
        let files = [(ACCOUNT_FILE, ACCOUNT), ("photos/1.jpg", &"x".repeat(1 << 20))];
        let mut archive = open_archive(zip(&files), MAX_DIRECTORY).unwrap();
        let reads =
            (0..100).take_while(|_| read_photo(&mut archive, "photos/1.jpg", 1 << 20).is_ok()).count();
        assert_eq!(reads, 3);
    }

    #[test]
    fn a_forged_end_of_the_directory_is_rejected_before_memory_is_allocated() {
        let mut valid = Vec::new();
        let mut file = zip(&[(ACCOUNT_FILE, ACCOUNT)]);
        file.rewind().unwrap();
        file.read_to_end(&mut valid).unwrap();
        let open = |bytes: &[u8]| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(bytes).unwrap();
            open_archive(file, MAX_DIRECTORY)
        };
        assert!(open(&valid).is_ok());
        let mut needed = 0;
        let mut reserve = |bytes| {
            needed = bytes;
            false
        };
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&valid).unwrap();
        let refused = Archive::open(Arc::new(file), MAX_DIRECTORY, &mut reserve);
        assert!(matches!(refused, Err(ArchiveError::NoMemory)) && needed >= DIRECTORY_GROWTH * FILE_HEADER);
        let (before, end) = valid.split_at(valid.len() - END as usize);
        // More files than the directory can have, a directory elsewhere, a comment.
        for (at, value) in [(10, 0xFF), (16, 0x00), (20, 0x01)] {
            let mut forged = end.to_vec();
            forged[at] = value;
            assert!(open(&[before, &forged].concat()).is_err(), "byte {at}");
        }
        // A large record that reaches over the whole file.
        let mut end_64 = [b"PK\x06\x06".as_slice(), &(1_u64 << 31).to_le_bytes(), &[0; 44]].concat();
        end_64[32] = 0xFF;
        let at = before.len() as u64;
        let locator = [b"PK\x06\x07".as_slice(), &[0; 4], &at.to_le_bytes(), &[1, 0, 0, 0]].concat();
        assert!(open(&[before, &end_64, &locator, end].concat()).is_err());
    }
}
