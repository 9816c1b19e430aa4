//! Blobs in an S3 bucket.
//!
//! ```text
//! <prefix>/photos/6f/0190a6e2-…-6f/2048       the same names as in a folder
//! <prefix>/photos/6f/0190a6e2-…-6f/original
//! <prefix>/probes/…                           written and deleted by a ping
//! ```
//! The store verifies each upload against the SHA-256 of the request. A download is verified against a CRC-32
//! in the object's metadata, so the object is the file, byte for byte. Conditional requests are not used:
//! some stores ignore the condition and report success.

mod config;
mod object_key;
mod s3_error;
mod url;

use std::collections::HashMap;
use std::fmt;
use std::future::ready;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt, stream};
use model::{PhotoId, Size, master_sides};
use object_store::aws::AmazonS3;
use object_store::path::Path;
use object_store::{
    Attributes, GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore, ObjectStoreExt, PutOptions,
};

pub use config::{S3Config, install_crypto_provider};
pub use s3_error::S3Error;
pub use url::BucketUrl;

use crate::names::{PHOTOS, shard, shard_of};
use crate::{Error, PhotoFile, PhotoFiles, StoredPhoto};
use config::RetryPolicy;
use object_key::{CHECKSUM, ObjectKey};

/// The time within which a store completes or discards a request whose client is gone; far longer than ever
/// observed.
pub(crate) const LATE_WRITE_WINDOW: Duration = Duration::from_secs(5 * 60);

/// Concurrent requests for one photo.
const CONCURRENCY: usize = 4;

/// For requests that a client waits for. A master has a megabyte at most.
const INTERACTIVE: RetryPolicy = RetryPolicy {
    request_timeout: Duration::from_secs(10),
    max_retries: 3,
    retry_timeout: Duration::from_secs(10),
    max_backoff: Duration::from_secs(1),
};

/// For transfers of whole photos: a failed upload would have to be sent again in full.
const BULK: RetryPolicy = RetryPolicy {
    request_timeout: Duration::from_secs(60),
    max_retries: 8,
    retry_timeout: Duration::from_secs(30),
    max_backoff: Duration::from_secs(5),
};

const PING_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(crate) struct Bucket {
    url: BucketUrl,
    interactive: AmazonS3,
    bulk: AmazonS3,
    /// Whether the configuration contains an access key; otherwise the metadata service provides one.
    has_access_key: bool,
}

impl Bucket {
    pub(crate) fn open(url: &BucketUrl, config: &S3Config) -> Result<Self, Error> {
        Ok(Self {
            interactive: config.connect(url.bucket(), &INTERACTIVE)?,
            bulk: config.connect(url.bucket(), &BULK)?,
            has_access_key: config.has_access_key(),
            url: url.clone(),
        })
    }

    /// Returns at the first error. Requests in flight may still succeed within [`LATE_WRITE_WINDOW`].
    pub(crate) async fn put(&self, photo: PhotoId, files: Vec<(PhotoFile, Bytes)>) -> Result<(), Error> {
        let puts =
            files.into_iter().map(|(file, bytes)| self.put_object(&self.bulk, self.key(photo, file), bytes));
        stream::iter(puts).buffer_unordered(CONCURRENCY).try_collect().await
    }

    pub(crate) async fn file(
        self: &Arc<Self>,
        photo: PhotoId,
        file: PhotoFile,
    ) -> Result<Option<Object>, Error> {
        self.object(&self.interactive, self.key(photo, file)).await
    }

    pub(crate) async fn files(self: &Arc<Self>, photo: PhotoId) -> Result<PhotoFiles, Error> {
        let folder = self.photo_folder(photo);
        let listed = self.list(&folder).try_collect::<Vec<_>>().await?;
        let names = listed.iter().filter_map(|(name, _)| name.parse().ok());
        let mut names: Vec<PhotoFile> = names.filter(|file: &PhotoFile| !file.is_derived()).collect();
        names.sort();
        let mut files = PhotoFiles::default();
        for file in names {
            // A missing object means that the photo is being deleted.
            let Some(mut object) = self.object(&self.bulk, self.key(photo, file)).await? else { continue };
            match object.read().await {
                Err(Error::Damaged { .. }) => files.damaged.push(file),
                bytes => files.intact.push((file, bytes?)),
            }
        }
        Ok(files)
    }

    /// Writes one object of an existing photo, in place of a damaged one, or a part of an upload.
    pub(crate) async fn replace(&self, photo: PhotoId, file: PhotoFile, bytes: Bytes) -> Result<(), Error> {
        self.put_object(&self.bulk, self.key(photo, file), bytes).await
    }

