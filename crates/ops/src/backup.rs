//! Backup: writes an archive of an instance, while its service may be running.
//!
//! All rows are spooled from one database snapshot and copied to the archive; then the files of their photos
//! are archived, and the rows after them. A photo that is deleted during the backup is skipped together with
//! its
//! post, and so is one without any intact file. Damaged files are rebuilt in the archive.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use blobs::PhotoFile;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use model::{PhotoId, Timestamp};
use tokio::sync::mpsc;

use crate::archive::{Manifest, PhotoChanges, RowSpool, SpooledRows, Writer};
use crate::error::Error;
use crate::examined_photo::ExaminedPhoto;
use crate::instance::Instance;
use crate::photos::PhotoLookup;
use crate::progress::Progress;

/// Photos that are read concurrently, and the capacity of the channel to the archive thread.
const CONCURRENT_PHOTOS: usize = 4;

/// The output of a backup.
#[derive(Debug, Clone)]
pub enum Destination {
    /// Renamed to `path` when it is complete. An existing file is replaced only with `force`.
    File {
        path: PathBuf,
        force: bool,
    },
    Stdout,
}

impl Instance {
    /// Photos without any intact file are left out, unless all are: then the blob store is probably the
    /// wrong one.
    pub async fn back_up(
        &self,
        to: Destination,
        now: Timestamp,
        progress: Arc<dyn Progress>,
    ) -> Result<Manifest, Error> {
        let partial = PartialArchive::create(to)?;
        let spool = RowSpool::all_tables(&partial.spool_folder()).map_err(partial.write_error())?;
        let spool = Arc::new(self.store.export(spool).await?.finish().map_err(Error::Spool)?);
        let (photos, bytes) = spool.totals();
        progress.begin("copying", photos, bytes);

        let archive = ArchiveThread::start(partial, spool.clone(), now)?;
        match self.copy_photos(&spool, &archive, &*progress).await {
            Ok(changes) => archive.finish(changes).await,
            Err(error) => {
                archive.abort().await;
                Err(error)
            }
        }
    }

    /// Returns what the archive has differently from the snapshot.
    async fn copy_photos(
        &self,
        spool: &SpooledRows,
        archive: &ArchiveThread,
        progress: &dyn Progress,
    ) -> Result<PhotoChanges, Error> {
        let mut changes = PhotoChanges::default();
        let lookups = stream::iter(spool.photos()).map(async |photo| {
            let photo = photo.map_err(Error::Spool)?;
            let lookup = self.read_photo(photo.id, (&photo).into()).await?;
            Ok::<_, Error>((photo, lookup))
        });
        let mut lookups = std::pin::pin!(lookups.buffered(CONCURRENT_PHOTOS));
        while let Some(lookup) = lookups.next().await {
            let (photo, lookup) = lookup?;
            let id = photo.id;
            let files = match lookup {
                PhotoLookup::Complete(files) => files.intact,
                PhotoLookup::Deleted => {
                    changes.deleted.insert(id);
                    continue;
                }
                PhotoLookup::Incomplete(files) => {
                    let examined = ExaminedPhoto::examine(photo, files).await?;
                    let Some(rebuilt) = &examined.rebuilt else {
                        changes.missing.insert(id);
                        continue;
                    };
                    changes.damaged.extend(examined.describe().map(|(_, line)| line));
                    changes.corrected.insert(id, examined.corrected_row(rebuilt));
                    rebuilt.files.clone()
                }
            };
            let length = files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
            if !archive.send(id, files).await {
                // The archive thread has failed; `finish` returns its error.
                break;
            }
            progress.advance(1, length);
        }
        let photos = spool.totals().0;
        if photos > 0 && changes.missing.len() as u64 == photos {
            return Err(Error::AllMissing { photos });
        }
        Ok(changes)
    }
}

/// The thread that writes the archive, because its writes block on a disk or a pipe.
struct ArchiveThread {
    photos: mpsc::Sender<(PhotoId, Vec<(PhotoFile, Bytes)>)>,
    end: std::sync::mpsc::Sender<PhotoChanges>,
    thread: JoinHandle<Result<Option<Manifest>, Error>>,
}

impl ArchiveThread {
    fn start(partial: PartialArchive, spool: Arc<SpooledRows>, now: Timestamp) -> Result<Self, Error> {
        let (photos, mut photo_receiver) = mpsc::channel(CONCURRENT_PHOTOS);
        let (end, end_receiver) = std::sync::mpsc::channel();
        let write = move || {
            let outcome = partial.write(&spool, now, &mut photo_receiver, &end_receiver);
            if !matches!(outcome, Ok(Some(_))) {
                partial.discard();
            }
            outcome
        };
        let thread = std::thread::Builder::new().name("archive".into()).spawn(write);
        let thread = thread.map_err(|error| Error::ThreadFailed(error.to_string()))?;
        Ok(Self { photos, end, thread })
    }

