//! Posting a photo, reading, editing and deleting posts.

use blobs::{Spooled, Square};
use bytes::Bytes;
use imaging::{Ingested, Removed};
use model::{Message, Photo, PhotoId, Post, PostId, Timestamp, UserId};
use store::{Access, Created, NewPhoto, NewPost, Original, Repeat};

use crate::chance::random;
use crate::workers::Memory;
use crate::{App, Caller, Error, Inside, Settings, detached};

pub(crate) const NO_SUCH_POST: Error = Error::NotFound("there is no such post");
const NOT_YOURS: Error = Error::Forbidden("this post belongs to somebody else");

/// Everything that makes a post, as it arrived.
#[derive(Debug)]
pub struct Upload {
    pub photo: Spooled,
    pub message: Option<Message>,
    /// The client's own name for this upload, so that a retry does not post twice.
    pub key: Option<String>,
}

/// The post an upload made, now or before.
#[derive(Debug)]
pub enum Posted {
    /// With what was taken out of the photo.
    New { post: Post, removed: Removed },
    /// The same upload had come before.
    Before(Post),
}

/// The bytes of a photo on their way to the disk, and the memory they are counted in until they are there.
struct Files {
    squares: Vec<Square>,
    original: Option<Bytes>,
    memory: Memory,
}

impl App {
    pub async fn post(&self, caller: Option<&Caller>, id: PostId) -> Result<Post, Error> {
        self.0.store.post(id, caller.map(|caller| caller.user.id)).await?.ok_or(NO_SUCH_POST)
    }

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

    /// What an earlier upload with this key made: saves a retry the work of sending it all again.
    pub async fn repeated(&self, caller: &Caller, key: &str) -> Result<Option<Post>, Error> {
        let since = self.0.clock.now().minus(Settings::KEY_LIFE);
        let repeat = self.0.store.repeat(caller.user.id, key.to_owned(), since).await?;
        repeat.map(first_made).transpose()
    }

    pub async fn create_post(&self, caller: &Caller, upload: Upload) -> Result<Posted, Error> {
        let Upload { photo, message, key } = upload;
        let (ingested, mut memory) = self.ingest(photo).await?;
        let now = self.0.clock.now();
        let id = PhotoId::new(now, random()?);
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

        let photo = NewPhoto { photo: Photo { id, width, height, placeholder }, bytes, original: described };
        let keys_since = now.minus(Settings::KEY_LIFE);
        let new = NewPost { author: caller.user.id, photo, message, key, keys_since, created_at: now };
        let (app, files) = (self.clone(), Files { squares, original, memory });
        match detached(async move { app.store_post(new, files, now).await }).await? {
            Created::New(post) => Ok(Posted::New { post, removed }),
            Created::Repeated(repeat) => first_made(repeat).map(Posted::Before),
            Created::ClaimLost => Err(Error::Busy("the blob store")),
        }
    }

    /// Fails as an edit by this caller would, before its words have been read.
    pub async fn check_editable(&self, caller: &Caller, id: PostId) -> Result<(), Error> {
        match self.0.store.post_author(id).await? {
            None => Err(NO_SUCH_POST),
            Some(author) if author != caller.user.id => Err(NOT_YOURS),
            Some(_) => Ok(()),
        }
    }

    pub async fn edit_post(
        &self,
        caller: &Caller,
        id: PostId,
        message: Option<Message>,
    ) -> Result<Post, Error> {
        granted(self.0.store.edit_post(id, caller.user.id, message).await?)
    }

    /// Deletes a post with its likes, its photo and every image made of it.
    pub async fn delete_post(&self, caller: &Caller, id: PostId) -> Result<(), Error> {
        let only_by = (!caller.is_admin).then_some(caller.user.id);
        let (app, now) = (self.clone(), self.0.clock.now());
        detached(async move {
            // Row first: bytes without a row are noted and collected, a row without bytes cannot be mended.
            let photo = granted(app.0.store.delete_post(id, only_by, now).await?)?;
            app.remove_bytes(photo).await;
            Ok(())
        })
        .await
    }

    /// Claim, bytes, row: in this order nothing is lost and nothing is left lying about, wherever a crash hits.
    async fn store_post(&self, new: NewPost, files: Files, now: Timestamp) -> Result<Created, Error> {
        let photo = new.photo.photo.id;
        self.0.store.claim_photo(photo, now).await?;
        let Files { squares, original, memory } = files;
        let put = self.0.blobs.put(photo, squares, original).await;
        drop(memory);
        let created = match put {
            Ok(()) => self.0.store.create_post(new).await.map_err(Error::from),
            Err(error) => Err(error.into()),
        };
        match created {
            Ok(Created::New(post)) => Ok(Created::New(post)),
            // Whoever took a lost claim may have looked for the bytes before they were there.
            Ok(unused @ (Created::Repeated(_) | Created::ClaimLost)) => {
                self.remove_bytes(photo).await;
                Ok(unused)
            }
            Err(error) => {
                // Left alone, the claim would be collected later; there is no need to wait. Without a claim
                // the bytes are somebody's: a commit may have held although it was reported as failed.
                match self.0.store.abandon_photo(photo, now).await {
                    Ok(true) => self.remove_bytes(photo).await,
                    Ok(false) => {}
                    Err(error) => tracing::warn!(%photo, %error, "a failed upload is left to the collector"),
                }
                Err(error)
            }
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

fn first_made(repeat: Repeat) -> Result<Post, Error> {
    match repeat {
        Repeat::Here(post) => Ok(post),
        Repeat::Deleted => Err(Error::Conflict {
            field: Some("Idempotency-Key"),
            message: "the post made with this Idempotency-Key has been deleted; use a new key to post again",
        }),
    }
}

fn granted<T>(access: Access<T>) -> Result<T, Error> {
    match access {
        Access::Granted(value) => Ok(value),
        Access::Forbidden => Err(NOT_YOURS),
        Access::Missing => Err(NO_SUCH_POST),
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