    pub(crate) async fn list_shard(&self, last_byte: u8) -> Result<Vec<StoredPhoto>, Error> {
        let folder = self.url.path(PHOTOS).join(shard_of(last_byte));
        let mut by_id: HashMap<PhotoId, StoredPhoto> = HashMap::new();
        let mut listed = self.list(&folder);
        while let Some((name, object)) = listed.try_next().await? {
            // Foreign objects are skipped.
            let Some((photo, file)) = name.split_once('/') else { continue };
            let (Ok(photo), Ok(file)) = (photo.parse(), file.parse::<PhotoFile>()) else { continue };
            let modified = SystemTime::from(object.last_modified);
            let new = StoredPhoto { photo, since: modified, files: Vec::new() };
            let stored = by_id.entry(photo).or_insert(new);
            stored.since = stored.since.max(modified);
            if !file.is_derived() {
                stored.files.push((file, object.size));
            }
        }
        let mut photos: Vec<StoredPhoto> = by_id.into_values().collect();
        for stored in &mut photos {
            stored.files.sort();
        }
        Ok(photos)
    }

    /// Lists until the first object below the prefix of photos: one request.
    pub(crate) async fn has_photos(&self) -> Result<bool, Error> {
        Ok(self.list(&self.url.path(PHOTOS)).try_next().await?.is_some())
    }

    /// The row with the photo's size is deleted already. The usual sides are deleted without listing; a
    /// listing finds those that may have any side.
    pub(crate) async fn delete(&self, photo: PhotoId) -> Result<(), Error> {
        let folder = self.photo_folder(photo);
        let masters = master_sides(u32::MAX).map(PhotoFile::Master);
        let usual = masters.chain([PhotoFile::Original, PhotoFile::Fit(Size::MAX.into())]);
        let known = usual.map(|file| folder.clone().join(file.to_string())).collect();
        self.delete_all(&folder, known).await
    }

    pub(crate) async fn delete_part(&self, upload: PhotoId, part: PhotoFile) -> Result<(), Error> {
        self.delete_object(self.key(upload, part).path().clone()).await
    }

    /// Puts, gets, lists and deletes a probe.
    pub(crate) async fn ping(self: &Arc<Self>) -> Result<(), Error> {
        // A random name, so that concurrent pings do not read each other's probe.
        let name = format!("{:016x}", RandomState::new().build_hasher().finish());
        let folder = self.url.path("probes").join(name);
        let key = ObjectKey::new(&folder, "probe");
        let bytes = Bytes::from_static(b"pinhole");
        let probe = async {
            self.put_object(&self.interactive, key.clone(), bytes.clone()).await?;
            let object = self.object(&self.interactive, key.clone()).await?;
            let read = object.ok_or(Error::ReadBackMismatch)?.read().await?;
            self.delete_all(&folder, vec![key.path().clone()]).await?;
            if read == bytes { Ok(()) } else { Err(Error::ReadBackMismatch) }
        };
        match tokio::time::timeout(PING_TIMEOUT, probe).await {
            Ok(outcome) => outcome,
            Err(_) => {
                Err(Error::Unavailable(S3Error::timed_out(&self.url, PING_TIMEOUT, self.has_access_key)))
            }
        }
    }

    async fn put_object(&self, store: &AmazonS3, key: ObjectKey, bytes: Bytes) -> Result<(), Error> {
        let mut attributes = Attributes::new();
        attributes.insert(CHECKSUM, ObjectKey::hex(key.checksum(&bytes)).into());
        let options = PutOptions { attributes, ..PutOptions::default() };
        match store.put_opts(key.path(), bytes.into(), options).await {
            Ok(_) => Ok(()),
            Err(error) => Err(self.unavailable("put", key.path(), &error)),
        }
    }

    /// `None` if the object is missing.
    async fn object(self: &Arc<Self>, store: &AmazonS3, key: ObjectKey) -> Result<Option<Object>, Error> {
        let response = self.get(store, &key, GetOptions::default()).await?;
        Ok(response.map(|response| Object::new(self.clone(), key, response)))
    }

    /// `None` if the object is missing; a missing bucket is an error.
    async fn get(
        &self,
        store: &AmazonS3,
        key: &ObjectKey,
        options: GetOptions,
    ) -> Result<Option<GetResult>, Error> {
        match store.get_opts(key.path(), options).await {
            Ok(response) => Ok(Some(response)),
            Err(error) if s3_error::is_missing_object(&error) => Ok(None),
            Err(error) => Err(self.unavailable("get", key.path(), &error)),
        }
    }

    /// Deletes the `known` objects of a folder and all others that the store lists. One request per object:
    /// not every store supports multi-object deletes.
    async fn delete_all(&self, folder: &Path, known: Vec<Path>) -> Result<(), Error> {
        let unknown = {
            let known = known.clone();
            self.list(folder).try_filter_map(move |(_, object)| {
                ready(Ok(Some(object.location).filter(|path| !known.contains(path))))
            })
        };
        let paths = stream::iter(known.into_iter().map(Ok)).chain(unknown);
        paths.try_for_each_concurrent(CONCURRENCY, |path| self.delete_object(path)).await
    }

