//! Writes an archive of an instance, beside a service that may be running.
//!
//! All rows are spooled from one snapshot first; then the files of their photos are archived, and the rows
//! after them. A photo that is deleted meanwhile is skipped together with its post.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use blobs::Part;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use model::{PhotoId, Timestamp};
use tokio::sync::mpsc;

use crate::archive::{Manifest, RowSpool, Skipped, SpooledRows, Writer};
use crate::error::Error;
use crate::instance::Instance;
use crate::photos::PhotoFiles;
use crate::progress::Progress;

/// Photos that are read concurrently, and the capacity of the queue to the archive thread.
const AT_ONCE: usize = 4;

/// Where an archive goes.
#[derive(Debug, Clone)]
pub enum Destination {
    /// Renamed to `path` when it is complete. An existing file is only replaced with `force`.
    File {
        path: PathBuf,
        force: bool,
    },
    Stdout,
}

impl Instance {
    /// `skip_missing` skips photos whose files are missing, which are an error otherwise.
    pub async fn back_up(
        &self,
        to: Destination,
        skip_missing: bool,
        now: Timestamp,
        progress: Arc<dyn Progress>,
    ) -> Result<Manifest, Error> {
        let partial = Partial::create(to)?;
        let spool = RowSpool::all_tables(&partial.folder()).map_err(partial.failed())?;
        let spool = self.store.export(spool).await?.finish().map_err(Error::Spool)?;
        let (photos, bytes) = spool.totals();
        progress.begin("copying", photos, bytes);

        let archive = ArchiveThread::start(partial, now)?;
        match self.copy_photos(&spool, &archive, skip_missing, &*progress).await {
            Ok(skipped) => archive.finish(spool, skipped).await,
            Err(error) => {
                archive.abort().await;
                Err(error)
            }
        }
    }

    /// Returns the photos that were skipped.
    async fn copy_photos(
        &self,
        spool: &SpooledRows,
        archive: &ArchiveThread,
        skip_missing: bool,
        progress: &dyn Progress,
    ) -> Result<Skipped, Error> {
        let mut skipped = Skipped::default();
        let mut missing = Vec::new();
        let found = stream::iter(spool.photos().map_err(Error::Spool)?).map(async |photo| {
            let photo = photo.map_err(Error::Spool)?;
            Ok::<_, Error>((photo.id, self.read_photo(photo.id, (&photo).into()).await?))
        });
        let mut found = std::pin::pin!(found.buffered(AT_ONCE));
        while let Some(outcome) = found.next().await {
            match outcome? {
                (id, PhotoFiles::Complete(files)) => {
                    let length = files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
                    if !archive.send(id, files).await {
                        // The thread has failed; `finish` returns its error.
                        break;
                    }
                    progress.advance(1, length);
                }
                (id, PhotoFiles::Deleted) => {
                    skipped.deleted.insert(id);
                }
                (id, PhotoFiles::Missing) => missing.push(id),
            }
        }
        // If every photo is missing, the blob store is probably the wrong one.
        let photos = spool.totals().0;
        if !missing.is_empty() && (!skip_missing || missing.len() as u64 == photos) {
            return Err(Error::missing(missing, photos, true));
        }
        skipped.missing.extend(missing);
        Ok(skipped)
    }
}

/// The thread that writes the archive: its writes block on a disk or a pipe.
struct ArchiveThread {
    photos: mpsc::Sender<(PhotoId, Vec<(Part, Bytes)>)>,
    end: std::sync::mpsc::Sender<(SpooledRows, Skipped)>,
    thread: JoinHandle<Result<Option<Manifest>, Error>>,
}

impl ArchiveThread {
    fn start(partial: Partial, now: Timestamp) -> Result<Self, Error> {
        let (photos, mut arriving) = mpsc::channel(AT_ONCE);
        let (end, ending) = std::sync::mpsc::channel();
        let write = move || {
            let written = partial.write(now, &mut arriving, &ending);
            if !matches!(written, Ok(Some(_))) {
                partial.discard();
            }
            written
        };
        let thread = std::thread::Builder::new().name("archive".into()).spawn(write);
        let thread = thread.map_err(|error| Error::Stopped(error.to_string()))?;
        Ok(Self { photos, end, thread })
    }

