//! Uploads that clients send in several requests, through any node. Bytes are stored while they arrive, so
//! that an interrupted request loses only what arrived since the last part.

use std::time::Duration;

use blobs::PhotoFile;
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream};
use model::{PhotoId, Refusal, Timestamp};
use store::{NewUpload, NewUploadOutcome, PartOutcome, ResumableUpload, UploadCap, UploadPart};
use tokio::time::Instant;

use crate::quotas::quota_exceeded;
use crate::rng::random;
use crate::upload::UPLOAD_BUSY;
use crate::{App, Caller, Client, Error, FairPermit, Settings};

/// Unfinished uploads of a user. With the largest upload, they bound the space of all.
const MAX_UPLOADS: usize = 8;

/// An upload without progress for this time makes room for a new one.
const REPLACEABLE_AFTER: Duration = Duration::from_secs(60 * 60);

/// A part is stored when it has this size, or this long after the one before.
const PART_BYTES: usize = 512 * 1024;
const PART_INTERVAL: Duration = Duration::from_secs(5);

/// Parts of an upload beyond those of its full size. Small ones come from slow or interrupted requests.
const EXTRA_PARTS: u64 = 1000;

/// A request that was ended by another may store a part this long after that: files are deleted again then.
const LATE_PART_WINDOW: Duration = Duration::from_secs(10 * 60);

const NO_SUCH_UPLOAD: Error = Error::NotFound("there is no such upload, or it has expired; start a new one");

/// Also if a repetition of the request has created the post meanwhile.
const PART_LOST: Error = Error::NotFound("a part of this upload was lost; start a new one");

pub(crate) const UPLOAD_COMPLETE: Error = Error::Conflict {
    field: None,
    refusal: Refusal::UploadComplete,
    message: "this upload is complete; its post has been created",
};

/// The description of an upload, from the request that starts it.
#[derive(Debug)]
pub struct UploadStart {
    /// Of the whole body.
    pub content_type: String,
    /// The idempotency key of the post.
    pub key: Option<String>,
    /// The length of the whole body, if the client has told it.
    pub length: Option<u64>,
}

/// A request that appends to an upload. It is ended by the next one, and by a request that reads the offset.
#[derive(Debug)]
pub struct AppendRequest {
    app: App,
    caller: Caller,
    append: store::Append,
    max_parts: u64,
    received: u64,
    buffer: BytesMut,
    stored_at: Instant,
    permit: FairPermit,
}

impl App {
    /// Starts an upload, and returns its id.
    pub async fn start_upload(&self, caller: &Caller, start: UploadStart) -> Result<PhotoId, Error> {
        self.check_upload_space()?;
        let UploadStart { content_type, key, length } = start;
        let now = self.0.clock.now();
        let id = PhotoId::new(now, random()?);
        // The key makes the completion idempotent: a repeated one returns the same post.
        let key = key.unwrap_or_else(|| format!("upload-{id}"));
        let expires_at = self.upload_expiry(id);
        let cap = UploadCap {
            max: MAX_UPLOADS,
            replaceable: expires_at.minus(REPLACEABLE_AFTER),
            delete_at: now.plus(LATE_PART_WINDOW),
        };
        let new = NewUpload { id, user: caller.user.id, content_type, key, length, expires_at };
        match self.0.store.create_upload(new, cap).await? {
            NewUploadOutcome::Created => Ok(id),
            NewUploadOutcome::TooMany(oldest) => {
                let message = format!(
                    "you have {MAX_UPLOADS} unfinished uploads; finish one, delete one, or wait until one is old"
                );
                let rule = Error::limit(Refusal::TooManyUploads, MAX_UPLOADS as u64, message);
                Err(Error::Quota { rule, retry_after: Some(oldest.since(cap.replaceable)) })
            }
            NewUploadOutcome::Inactive => Err(Error::Inactive(model::Status::Suspended)),
        }
    }

    /// The state of an upload. Ends the request that appends to it, so that the client can rely on the
    /// offset.
    pub async fn interrupt_upload(&self, caller: &Caller, id: PhotoId) -> Result<ResumableUpload, Error> {
        let upload = self.0.store.interrupt_upload(id, caller.user.id, self.0.clock.now()).await?;
        upload.ok_or(NO_SUCH_UPLOAD)
    }

    /// The state of an upload, beside a request that appends to it.
    pub async fn resumable_upload(&self, caller: &Caller, id: PhotoId) -> Result<ResumableUpload, Error> {
        let upload = self.0.store.resumable_upload(id, caller.user.id, self.0.clock.now()).await?;
        upload.ok_or(NO_SUCH_UPLOAD)
    }

    /// When an upload expires of which a piece has arrived now. The id has the time of its start.
    fn upload_expiry(&self, id: PhotoId) -> Timestamp {
        let idle = self.0.clock.now().plus(Settings::UPLOAD_TTL);
        idle.min(id.created_at().plus(Settings::UPLOAD_AGE))
    }

    /// How long an upload is kept from now, unless more of it arrives.
    pub fn upload_lifetime(&self, upload: &ResumableUpload) -> Duration {
        upload.expires_at.since(self.0.clock.now())
    }