    /// All objects below a folder, with their names relative to it.
    fn list<'a>(&'a self, folder: &'a Path) -> BoxStream<'a, Result<(String, ObjectMeta), Error>> {
        let listed =
            self.interactive.list(Some(folder)).map_err(|error| self.unavailable("list", folder, &error));
        listed
            .map_ok(|object| {
                let name = object.location.as_ref().strip_prefix(folder.as_ref()).unwrap_or_default();
                (name.trim_start_matches('/').to_owned(), object)
            })
            .boxed()
    }

    async fn delete_object(&self, path: Path) -> Result<(), Error> {
        match self.interactive.delete(&path).await {
            Err(error) if s3_error::is_missing_object(&error) => Ok(()),
            outcome => outcome.map_err(|error| self.unavailable("delete", &path, &error)),
        }
    }

    fn key(&self, photo: PhotoId, file: PhotoFile) -> ObjectKey {
        ObjectKey::new(&self.photo_folder(photo), file.to_string())
    }

    fn photo_folder(&self, photo: PhotoId) -> Path {
        self.url.path(PHOTOS).join(shard(photo)).join(photo.to_string())
    }

    fn unavailable(&self, operation: &str, path: &Path, error: &object_store::Error) -> Error {
        Error::Unavailable(S3Error::new(operation, &self.url.describe(path), error))
    }
}

/// An object whose body is not read yet, or in part.
pub(crate) struct Object {
    bucket: Arc<Bucket>,
    key: ObjectKey,
    length: u64,
    /// From its metadata.
    checksum: Option<String>,
    body: Option<BoxStream<'static, object_store::Result<Bytes>>>,
    /// What has arrived and was not read.
    received: Bytes,
    /// Where `received` begins in the object.
    position: u64,
    can_resume: bool,
}

impl Object {
    fn new(bucket: Arc<Bucket>, key: ObjectKey, response: GetResult) -> Self {
        Self {
            bucket,
            key,
            length: response.meta.size,
            checksum: response.attributes.get(&CHECKSUM).map(|checksum| checksum.to_string()),
            body: Some(response.into_stream()),
            received: Bytes::new(),
            position: 0,
            can_resume: true,
        }
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Reads the object and verifies its checksum.
    async fn read(&mut self) -> Result<Bytes, Error> {
        let bytes = self.read_at(0, usize::try_from(self.length).unwrap_or(usize::MAX)).await?;
        self.verify(self.key.checksum(&bytes))?;
        Ok(bytes)
    }

    /// Exactly `count` bytes. Reading on from where the last call ended continues its response.
    pub(crate) async fn read_at(&mut self, at: u64, count: usize) -> Result<Bytes, Error> {
        if at != self.position {
            (self.body, self.received, self.position) = (None, Bytes::new(), at);
        }
        let mut bytes = BytesMut::with_capacity(count);
        while bytes.len() < count {
            if self.received.is_empty() {
                self.received = self.receive().await?;
            }
            let next = self.received.split_to(self.received.len().min(count - bytes.len()));
            self.position += next.len() as u64;
            bytes.extend_from_slice(&next);
        }
        Ok(bytes.freeze())
    }

    /// The next bytes of the body. One that ends early is requested again from there: while its reader waits,
    /// for memory or for a slow client, the store closes it or its time limit passes.
    async fn receive(&mut self) -> Result<Bytes, Error> {
        loop {
            let Some(body) = &mut self.body else {
                let range = (self.position > 0).then_some(GetRange::Offset(self.position));
                let options = GetOptions { range, ..GetOptions::default() };
                let response = self.bucket.get(&self.bucket.bulk, &self.key, options).await?;
                self.body = Some(response.ok_or_else(|| self.damaged())?.into_stream());
                continue;
            };
            match body.next().await {
                Some(Ok(bytes)) => {
                    self.can_resume = true;
                    return Ok(bytes);
                }
                _ if self.can_resume => (self.body, self.can_resume) = (None, false),
                Some(Err(error)) => return Err(self.bucket.unavailable("get", self.key.path(), &error)),
                None => return Err(self.damaged()),
            }
        }
    }

    /// The object as it is now, from its start.
    pub(crate) async fn reopen(&mut self) -> Result<(), Error> {
        let object = self.bucket.object(&self.bucket.interactive, self.key.clone()).await?;
        *self = object.ok_or_else(|| self.damaged())?;
        Ok(())
    }

    /// For the checksum of the object, before its first byte.
    pub(crate) fn hasher(&self) -> crc32fast::Hasher {
        self.key.hasher()
    }

    pub(crate) fn verify(&self, checksum: u32) -> Result<(), Error> {
        let is_intact = self.checksum.as_deref() == Some(ObjectKey::hex(checksum).as_str());
        if is_intact { Ok(()) } else { Err(self.damaged()) }
    }

    fn damaged(&self) -> Error {
        Error::Damaged { file: self.bucket.url.describe(self.key.path()) }
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object")
            .field("key", &self.key)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}