    /// `false` when the thread has failed.
    async fn send(&self, id: PhotoId, files: Vec<(PhotoFile, Bytes)>) -> bool {
        self.photos.send((id, files)).await.is_ok()
    }

    async fn finish(self, changes: PhotoChanges) -> Result<Manifest, Error> {
        // If the thread has failed, `join` returns its error.
        drop(self.end.send(changes));
        let manifest = self.join().await?;
        manifest.ok_or_else(|| Error::ThreadFailed("the archive has no manifest".to_owned()))
    }

    /// Drops the channels without an end, so that the thread deletes the partial archive.
    async fn abort(self) {
        // The caller returns the error that caused the abort.
        drop(self.join().await);
    }

    async fn join(self) -> Result<Option<Manifest>, Error> {
        let Self { photos, end, thread } = self;
        drop((photos, end));
        let outcome = tokio::task::spawn_blocking(move || thread.join()).await;
        let outcome = outcome.map_err(|error| Error::ThreadFailed(error.to_string()))?;
        outcome.map_err(|_| Error::ThreadFailed("it panicked".to_owned()))?
    }
}

/// The archive while it is written, in `<path>.partial`. After a crash the next attempt overwrites it.
struct PartialArchive {
    to: Destination,
}

impl PartialArchive {
    fn create(to: Destination) -> Result<Self, Error> {
        match &to {
            Destination::File { path, force: false } if path.exists() => {
                Err(Error::Exists { path: path.clone() })
            }
            _ => Ok(Self { to }),
        }
    }

    /// The folder for the row spool.
    fn spool_folder(&self) -> PathBuf {
        match &self.to {
            Destination::File { path, .. } => parent(path),
            Destination::Stdout => std::env::temp_dir(),
        }
    }

    fn name(&self) -> PathBuf {
        match &self.to {
            Destination::File { path, .. } => {
                let mut name = path.clone().into_os_string();
                name.push(".partial");
                name.into()
            }
            Destination::Stdout => "standard output".into(),
        }
    }

    fn write_error(&self) -> impl Fn(io::Error) -> Error + use<> {
        let path = self.name();
        move |cause| Error::Write { path: path.clone(), cause }
    }

    /// `None` when the backup was aborted: the senders were dropped without an end.
    fn write(
        &self,
        spool: &SpooledRows,
        now: Timestamp,
        photos: &mut mpsc::Receiver<(PhotoId, Vec<(PhotoFile, Bytes)>)>,
        end: &std::sync::mpsc::Receiver<PhotoChanges>,
    ) -> Result<Option<Manifest>, Error> {
        let mut writer = Writer::new(self.open()?, now);
        writer.copy_of_rows(spool).map_err(self.write_error())?;
        while let Some((id, files)) = photos.blocking_recv() {
            writer.photo(id, files).map_err(self.write_error())?;
        }
        let Ok(changes) = end.recv() else { return Ok(None) };
        let (to, manifest) = writer.finish(spool, changes).map_err(self.write_error())?;
        self.publish(to)?;
        Ok(Some(manifest))
    }

    /// The mode is 0600: an archive holds password hashes and sessions.
    fn open(&self) -> Result<Output, Error> {
        match &self.to {
            Destination::File { .. } => {
                use std::os::unix::fs::OpenOptionsExt;
                let mut options = File::options();
                options.write(true).create(true).truncate(true).mode(0o600);
                let file = options.open(self.name()).map_err(self.write_error())?;
                Ok(Output::File(BufWriter::with_capacity(1 << 20, file)))
            }
            Destination::Stdout => Ok(Output::Stdout(BufWriter::with_capacity(1 << 20, io::stdout()))),
        }
    }

    /// Syncs the file, renames it, and syncs its folder, so that the archive survives a crash.
    fn publish(&self, to: Output) -> Result<(), Error> {
        let (Output::File(file), Destination::File { path, force }) = (to, &self.to) else { return Ok(()) };
        let publish = || {
            file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            fs::rename(self.name(), path)?;
            File::open(parent(path))?.sync_all()
        };
        // Another process may have created it since `create`.
        if !force && path.exists() {
            return Err(Error::Exists { path: path.clone() });
        }
        publish().map_err(self.write_error())
    }

    fn discard(&self) {
        if let Destination::File { .. } = self.to
            && let Err(error) = fs::remove_file(self.name())
        {
            tracing::warn!(%error, path = %self.name().display(), "partial archive not removed");
        }
    }
}

enum Output {
    File(BufWriter<File>),
    Stdout(BufWriter<io::Stdout>),
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Stdout(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Stdout(stdout) => stdout.flush(),
        }
    }
}

/// The folder of a file; `.` for a bare file name.
fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => ".".into(),
    }
}
