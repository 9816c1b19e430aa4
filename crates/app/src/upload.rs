//! From a file that arrived to a photo that is kept, whoever shows it: a post or a profile.

use std::time::Duration;

use blobs::{Spooled, Square};
use bytes::Bytes;
use imaging::{Ingested, Removed};
use model::{Alt, Photo, PhotoId, Timestamp, UserId};
use store::{NewPhoto, Original};

use crate::chance::random;
use crate::workers::Memory;
use crate::{App, Caller, Error, Inside};

/// What is said when the collector took an upload for dead: nothing is broken, and sending it again helps.
pub(crate) const CLAIM_LOST: Error = Error::Busy("the blob store");

/// A photo as it arrived.
#[derive(Debug)]
pub struct Upload {
    pub photo: Spooled,
    pub alt: Option<Alt>,
}

/// A photo that was read: what will be known of it, and the files that are to be kept.
pub(crate) struct Prepared {
    pub(crate) photo: NewPhoto,
    pub(crate) files: Files,
    pub(crate) removed: Removed,
    pub(crate) at: Timestamp,
}

/// The bytes of a photo on their way to the blob store, and the memory they are counted in until they are
/// there.
pub(crate) struct Files {
    photo: PhotoId,
    squares: Vec<Square>,
    original: Option<Bytes>,
    memory: Memory,
}

impl App {
    /// Room for one more upload, held while it lasts and taken before its first byte is read.
    pub fn begin_upload(&self, caller: &Caller) -> Result<Inside<UserId>, Error> {
        self.0.uploads.enter(caller.user.id).ok_or(Error::Busy("upload"))
    }

    /// A place for an upload's bytes to arrive in.
    pub async fn spool(&self) -> Result<blobs::Spool, Error> {
        Ok(self.0.blobs.spool().await?)
    }

    pub fn max_upload(&self) -> u64 {
        self.0.settings.max_upload
    }

    /// Reads the picture, makes its squares and gives it a name. Nothing is kept yet.
    pub(crate) async fn prepare(&self, upload: Upload) -> Result<Prepared, Error> {
        let (ingested, mut memory) = self.ingest(upload.photo).await?;
        let at = self.0.clock.now();
        let id = PhotoId::new(at, random()?);
        let Ingested { width, height, placeholder, masters, original, removed } = ingested;
        let original = Some(original).filter(|_| self.0.settings.keep_originals);
        let described = original
            .as_ref()
            .map(|original| Original { format: original.format.name(), orientation: original.orientation });
        let squares: Vec<Square> =
            masters.into_iter().map(|m| Square { side: m.side, bytes: m.bytes.into() }).collect();
        let original = original.map(|original| Bytes::from(original.bytes));
        let lengths = squares.iter().map(|square| &square.bytes).chain(&original);
        let bytes = lengths.map(|file| file.len() as u64).sum();
        memory.shrink_to(bytes);

        let photo = Photo { id, width, height, placeholder: placeholder.into(), alt: upload.alt };
        Ok(Prepared {
            photo: NewPhoto { photo, bytes, original: described },
            files: Files { photo: id, squares, original, memory },
            removed,
            at,
        })
    }

    /// Claim, bytes, row: in this order nothing is lost and nothing is left lying about, wherever a crash
    /// hits. `redeem` is the transaction that turns the claim into a row, begun when the bytes are safe;
    /// `is_kept` tells whether it did. To be called [`detached`](crate::detached): whoever asked may leave
    /// before it is done.
    pub(crate) async fn keep<T>(
        &self,
        files: Files,
        now: Timestamp,
        redeem: impl Future<Output = Result<T, store::Error>>,
        is_kept: impl FnOnce(&T) -> bool,
    ) -> Result<T, Error> {
        let Files { photo, squares, original, memory } = files;
        self.0.store.claim_photo(photo, now).await?;
        let put = self.0.blobs.put(photo, squares, original).await;
        drop(memory);
        if let Err(error) = put {
            self.give_up(photo, self.0.blobs.stragglers()).await;
            return Err(error.into());
        }
        match redeem.await {
            Ok(outcome) => {
                // Whoever took a lost claim may have looked for the bytes before they were there.
                if !is_kept(&outcome) {
                    self.remove_bytes(photo).await;
                }
                Ok(outcome)
            }
            Err(error) => {
                self.give_up(photo, Duration::ZERO).await;
                Err(error.into())
            }
        }
    }

    /// Left alone, the claim would be collected later; there is no need to wait, unless bytes may still turn
    /// up within `stragglers`: then it is for the collector, after that. Without a claim the bytes are
    /// somebody's: a commit may have held although it was reported as failed.
    async fn give_up(&self, photo: PhotoId, stragglers: Duration) {
        let since = self.0.clock.now().plus(stragglers);
        match self.0.store.abandon_photo(photo, since).await {
            Ok(true) if stragglers.is_zero() => self.remove_bytes(photo).await,
            Ok(_) => {}
            Err(error) => tracing::warn!(%photo, %error, "a failed upload is left to the collector"),
        }
    }

    async fn ingest(&self, mut file: Spooled) -> Result<(Ingested, Memory), Error> {
        let parts = &self.0;
        let limits = parts.settings.image_limits();
        let place = parts.ingest.enter()?;
        // The header tells what the decode will cost. The file is read again for it rather than kept:
        // whoever waits for memory must not hold any.
        let (place, (mut file, probe)) = parts
            .ingest
            .run(place, move || {
                let probe = file.read().map(|bytes| (imaging::probe(&bytes, &limits), bytes.len() as u64));
                (file, probe)
            })
            .await
            .map_err(too_slow)?;
        let (probe, length) = probe.map_err(Error::internal)?;
        let needed = probe.map_err(unreadable)?.memory + length;
        let memory = parts.pixel_memory.for_upload(needed).await?;
        let decode = move || {
            let ingested = file.read().map(|bytes| imaging::ingest(&bytes, &limits));
            // Handed on by the work, not held by whoever waits for it: they may leave before it ends.
            (ingested, memory)
        };
        let (_, (ingested, memory)) = parts.ingest.run(place, decode).await.map_err(too_slow)?;
        let ingested = ingested.map_err(Error::internal)?.map_err(unreadable)?;
        Ok((ingested, memory))
    }
}

/// No picture that people take needs so long: it is the file, not us.
fn too_slow(error: Error) -> Error {
    let advice = "the photo takes too long to read: save it anew, as JPEG for instance, and send the copy";
    match error {
        Error::Overdue(_) => Error::invalid("photo", advice),
        other => other,
    }
}

fn unreadable(error: imaging::Error) -> Error {
    match error {
        imaging::Error::Internal(_) => Error::internal(error),
        blamed => Error::invalid("photo", blamed),
    }
}
