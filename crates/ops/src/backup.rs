//! Writes an archive of an instance, beside a service that may be running.
//!
//! Facts first, all as they are at one moment, into a ledger; then the bytes of the photos among them go into the
//! archive, and the facts behind those. A photo that is deleted meanwhile is left out, with its post: what is deleted
//! is gone.

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

use crate::archive::{Ledger, LeftOut, Manifest, Writer, Written};
use crate::error::MoveError;
use crate::instance::Instance;
use crate::photos::Found;
use crate::progress::Progress;

/// Photos that are read at the same time, and those that may wait to be written.
const AT_ONCE: usize = 4;

/// Where an archive goes.
#[derive(Debug, Clone)]
pub enum Destination {
    /// It appears there when it is complete. An earlier one is only replaced if `force` says so.
    File { path: PathBuf, force: bool },
    /// Whatever reads from us.
    Output,
}

impl Instance {
    /// `skip_missing` leaves out photos without bytes, which otherwise end it.
    pub async fn back_up(
        &self,
        to: Destination,
        skip_missing: bool,
        now: Timestamp,
        progress: Arc<dyn Progress>,
    ) -> Result<Manifest, MoveError> {
        let partial = Partial::create(to)?;
        let ledger = Ledger::everything(&partial.folder()).map_err(partial.failed())?;
        let ledger = self.store.export(ledger).await?.finish().map_err(MoveError::Ledger)?;
        let (photos, bytes) = ledger.totals();
        progress.begin("copying", photos, bytes);

        let archive = Scribe::start(partial, now)?;
        match self.copy_photos(&ledger, &archive, skip_missing, &*progress).await {
            Ok(left_out) => archive.finish(ledger, left_out).await,
            Err(error) => {
                archive.give_up().await;
                Err(error)
            }
        }
    }

    /// Tells which photos did not make it.
    async fn copy_photos(
        &self,
        ledger: &Written,
        archive: &Scribe,
        skip_missing: bool,
        progress: &dyn Progress,
    ) -> Result<LeftOut, MoveError> {
        let mut left_out = LeftOut::default();
        let mut missing = Vec::new();
        let found = stream::iter(ledger.photos().map_err(MoveError::Ledger)?).map(async |photo| {
            let photo = photo.map_err(MoveError::Ledger)?;
            Ok::<_, MoveError>((photo.id, self.bytes_of(photo.id, (&photo).into()).await?))
        });
        let mut found = std::pin::pin!(found.buffered(AT_ONCE));
        while let Some(outcome) = found.next().await {
            match outcome? {
                (id, Found::Whole(files)) => {
                    let length = files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
                    if !archive.take(id, files).await {
                        // It stopped for a reason that it tells at the end.
                        break;
                    }
                    progress.advance(1, length);
                }
                (id, Found::Deleted) => {
                    left_out.deleted.insert(id);
                }
                (id, Found::Missing) => missing.push(id),
            }
        }
        // A backup of no photo at all is not what anybody wants.
        let photos = ledger.totals().0;
        if !missing.is_empty() && (!skip_missing || missing.len() as u64 == photos) {
            return Err(MoveError::missing(missing, photos, true));
        }
        left_out.missing.extend(missing);
        Ok(left_out)
    }
}

/// The thread that writes: what it does is all waiting for a disk or a pipe.
struct Scribe {
    photos: mpsc::Sender<(PhotoId, Vec<(Part, Bytes)>)>,
    end: std::sync::mpsc::Sender<(Written, LeftOut)>,
    thread: JoinHandle<Result<Option<Manifest>, MoveError>>,
}

impl Scribe {
    fn start(partial: Partial, now: Timestamp) -> Result<Self, MoveError> {
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
        let thread = thread.map_err(|error| MoveError::Stopped(error.to_string()))?;
        Ok(Self { photos, end, thread })
    }

    /// `false` when it takes no more.
    async fn take(&self, id: PhotoId, files: Vec<(Part, Bytes)>) -> bool {
        self.photos.send((id, files)).await.is_ok()
    }

    async fn finish(self, ledger: Written, left_out: LeftOut) -> Result<Manifest, MoveError> {
        // If it has stopped already, it says why.
        drop(self.end.send((ledger, left_out)));
        let written = self.wait().await?;
        written.ok_or_else(|| MoveError::Stopped("the archive has no end".to_owned()))
    }

