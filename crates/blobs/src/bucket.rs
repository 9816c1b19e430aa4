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
use std::future::ready;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt, stream};
use model::{Clock, PhotoId, Size, master_sides};
use object_store::aws::AmazonS3;
use object_store::path::Path;
use object_store::{Attributes, GetResult, ObjectMeta, ObjectStore, ObjectStoreExt, PutOptions};

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
        let key = self.key(photo, file);
        let response = self.get(&self.interactive, &key).await?;
        Ok(response.map(|response| Object::new(self.clone(), key, response)))
    }

    pub(crate) async fn files(&self, photo: PhotoId) -> Result<PhotoFiles, Error> {
        let folder = self.photo_folder(photo);
        let listed = self.list(&folder).try_collect::<Vec<_>>().await?;
        let names = listed.iter().filter_map(|(name, _)| name.parse().ok());
        let mut names: Vec<PhotoFile> = names.filter(|file: &PhotoFile| !file.is_derived()).collect();
        names.sort();
        let mut files = PhotoFiles::default();
        for file in names {
            let key = self.key(photo, file);
            // A missing object means that the photo is being deleted.
            let Some(response) = self.get(&self.bulk, &key).await? else { continue };
            match self.receive(&key, response).await {
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

    /// Puts, gets, lists and deletes a probe.
    pub(crate) async fn ping(&self) -> Result<(), Error> {
        // A random name, so that concurrent pings do not read each other's probe.
        let name = format!("{:016x}", RandomState::new().build_hasher().finish());
        let folder = self.url.path("probes").join(name);
        let key = ObjectKey::new(&folder, "probe");
        let bytes = Bytes::from_static(b"pinhole");
        let probe = async {
            self.put_object(&self.interactive, key.clone(), bytes.clone()).await?;
            let response = self.get(&self.interactive, &key).await?.ok_or(Error::ReadBackMismatch)?;
            let read = self.receive(&key, response).await?;
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
        attributes.insert(CHECKSUM, key.checksum(&bytes).into());
        let options = PutOptions { attributes, ..PutOptions::default() };
        match store.put_opts(key.path(), bytes.into(), options).await {
            Ok(_) => Ok(()),
            Err(error) => Err(self.unavailable("put", key.path(), &error)),
        }
    }

    /// `None` if the object is missing; a missing bucket is an error.
    async fn get(&self, store: &AmazonS3, key: &ObjectKey) -> Result<Option<GetResult>, Error> {
        match store.get(key.path()).await {
            Ok(response) => Ok(Some(response)),
            Err(error) if s3_error::is_missing_object(&error) => Ok(None),
            Err(error) => Err(self.unavailable("get", key.path(), &error)),
        }
    }

    /// Reads the body of a response and verifies its checksum.
    async fn receive(&self, key: &ObjectKey, response: GetResult) -> Result<Bytes, Error> {
        let expected = response.attributes.get(&CHECKSUM).cloned();
        let body = response.bytes().await;
        let bytes = body.map_err(|error| self.unavailable("get", key.path(), &error))?;
        if expected.is_some_and(|expected| *expected == *key.checksum(&bytes)) {
            Ok(bytes)
        } else {
            Err(self.damaged(key))
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

    fn damaged(&self, key: &ObjectKey) -> Error {
        Error::Damaged { file: self.url.describe(key.path()) }
    }

    fn unavailable(&self, operation: &str, path: &Path, error: &object_store::Error) -> Error {
        Error::Unavailable(S3Error::new(operation, &self.url.describe(path), error))
    }
}

/// A GET response whose body is not read yet.
#[derive(Debug)]
pub(crate) struct Object {
    bucket: Arc<Bucket>,
    key: ObjectKey,
    response: GetResult,
    received_at: Instant,
}

/// A response older than this is requested again: the store may have closed it while the reader waited for a
/// memory reservation.
const RESPONSE_TTL: Duration = Duration::from_secs(2);

impl Object {
    fn new(bucket: Arc<Bucket>, key: ObjectKey, response: GetResult) -> Self {
        Self { bucket, key, response, received_at: Clock::monotonic() }
    }

    pub(crate) fn length(&self) -> u64 {
        self.response.meta.size
    }

    pub(crate) async fn read(self) -> Result<Bytes, Error> {
        let Self { bucket, key, response, received_at } = self;
        if received_at.elapsed() < RESPONSE_TTL {
            match bucket.receive(&key, response).await {
                // The network or one of several replicas may have altered it: a second read decides.
                Err(Error::Damaged { file }) => {
                    tracing::warn!(object = file, "object checksum mismatch; reading it again");
                }
                outcome => return outcome,
            }
        } else {
            drop(response);
        }
        match bucket.get(&bucket.interactive, &key).await? {
            Some(response) => bucket.receive(&key, response).await,
            None => Err(bucket.damaged(&key)),
        }
    }
}
