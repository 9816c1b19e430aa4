//! Reads an archive, which may come from anywhere: what it needs of memory is bounded, whatever it contains.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::de::{Deserializer, SeqAccess, Visitor};
use zip::ZipArchive;
use zip::result::ZipError;

use super::records::{ACCOUNT_FILE, AccountRecord, FORMAT, POSTS_FILE, PostRecord, VERSION};

/// How much of a zip is read for the list of its files: enough for about 80,000. It takes seven times as much
/// memory.
const MAX_DIRECTORY: u64 = 8 << 20;

/// The longest JSON of a post, with escapes; also of `account.json`.
const MAX_RECORD: u64 = 128 << 10;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ArchiveError {
    #[error("this is not the archive of an account: send the zip that was downloaded from the settings")]
    NotAnArchive,
    #[error("the archive is of a newer version of Pinhole; this instance has to be updated first")]
    Newer,
    #[error("the archive is damaged: {0}; download it again")]
    Damaged(String),
    #[error("{0} is larger than this instance allows")]
    TooLarge(String),
}

fn damaged(cause: impl fmt::Display) -> ArchiveError {
    ArchiveError::Damaged(cause.to_string())
}

/// An open archive. Its methods block. Clones read the same file independently.
#[derive(Clone)]
pub(crate) struct Archive {
    zip: ZipArchive<LimitedFile>,
    pub(crate) account: Arc<AccountRecord>,
}

impl Archive {
    pub(crate) fn open(file: File) -> Result<Self, ArchiveError> {
        let budget = Arc::new(AtomicU64::new(MAX_DIRECTORY));
        let file = LimitedFile { file: Arc::new(file), position: 0, budget: budget.clone() };
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
            VERSION => Ok(Self { zip, account: Arc::new(account) }),
            _ => Err(ArchiveError::Newer),
        }
    }

    /// The content of a file, at most `max` bytes.
    pub(crate) fn read(&mut self, path: &str, max: u64) -> Result<Vec<u8>, ArchiveError> {
        let entry = match self.zip.by_name(path) {
            Err(ZipError::FileNotFound) => return Err(damaged(format_args!("{path} is missing"))),
            entry => entry.map_err(damaged)?,
        };
        let mut bytes = Vec::new();
        entry.take(max + 1).read_to_end(&mut bytes).map_err(damaged)?;
        if bytes.len() as u64 > max { Err(ArchiveError::TooLarge(path.to_owned())) } else { Ok(bytes) }
    }

    /// Calls `visit` with each post in the order of the list, until it returns `false`. The list is not kept
    /// in memory.
    pub(crate) fn for_each_post(
        &mut self,
        visit: impl FnMut(PostRecord) -> bool,
    ) -> Result<(), ArchiveError> {
        let list = BufReader::new(self.zip.by_name(POSTS_FILE).map_err(damaged)?);
        let budget = Arc::new(AtomicU64::new(MAX_RECORD));
        let reader = LimitedReader { inner: list, budget: budget.clone() };
        let mut json = serde_json::Deserializer::from_reader(reader);
        let mut is_stopped = false;
        let visited = json.deserialize_seq(PostVisitor { budget, visit, is_stopped: &mut is_stopped });
        if is_stopped { Ok(()) } else { visited.map_err(damaged) }
    }
}

/// A file of which a limited number of bytes can be read. It has a position of its own.
#[derive(Clone)]
struct LimitedFile {
    file: Arc<File>,
    position: u64,
    budget: Arc<AtomicU64>,
}

impl Read for LimitedFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(bytes, self.position)?;
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

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    const ACCOUNT: &str = r#"{"format": "pinhole-account", "version": 1, "exported_at": "", "posts": 2, "likes": 0,
        "instance": {"name": "", "url": ""}, "profile": {"username": "ada", "created_at": ""}}"#;

    fn zip(files: &[(&str, &str)]) -> File {
        let mut zip = ZipWriter::new(tempfile::tempfile().unwrap());
        for (name, content) in files {
            zip.start_file(*name, SimpleFileOptions::default()).unwrap();
            zip.write_all(content.as_bytes()).unwrap();
        }
        zip.finish().unwrap()
    }

    fn post(message: &str) -> String {
        format!(
            r#"{{"id": "1", "url": "", "created_at": "", "message": "{message}", "unknown": [],
                "photo": {{"file": "photos/1.jpg", "is_original": true}}}}"#
        )
    }

    #[test]
    fn only_archives_of_accounts_are_opened() {
        let open = |files: &[(&str, &str)]| Archive::open(zip(files)).err().map(|error| error.to_string());
        assert_eq!(open(&[(ACCOUNT_FILE, ACCOUNT)]), None);
        assert_eq!(open(&[("readme.txt", "")]), Some(ArchiveError::NotAnArchive.to_string()));
        assert_eq!(open(&[(ACCOUNT_FILE, "{}")]), Some(ArchiveError::NotAnArchive.to_string()));
        let newer = ACCOUNT.replace("\"version\": 1", "\"version\": 2");
        assert_eq!(open(&[(ACCOUNT_FILE, &newer)]), Some(ArchiveError::Newer.to_string()));
        let mut text = tempfile::tempfile().unwrap();
        text.write_all(&[b'x'; 100_000]).unwrap();
        assert!(matches!(Archive::open(text), Err(ArchiveError::NotAnArchive)));
    }

    #[test]
    fn posts_are_read_one_by_one_until_the_visitor_stops() {
        let list = format!("[{}, {}]", post("first"), post("second"));
        let mut archive = Archive::open(zip(&[(ACCOUNT_FILE, ACCOUNT), (POSTS_FILE, &list)])).unwrap();
        let mut photos = archive.clone();
        let mut seen = Vec::new();
        let visit = |post: PostRecord| {
            assert!(photos.read(&post.photo.file, 10).is_err(), "a missing photo");
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
        let mut archive = Archive::open(zip(&files)).unwrap();
        assert!(matches!(archive.for_each_post(|_| true), Err(ArchiveError::Damaged(_))));
        assert_eq!(archive.read("photos/1.jpg", 4).unwrap(), b"four");
        assert!(matches!(archive.read("photos/1.jpg", 3), Err(ArchiveError::TooLarge(_))));

        let names: Vec<String> = (0..200).map(|n| format!("{n}{}", "y".repeat(60_000))).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
        assert!(matches!(Archive::open(zip(&files)), Err(ArchiveError::NotAnArchive)));
    }
}
