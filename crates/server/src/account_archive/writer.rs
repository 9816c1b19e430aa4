//! Writes an archive as a stream: photo by photo from the blob store, each in chunks, rows in pages. No file
//! is made on the way, so every node can answer, and the memory is that of a few chunks.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use app::{App, Caller, ExportedLike, ExportedPost, FairPermit, Holder, InputFormat, PhotoStream};
use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use model::{Alt, Focus, Photo, PhotoId, PostId, Timestamp};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::time::Instant;
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::records::{
    ACCOUNT_FILE, AccountRecord, FORMAT, INDEX_FILE, InstanceRecord, LIKES_FILE, LikeRecord, POSTS_FILE,
    PhotoRecord, PostRecord, ProfileRecord, VERSION,
};

/// The page of an archive, in the language of the user.
pub(crate) trait OfflinePage: Send + Sync + 'static {
    fn head(&self, account: &AccountRecord) -> String;
    fn post(&self, account: &AccountRecord, post: &PostRecord) -> String;
    /// Between the posts and the likes.
    fn middle(&self, account: &AccountRecord) -> String;
    fn like(&self, like: &LikeRecord) -> String;
    fn tail(&self) -> String;
}

/// What an archive is made of.
pub(crate) struct ArchiveSource<P> {
    pub(crate) app: App,
    /// Whose account it is. The export ends with their session.
    pub(crate) caller: Caller,
    pub(crate) instance: InstanceRecord,
    pub(crate) exported_at: Timestamp,
    pub(crate) page: P,
}

/// The archive as a response body. A client that sees it end early knows that it is incomplete.
pub(crate) fn stream<P: OfflinePage>(source: ArchiveSource<P>, permit: FairPermit) -> Body {
    let (sender, receiver) = mpsc::channel::<Chunk>(1);
    tokio::spawn(async move {
        let user = source.caller.user.id.0;
        let client = ExportClient { sender: sender.clone(), holder: permit.holder().clone() };
        let written = tokio::select! {
            written = ArchiveWriter::new(source, client).write() => written,
            () = permit.holder().revoked() => Err(WriteError::Revoked),
        };
        match written {
            Ok(()) => {
                tracing::info!(user, "account exported");
                drop(sender.send(Chunk::End).await);
            }
            Err(
                error @ (WriteError::Disconnected
                | WriteError::Revoked
                | WriteError::App(app::Error::SessionEnded)),
            ) => {
                tracing::info!(user, %error, "account export interrupted");
            }
            Err(error) => tracing::error!(user, %error, "account export failed"),
        }
    });
    let next = async |receiver: Option<mpsc::Receiver<Chunk>>| {
        let mut receiver = receiver?;
        match receiver.recv().await {
            Some(Chunk::Bytes(bytes)) => Some((Ok(bytes), Some(receiver))),
            Some(Chunk::End) => None,
            // The writer has failed. An error of the body closes the connection before the end of the
            // response.
            None => Some((Err(io::Error::other("the export failed")), None)),
        }
    };
    Body::from_stream(stream::unfold(Some(receiver), next))
}

/// The bytes that are sent at a time.
const PIECE: usize = 64 * 1024;

enum Chunk {
    Bytes(Bytes),
    /// The archive is complete.
    End,
}

