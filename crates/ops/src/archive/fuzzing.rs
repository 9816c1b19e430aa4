//! The properties of the archive reader, checked by the fuzz target `restore` and by a test on its corpus.

use std::io::{self, Read};
use std::sync::LazyLock;

use blobs::PhotoFile;
use bytes::Bytes;
use model::{PhotoId, Timestamp};
use store::{BlobState, Database, ExportRow, Sink, Store};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use super::checksummed_folder;
use super::tar;
use super::{ArchiveError, Item, Manifest, PhotoChanges, Reader, RowSpool, Writer};
use crate::progress::Progress;
use crate::restore::verify;
use crate::row_rules::RowRules;

/// Panics if an archive breaks a property.
///
/// Mutated bytes rarely have correct checksums. So an input that starts with [`TEXT_FORM`] describes the
/// entries of an archive, which gets its headers and checksums here; any other input is an archive.
pub fn check_restore(input: &[u8]) {
    let archive = match input.strip_prefix(TEXT_FORM) {
        Some(entries) => match assemble(entries) {
            Ok(archive) => archive,
            // A name is too long for a header.
            Err(_) => return,
        },
        None => input.to_vec(),
    };
    let verified = verify(&archive[..], &Silent);
    let contents = Contents::read(&archive);
    assert_eq!(verified.is_ok(), contents.damage.is_empty(), "verify and restore disagree");
    if let Ok(manifest) = &verified {
        assert_eq!(Some(manifest), contents.manifest.as_ref());
    }
    // Pipes and network file systems return fewer bytes than a read asks for.
    let in_pieces = verify(Pieces { rest: &archive }, &Silent);
    assert_eq!(format!("{verified:?}"), format!("{in_pieces:?}"), "the lengths of reads change the outcome");

    contents.check_rules();
    if !contents.rows.is_empty() {
        contents.check_round_trip();
        contents.check_import();
    }
}

const TEXT_FORM: &[u8] = b"entries\n";
/// In a manifest, stands for the checksum of everything before it.
const DIGEST: &[u8] = b"DIGEST";
const MADE_AT: Timestamp = Timestamp::from_micros(1_794_648_600_000_000);

/// An archive of the entries in a text. A line `@ name` starts an entry, and its content follows. A line
/// `! at mask` damages a byte of the archive, `! length` truncates it.
fn assemble(entries: &[u8]) -> io::Result<Vec<u8>> {
    let mut archive = tar::Writer::new(Vec::new(), MADE_AT.micros().unsigned_abs() / 1_000_000);
    let (mut folder, mut files) = (String::new(), Vec::new());
    let mut entry: Option<(String, Vec<u8>)> = None;
    let mut damage = Vec::new();
    for line in entries.split(|byte| *byte == b'\n') {
        if let Some(name) = line.strip_prefix(b"@ ") {
            push(&mut archive, &mut folder, &mut files, entry.take())?;
            entry = Some((String::from_utf8_lossy(name).into_owned(), Vec::new()));
        } else if let Some(numbers) = line.strip_prefix(b"! ") {
            damage.push(String::from_utf8_lossy(numbers));
        } else if let Some((_, content)) = &mut entry {
            content.extend_from_slice(line);
            content.push(b'\n');
        }
    }
    push(&mut archive, &mut folder, &mut files, entry)?;
    if !files.is_empty() {
        checksummed_folder::write(&mut archive, &folder, &files)?;
    }
    let mut archive = archive.finish()?;
    for numbers in damage {
        let numbers: Vec<usize> = numbers.split(' ').filter_map(|number| number.parse().ok()).collect();
        match numbers[..] {
            [length] => archive.truncate(length),
            [at, mask] => {
                if let Some(byte) = archive.get_mut(at) {
                    *byte ^= mask as u8;
                }
            }
            _ => {}
        }
    }
    Ok(archive)
}

/// Adds a file to the current folder, or writes that folder first if the file belongs to another.
fn push(
    archive: &mut tar::Writer<Vec<u8>>,
    folder: &mut String,
    files: &mut Vec<(String, Bytes)>,
    entry: Option<(String, Vec<u8>)>,
) -> io::Result<()> {
    let Some((path, mut content)) = entry else { return Ok(()) };
    let (path, name) = path.rsplit_once('/').unwrap_or(("", &path));
    if path != folder && !files.is_empty() {
        checksummed_folder::write(archive, folder, files)?;
        files.clear();
    }
    path.clone_into(folder);
    // The last line break separates entries; a file of rows has one more or less.
    content.pop();
    if name == "manifest.json"
        && let Some(at) = content.windows(DIGEST.len()).position(|window| window == DIGEST)
    {
        content.splice(at..at + DIGEST.len(), archive.digest().into_bytes());
    }
    files.push((name.to_owned(), content.into()));
    Ok(())
}