    /// `false` when the thread has ended.
    async fn send(&self, id: PhotoId, files: Vec<(Part, Bytes)>) -> bool {
        self.photos.send((id, files)).await.is_ok()
    }

    async fn finish(self, spool: SpooledRows, skipped: Skipped) -> Result<Manifest, Error> {
        // If the thread has ended already, `wait` returns its error.
        drop(self.end.send((spool, skipped)));
        let written = self.wait().await?;
        written.ok_or_else(|| Error::Stopped("the archive has no end".to_owned()))
    }

    /// Has the thread delete what it has written.
    async fn abort(self) {
        // The caller returns the error that led here.
        drop(self.wait().await);
    }

    async fn wait(self) -> Result<Option<Manifest>, Error> {
        let Self { photos, end, thread } = self;
        drop((photos, end));
        let ended = tokio::task::spawn_blocking(move || thread.join()).await;
        let ended = ended.map_err(|error| Error::Stopped(error.to_string()))?;
        ended.map_err(|_| Error::Stopped("it panicked".to_owned()))?
    }
}

/// An incomplete archive, in a file that ends with `.partial`. After a crash the next attempt overwrites it.
struct Partial {
    to: Destination,
}

impl Partial {
    fn create(to: Destination) -> Result<Self, Error> {
        match &to {
            Destination::File { path, force: false } if path.exists() => {
                Err(Error::Exists { path: path.clone() })
            }
            _ => Ok(Self { to }),
        }
    }

    /// The folder for temporary files.
    fn folder(&self) -> PathBuf {
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
            Destination::Stdout => "the output".into(),
        }
    }

    fn failed(&self) -> impl Fn(io::Error) -> Error + use<> {
        let path = self.name();
        move |cause| Error::Write { path: path.clone(), cause }
    }

    /// `None` when the sender was dropped before the end: the backup was aborted.
    fn write(
        &self,
        now: Timestamp,
        photos: &mut mpsc::Receiver<(PhotoId, Vec<(Part, Bytes)>)>,
        end: &std::sync::mpsc::Receiver<(SpooledRows, Skipped)>,
    ) -> Result<Option<Manifest>, Error> {
        let mut writer = Writer::new(self.open()?, now);
        while let Some((id, files)) = photos.blocking_recv() {
            writer.photo(id, files).map_err(self.failed())?;
        }
        let Ok((spool, skipped)) = end.recv() else { return Ok(None) };
        let (to, manifest) = writer.finish(&spool, &skipped).map_err(self.failed())?;
        self.publish(to)?;
        Ok(Some(manifest))
    }

    /// Readable by its owner only: it holds password hashes and sessions.
    fn open(&self) -> Result<Output, Error> {
        match &self.to {
            Destination::File { .. } => {
                use std::os::unix::fs::OpenOptionsExt;
                let mut options = File::options();
                options.write(true).create(true).truncate(true).mode(0o600);
                let file = options.open(self.name()).map_err(self.failed())?;
                Ok(Output::File(BufWriter::with_capacity(1 << 20, file)))
            }
            Destination::Stdout => Ok(Output::Stdout(BufWriter::with_capacity(1 << 20, io::stdout()))),
        }
    }

    /// Syncs the file, then renames it.
    fn publish(&self, to: Output) -> Result<(), Error> {
        let (Output::File(file), Destination::File { path, force }) = (to, &self.to) else { return Ok(()) };
        let publish = || {
            file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            fs::rename(self.name(), path)?;
            File::open(parent(path))?.sync_all()
        };
        // Another process may have created it meanwhile.
        if !force && path.exists() {
            return Err(Error::Exists { path: path.clone() });
        }
        publish().map_err(self.failed())
    }

    fn discard(&self) {
        if let Destination::File { .. } = self.to
            && let Err(error) = fs::remove_file(self.name())
        {
            tracing::warn!(%error, path = %self.name().display(), "cannot remove the incomplete archive");
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

/// The folder of a file that may not exist yet.
fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => ".".into(),
    }
}