    /// Lets it clear away what it has written.
    async fn give_up(self) {
        // Whoever gives up knows a better reason than what comes of it.
        drop(self.wait().await);
    }

    async fn wait(self) -> Result<Option<Manifest>, MoveError> {
        let Self { photos, end, thread } = self;
        drop((photos, end));
        let ended = tokio::task::spawn_blocking(move || thread.join()).await;
        let ended = ended.map_err(|error| MoveError::Stopped(error.to_string()))?;
        ended.map_err(|_| MoveError::Stopped("it panicked".to_owned()))?
    }
}

/// An archive that is not complete yet, under a name that says so. A crash leaves it behind; the next attempt
/// overwrites it.
struct Partial {
    to: Destination,
}

impl Partial {
    fn create(to: Destination) -> Result<Self, MoveError> {
        match &to {
            Destination::File { path, force: false } if path.exists() => {
                Err(MoveError::Exists { path: path.clone() })
            }
            _ => Ok(Self { to }),
        }
    }

    /// Where there should be room.
    fn folder(&self) -> PathBuf {
        match &self.to {
            Destination::File { path, .. } => parent(path),
            Destination::Output => std::env::temp_dir(),
        }
    }

    fn name(&self) -> PathBuf {
        match &self.to {
            Destination::File { path, .. } => {
                let mut name = path.clone().into_os_string();
                name.push(".partial");
                name.into()
            }
            Destination::Output => "the output".into(),
        }
    }

    fn failed(&self) -> impl Fn(io::Error) -> MoveError + use<> {
        let path = self.name();
        move |cause| MoveError::Write { path: path.clone(), cause }
    }

    /// All of it, if somebody asks for its end.
    fn write(
        &self,
        now: Timestamp,
        photos: &mut mpsc::Receiver<(PhotoId, Vec<(Part, Bytes)>)>,
        end: &std::sync::mpsc::Receiver<(Written, LeftOut)>,
    ) -> Result<Option<Manifest>, MoveError> {
        let mut writer = Writer::new(self.open()?, now);
        while let Some((id, files)) = photos.blocking_recv() {
            writer.photo(id, files).map_err(self.failed())?;
        }
        let Ok((ledger, left_out)) = end.recv() else { return Ok(None) };
        let (to, manifest) = writer.finish(&ledger, &left_out).map_err(self.failed())?;
        self.publish(to)?;
        Ok(Some(manifest))
    }

    /// For this user's eyes only: it holds password hashes and other people's sessions.
    fn open(&self) -> Result<Output, MoveError> {
        match &self.to {
            Destination::File { .. } => {
                use std::os::unix::fs::OpenOptionsExt;
                let mut options = File::options();
                options.write(true).create(true).truncate(true).mode(0o600);
                let file = options.open(self.name()).map_err(self.failed())?;
                Ok(Output::File(BufWriter::with_capacity(1 << 20, file)))
            }
            Destination::Output => Ok(Output::Pipe(BufWriter::with_capacity(1 << 20, io::stdout()))),
        }
    }

    /// Gives it its name, once it is on the disk.
    fn publish(&self, to: Output) -> Result<(), MoveError> {
        let (Output::File(file), Destination::File { path, force }) = (to, &self.to) else { return Ok(()) };
        let publish = || {
            file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            fs::rename(self.name(), path)?;
            File::open(parent(path))?.sync_all()
        };
        // Somebody else may have written it meanwhile.
        if !force && path.exists() {
            return Err(MoveError::Exists { path: path.clone() });
        }
        publish().map_err(self.failed())
    }

    fn discard(&self) {
        if let Destination::File { .. } = self.to
            && let Err(error) = fs::remove_file(self.name())
        {
            tracing::warn!(%error, path = %self.name().display(), "an unfinished archive is left behind");
        }
    }
}

enum Output {
    File(BufWriter<File>),
    Pipe(BufWriter<io::Stdout>),
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Pipe(pipe) => pipe.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Pipe(pipe) => pipe.flush(),
        }
    }
}

/// The folder that a file is in, or will be.
fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => ".".into(),
    }
}