#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error("the client has disconnected")]
    Disconnected,
    #[error("its slot was given to a client with fewer exports")]
    Revoked,
    #[error(transparent)]
    App(#[from] app::Error),
    #[error(transparent)]
    Zip(#[from] zip::result::ZipError),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// What the zip writer has written and the client has not been sent.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The client that reads an archive.
struct ExportClient {
    sender: mpsc::Sender<Chunk>,
    /// Of the permit.
    holder: Arc<Holder>,
}

impl ExportClient {
    /// Sends what was written, in pieces: each that the client takes counts as progress.
    async fn send(&self, buffer: &Buffer) -> Result<(), WriteError> {
        let mut rest = Bytes::from(std::mem::take(&mut *buffer.0.lock()));
        while !rest.is_empty() {
            let piece = rest.split_to(rest.len().min(PIECE));
            self.sender.send(Chunk::Bytes(piece)).await.map_err(|_| WriteError::Disconnected)?;
            self.holder.record_progress(Instant::now());
        }
        Ok(())
    }
}

struct ArchiveWriter<P> {
    source: ArchiveSource<P>,
    zip: ZipWriter<StreamWriter<Buffer>>,
    buffer: Buffer,
    client: ExportClient,
    /// The photos in the archive, by their post.
    photos: BTreeMap<PostId, WrittenPhoto>,
}

/// The files of a photo in the archive.
#[derive(Clone, Copy)]
struct WrittenPhoto {
    format: InputFormat,
    is_original: bool,
    /// The format of its preview, if it has one.
    preview: Option<InputFormat>,
}

impl WrittenPhoto {
    fn record(self, name: &str, photo: &Photo) -> PhotoRecord {
        let focus = Some(photo.focus).filter(|focus| *focus != Focus::CENTRE);
        PhotoRecord {
            file: file_name(name, self.format),
            preview: self.preview.map(|format| preview_name(name, format)),
            is_original: self.is_original,
            alt: photo.alt.as_ref().map(Alt::to_string),
            // A square that stands in for the original is cut already.
            focus: focus.filter(|_| self.is_original).map(|focus| focus.to_string()),
        }
    }
}

/// Sorted by time in a file manager.
fn photo_name(post: PostId, created_at: Timestamp) -> String {
    format!("photos/{}-{post}", &created_at.to_string()[..10])
}

fn file_name(name: &str, format: InputFormat) -> String {
    format!("{name}.{}", format.extension())
}

fn preview_name(name: &str, format: InputFormat) -> String {
    format!("{name}-preview.{}", format.extension())
}

impl<P: OfflinePage> ArchiveWriter<P> {
    fn new(source: ArchiveSource<P>, client: ExportClient) -> Self {
        let buffer = Buffer::default();
        let zip = ZipWriter::new_stream(buffer.clone());
        Self { source, zip, buffer, client, photos: BTreeMap::new() }
    }

    /// Photos first: the JSON files then name those that are in the archive. A post that is deleted meanwhile
    /// is not among them.
    async fn write(mut self) -> Result<(), WriteError> {
        self.write_photos().await?;
        let profile = self.write_profile().await?;
        let likes = self.write_likes().await?;
        let posts = self.write_posts().await?;
        let account = AccountRecord {
            format: FORMAT.into(),
            version: VERSION,
            exported_at: self.source.exported_at.to_string(),
            instance: InstanceRecord {
                name: self.source.instance.name.clone(),
                url: self.source.instance.url.clone(),
            },
            profile,
            posts,
            likes,
        };
        self.write_index(&account).await?;
        self.start(ACCOUNT_FILE)?;
        serde_json::to_writer_pretty(&mut self.zip, &account)?;
        self.zip.finish()?;
        self.client.send(&self.buffer).await
    }

    /// A client may read for hours.
    async fn check_session(&self) -> Result<(), WriteError> {
        let ArchiveSource { app, caller, .. } = &self.source;
        match app.reauthenticate(caller).await? {
            Some(_) => Ok(()),
            None => Err(app::Error::SessionEnded.into()),
        }
    }

    async fn write_photos(&mut self) -> Result<(), WriteError> {
        let mut after = PostId(0);
        loop {
            let page = self.source.app.exported_posts(self.source.caller.user.id, after).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.post.id;
            for ExportedPost { post, .. } in &page {
                self.check_session().await?;
                let name = photo_name(post.id, post.created_at);
                if let Some(photo) = self.write_photo(post.photo.id, &name, post.created_at).await? {
                    self.photos.insert(post.id, photo);
                }
            }
        }
    }

    /// Writes the profile photo, and returns the rest of the profile.
    async fn write_profile(&mut self) -> Result<ProfileRecord, WriteError> {
        let user = self.source.caller.user.clone();
        let photo = match &user.photo {
            Some(photo) => {
                let written = self.write_photo(photo.id, "profile", self.source.exported_at).await?;
                written.map(|written| written.record("profile", photo))
            }
            None => None,
        };
        let profile = user.profile.as_deref().cloned().unwrap_or_default();
        Ok(ProfileRecord {
            username: user.username.to_string(),
            display_name: profile.display_name.map(|text| text.to_string()),
            bio: profile.bio.map(|text| text.to_string()),
            link: profile.link.map(|text| text.to_string()),
            created_at: user.created_at.to_string(),
            photo,
        })
    }

    /// Writes the file of a photo, dated `at`; `None` if there is none any more.
    async fn write_photo(
        &mut self,
        id: PhotoId,
        name: &str,
        at: Timestamp,
    ) -> Result<Option<WrittenPhoto>, WriteError> {
        let app = self.source.app.clone();
        let Some(photo) = app.exported_photo(id).await? else { return Ok(None) };
        let (format, is_original) = (photo.file.format, photo.is_original);
        self.add_photo(&file_name(name, format), at, photo.file).await?;
        let mut preview = None;
        // Most browsers do not decode HEIC.
        if format == InputFormat::Heic
            && let Some(square) = app.exported_preview(id).await?
        {
            preview = Some(square.file.format);
            self.add_photo(&preview_name(name, square.file.format), at, square.file).await?;
        }
        Ok(Some(WrittenPhoto { format, is_original, preview }))
    }

    /// Photos are compressed already, so they are stored.
    async fn add_photo(
        &mut self,
        path: &str,
        at: Timestamp,
        mut photo: PhotoStream,
    ) -> Result<(), WriteError> {
        let options = options(at).compression_method(CompressionMethod::Stored);
        self.zip.start_file(path, options)?;
        while let Some(bytes) = photo.next().await? {
            self.zip.write_all(&bytes)?;
            self.client.send(&self.buffer).await?;
        }
        Ok(())
    }

    async fn write_likes(&mut self) -> Result<u64, WriteError> {
        self.start(LIKES_FILE)?;
        let (mut count, mut after) = (0, PostId(0));
        loop {
            let page = self.source.app.exported_likes(self.source.caller.user.id, after).await?;
            let Some(last) = page.last() else { break };
            after = last.post;
            for like in page {
                let record = self.like_record(like);
                self.push(count, &record)?;
                count += 1;
            }
            self.client.send(&self.buffer).await?;
        }
        self.end_list(count)?;
        Ok(count)
    }

    async fn write_posts(&mut self) -> Result<u64, WriteError> {
        self.start(POSTS_FILE)?;
        let (mut count, mut after) = (0, PostId(0));
        loop {
            let page = self.source.app.exported_posts(self.source.caller.user.id, after).await?;
            let Some(last) = page.last() else { break };
            after = last.post.id;
            for post in page {
                let Some(record) = self.record(post) else { continue };
                self.push(count, &record)?;
                count += 1;
            }
            self.client.send(&self.buffer).await?;
        }
        self.end_list(count)?;
        Ok(count)
    }

    /// The page that shows the archive, newest posts first.
    async fn write_index(&mut self, account: &AccountRecord) -> Result<(), WriteError> {
        self.start(INDEX_FILE)?;
        self.zip.write_all(self.source.page.head(account).as_bytes())?;
        let mut before = PostId(i64::MAX);
        loop {
            let page = self.source.app.exported_posts_before(self.source.caller.user.id, before).await?;
            let Some(last) = page.last() else { break };
            before = last.post.id;
            for post in page {
                let Some(record) = self.record(post) else { continue };
                self.zip.write_all(self.source.page.post(account, &record).as_bytes())?;
            }
            self.client.send(&self.buffer).await?;
        }
        self.zip.write_all(self.source.page.middle(account).as_bytes())?;
        let mut after = PostId(0);
        loop {
            let page = self.source.app.exported_likes(self.source.caller.user.id, after).await?;
            let Some(last) = page.last() else { break };
            after = last.post;
            for like in page {
                let record = self.like_record(like);
                self.zip.write_all(self.source.page.like(&record).as_bytes())?;
            }
            self.client.send(&self.buffer).await?;
        }
        self.zip.write_all(self.source.page.tail().as_bytes())?;
        Ok(())
    }

    /// The record of a post whose photo is in the archive.
    fn record(&self, ExportedPost { post, source }: ExportedPost) -> Option<PostRecord> {
        // The text may have been edited since the photo was written.
        let photo = self.photos.get(&post.id)?.record(&photo_name(post.id, post.created_at), &post.photo);
        Some(PostRecord {
            id: source.to_string(),
            url: self.post_url(post.id),
            created_at: post.created_at.to_string(),
            message: post.message.map(|text| text.to_string()),
            like_count: post.like_count,
            hidden_reason: post.hidden_reason.map(|text| text.to_string()),
            share_original: post.share_original,
            photo,
        })
    }

    fn like_record(&self, like: ExportedLike) -> LikeRecord {
        let ExportedLike { post, author, liked_at } = like;
        LikeRecord { url: self.post_url(post), author, created_at: liked_at.to_string() }
    }

    fn post_url(&self, post: PostId) -> String {
        format!("{}/p/{post}", self.source.instance.url)
    }

    fn start(&mut self, path: &str) -> Result<(), WriteError> {
        let options = options(self.source.exported_at).compression_method(CompressionMethod::Deflated);
        Ok(self.zip.start_file(path, options)?)
    }

    /// An entry of a list, which has one on each line.
    fn push(&mut self, at: u64, record: &impl Serialize) -> Result<(), WriteError> {
        self.zip.write_all(if at == 0 { b"[\n" } else { b",\n" })?;
        Ok(serde_json::to_writer(&mut self.zip, record)?)
    }

    fn end_list(&mut self, count: u64) -> Result<(), WriteError> {
        Ok(self.zip.write_all(if count == 0 { b"[]\n" } else { b"\n]\n" })?)
    }
}

/// A file that was last modified at `at`. Photos have no other date, since their metadata was removed.
fn options(at: Timestamp) -> SimpleFileOptions {
    let text = at.to_string();
    let field = |from: usize| text.get(from..from + 2).and_then(|digits| digits.parse::<u8>().ok());
    let modified = || {
        let year = text.get(..4)?.parse().ok()?;
        DateTime::from_date_and_time(year, field(5)?, field(8)?, field(11)?, field(14)?, field(17)?).ok()
    };
    // A zip has no dates before 1980.
    SimpleFileOptions::default().last_modified_time(modified().unwrap_or_default())
}