    /// Begins to append after `offset` bytes. `length` is that of the whole body, if it is known by now.
    pub async fn begin_append(
        &self,
        caller: &Caller,
        client: Client,
        id: PhotoId,
        offset: u64,
        length: Option<u64>,
    ) -> Result<AppendRequest, Error> {
        let permit = self.0.uploads.try_acquire(client).ok_or(UPLOAD_BUSY)?;
        let now = self.0.clock.now();
        let Some(append) = self.0.store.begin_append(id, caller.user.id, offset, length, now).await? else {
            return Err(self.offset_mismatch(caller, id).await);
        };
        Ok(AppendRequest {
            app: self.clone(),
            caller: caller.clone(),
            append,
            max_parts: EXTRA_PARTS + self.max_upload() / PART_BYTES as u64,
            received: offset,
            buffer: BytesMut::new(),
            stored_at: Instant::now(),
            permit,
        })
    }

    async fn offset_mismatch(&self, caller: &Caller, id: PhotoId) -> Error {
        match self.resumable_upload(caller, id).await {
            Ok(upload) if upload.is_complete => UPLOAD_COMPLETE,
            Ok(upload) => Error::OffsetMismatch { received: upload.received },
            Err(error) => error,
        }
    }

    /// The whole body of an upload, read part by part.
    pub async fn upload_body(
        &self,
        id: PhotoId,
    ) -> Result<impl Stream<Item = Result<Bytes, Error>> + use<>, Error> {
        let parts = self.0.store.upload_parts(id).await?;
        let app = self.clone();
        Ok(stream::iter(parts).then(move |part| {
            let app = app.clone();
            async move { app.read_part(id, part).await }
        }))
    }

    async fn read_part(&self, id: PhotoId, UploadPart { start, epoch }: UploadPart) -> Result<Bytes, Error> {
        let read = match self.0.blobs.file(id, PhotoFile::Part { start, epoch }).await? {
            Some(part) => part.read().await.map(Some),
            None => Ok(None),
        };
        match read {
            Ok(None) | Err(blobs::Error::Damaged { .. }) => Err(PART_LOST),
            other => Ok(other?.unwrap_or_default()),
        }
    }

    /// Records that the post of an upload was created. The upload stays for a repetition of the request.
    pub async fn complete_upload(&self, id: PhotoId) -> Result<(), Error> {
        let now = self.0.clock.now();
        let expires_at = now.plus(Settings::IDEMPOTENCY_KEY_TTL);
        self.0.store.complete_upload(id, expires_at, now.plus(LATE_PART_WINDOW)).await?;
        self.delete_parts(id).await;
        Ok(())
    }

    pub async fn cancel_upload(&self, caller: &Caller, id: PhotoId) -> Result<(), Error> {
        if self.remove_upload(caller.user.id, id, self.0.clock.now()).await? {
            Ok(())
        } else {
            Err(NO_SUCH_UPLOAD)
        }
    }

    pub(crate) async fn remove_upload(
        &self,
        user: model::UserId,
        id: PhotoId,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let is_removed = self.0.store.remove_upload(id, user, now.plus(LATE_PART_WINDOW)).await?;
        if is_removed {
            self.delete_parts(id).await;
        }
        Ok(is_removed)
    }

    /// At once, to free the space; maintenance does it again after [`LATE_PART_WINDOW`].
    async fn delete_parts(&self, id: PhotoId) {
        if let Err(error) = self.0.blobs.delete(id).await {
            tracing::warn!(upload = %id, %error, "deletion of upload parts failed; maintenance retries");
        }
    }
}

impl AppendRequest {
    pub fn permit(&self) -> &FairPermit {
        &self.permit
    }

    /// The number of bytes that have arrived, stored or not.
    pub fn received(&self) -> u64 {
        self.received + self.buffer.len() as u64
    }

    pub async fn write(&mut self, mut chunk: &[u8]) -> Result<(), Error> {
        self.permit.holder().record_progress(Instant::now());
        while !chunk.is_empty() {
            let (now, later) = chunk.split_at(chunk.len().min(PART_BYTES - self.buffer.len()));
            self.buffer.extend_from_slice(now);
            chunk = later;
            if self.buffer.len() == PART_BYTES || self.stored_at.elapsed() >= PART_INTERVAL {
                self.store().await?;
            }
        }
        Ok(())
    }

    /// Stores what has arrived. It survives a power failure, and every node knows it.
    pub async fn store(&mut self) -> Result<(), Error> {
        let Self { app, append, .. } = self;
        if self.buffer.is_empty() {
            return Ok(());
        }
        app.check_upload_space()?;
        if append.parts >= self.max_parts {
            let message = "this upload has arrived in too many small pieces; start a new one";
            return Err(Error::Conflict { field: None, refusal: Refusal::UploadInPieces, message });
        }
        let max_bytes = app.post_quota(self.caller.role).await?.bytes;
        let (bytes, start) = (self.buffer.split().freeze(), self.received);
        let end = start + bytes.len() as u64;
        app.0.blobs.put_part(append.id, start, append.epoch, bytes).await?;
        let expires_at = app.upload_expiry(append.id);
        let outcome = app.0.store.add_part(*append, (start, end), expires_at, max_bytes).await?;
        // Its file counts to no quota. After an error the part may have been added, so the file stays.
        if outcome != PartOutcome::Added
            && let Err(error) = app.0.blobs.delete_part(append.id, start, append.epoch).await
        {
            tracing::warn!(upload = %append.id, %error, "a rejected part was not deleted; it is with its upload");
        }
        match outcome {
            PartOutcome::Added => {}
            PartOutcome::AppendEnded => return Err(app.offset_mismatch(&self.caller, append.id).await),
            PartOutcome::OverQuota(over) => return Err(quota_exceeded(over, app.0.clock.now())),
        }
        append.parts += 1;
        (self.received, self.stored_at) = (end, Instant::now());
        Ok(())
    }
}