/// What a restore takes from an archive, however damaged it is.
#[derive(Default)]
struct Contents {
    photos: Vec<(PhotoId, Vec<(PhotoFile, Bytes)>)>,
    rows: Vec<ExportRow>,
    manifest: Option<Manifest>,
    damage: Vec<ArchiveError>,
}

impl Contents {
    fn read(archive: &[u8]) -> Self {
        let mut contents = Self::default();
        let mut reader = Reader::salvaging(archive).expect("a temporary file");
        // Each call consumes a block, or reports damage of a line in one of both copies.
        for _ in 0..=2 * archive.len() + 20 {
            match reader.next() {
                Ok(Some(Item::Photo(id, files))) => contents.photos.push((id, files)),
                Ok(Some(Item::Rows(rows))) => contents.rows.extend(rows),
                Ok(Some(Item::End(manifest))) => contents.manifest = Some(manifest),
                Ok(None) => return contents,
                Err(damage) if damage.is_damage() => contents.damage.push(damage),
                Err(error) => {
                    contents.damage.push(error);
                    return contents;
                }
            }
        }
        panic!("the archive does not end");
    }

    /// The rows that are left obey the rules without those that were left out.
    fn check_rules(&self) {
        let mut rules = RowRules::default();
        for row in &self.rows {
            if let Err(rule) = rules.check(row, None) {
                panic!("{row} of {} breaks a rule: {rule}", row.table());
            }
        }
    }

    /// An archive written from the photos and rows is intact, and has the same.
    fn check_round_trip(&self) {
        let has_row = |id: &PhotoId| {
            self.rows.iter().any(|row| matches!(row, ExportRow::Photo(photo) if photo.id == *id))
        };
        let mut writer = Writer::new(Vec::new(), MADE_AT);
        for (id, files) in self.photos.iter().filter(|(id, _)| has_row(id)) {
            writer.photo(*id, files.clone()).expect("a writable photo");
        }
        let mut spool = RowSpool::all_tables(&std::env::temp_dir()).expect("a spool");
        for row in &self.rows {
            assert!(spool.take(row.clone()).is_continue());
        }
        let spooled = spool.finish().expect("a spool");
        let (archive, manifest) = writer.finish(&spooled, PhotoChanges::default()).expect("an archive");
        assert_eq!(verify(&archive[..], &Silent).expect("an intact archive"), manifest);
        assert_eq!(Self::read(&archive).rows, self.rows, "a round trip changes the rows");
    }

    /// The database accepts the rows: a rule that only it knows would fail a restore halfway.
    fn check_import(&self) {
        static DATABASE: LazyLock<(Runtime, TempDir, Store)> = LazyLock::new(|| {
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
            let folder = tempfile::tempdir().expect("a folder");
            let database = Database::File(folder.path().join("pinhole.db"));
            let store = runtime.block_on(Store::open(&database, 1)).expect("a database");
            (runtime, folder, store)
        });
        // The error at the end rolls the import back, so that the next one finds an empty database.
        const ROLLED_BACK: &str = "rolled back";
        let rows: Vec<_> = self.rows.iter().cloned().map(Ok).collect();
        let end = Err(store::Error::ImportRejected(ROLLED_BACK.to_owned()));
        let (runtime, _, store) = &*DATABASE;
        let outcome = runtime.block_on(store.import(BlobState::InPlace, rows.into_iter().chain([end])));
        assert!(
            matches!(&outcome, Err(store::Error::ImportRejected(reason)) if reason == ROLLED_BACK),
            "the database rejects rows that obey the rules: {outcome:?}"
        );
    }
}

/// Returns a few bytes at a time: the next byte determines how many.
struct Pieces<'a> {
    rest: &'a [u8],
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = 1 + self.rest.first().map_or(0, |byte| usize::from(*byte));
        let length = length.min(buffer.len()).min(self.rest.len());
        let (piece, rest) = self.rest.split_at(length);
        buffer[..length].copy_from_slice(piece);
        self.rest = rest;
        Ok(length)
    }
}

struct Silent;

impl Progress for Silent {
    fn begin(&self, _: &str, _: u64, _: u64) {}
    fn advance(&self, _: u64, _: u64) {}
    fn note(&self, _: &str) {}
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_fuzz_corpus_breaks_no_property() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/restore");
        let (mut files, mut failed) = (0, Vec::new());
        for entry in fs::read_dir(&corpus).unwrap() {
            let path = entry.unwrap().path();
            let input = fs::read(&path).unwrap();
            let checked = std::panic::catch_unwind(|| check_restore(&input));
            files += 1;
            failed.extend(checked.is_err().then(|| path.display().to_string()));
        }
        assert!(failed.is_empty(), "these inputs break a property:\n{}", failed.join("\n"));
        assert!(files > 5, "the corpus has only {files} files");
    }
}
