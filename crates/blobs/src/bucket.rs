//! Blobs in a bucket of an S3 store.
//!
//! ```text
//! <prefix>/photos/6f/0190a6e2-…-6f/2048       the same names as in a folder
//! <prefix>/photos/6f/0190a6e2-…-6f/original
//! <prefix>/probes/…                           proves that the bucket works; gone a moment later
//! ```
//! The store holds what it receives against a SHA-256 that is sent along. What it gives back is held against
//! a checksum of ours, kept in the object's metadata, so that the object itself is the file, byte for byte.
//! Nothing depends on conditional requests: some stores ignore the condition and answer as if it had held.

mod account;
mod address;
mod trouble;
mod url;

use std::collections::HashMap;
use std::future::ready;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt, stream};
use model::{Clock, PhotoId, master_sides};
use object_store::aws::AmazonS3;
use object_store::path::Path;
use object_store::{Attributes, GetResult, ObjectMeta, ObjectStore, ObjectStoreExt, PutOptions};

pub use account::Account;
pub use trouble::Trouble;
pub use url::BucketUrl;

use crate::names::{PHOTOS, shard, shard_of};
use crate::{Error, Kept, Part, Square};
use account::Patience;
use address::{Address, CHECKSUM};

/// What a store may need to finish, or give up, a request whose sender has gone: far more than was ever seen.
pub(crate) const STRAGGLERS: Duration = Duration::from_secs(5 * 60);

/// Files of one photo on their way at once.
const AT_ONCE: usize = 4;

/// Somebody waits for these, and a square has a megabyte at most.
const QUICK: Patience = Patience {
    request: Duration::from_secs(10),
    retries: 3,
    keep_trying: Duration::from_secs(10),
    longest_pause: Duration::from_secs(1),
};

/// An upload is worth some waiting: its sender would have to send all of it again.
const PATIENT: Patience = Patience {
    request: Duration::from_secs(60),
    retries: 8,
    keep_trying: Duration::from_secs(30),
    longest_pause: Duration::from_secs(5),
};

/// How long a sign of life may take in all.
const PING: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(crate) struct Bucket {
    url: BucketUrl,
    quick: AmazonS3,
    /// For whole photos on their way in or elsewhere.
    patient: AmazonS3,
    /// Whether we were given one, and need not ask the machine.
    has_key: bool,
}

impl Bucket {
    pub(crate) fn open(url: &BucketUrl, account: &Account) -> Result<Self, Error> {
        Ok(Self {
            quick: account.connect(url.bucket(), &QUICK)?,
            patient: account.connect(url.bucket(), &PATIENT)?,
            has_key: account.has_key(),
            url: url.clone(),
        })
    }

    /// The first failure ends it. What is under way then may still arrive, see [`STRAGGLERS`].
    pub(crate) async fn put(
        &self,
        photo: PhotoId,
        squares: Vec<Square>,
        original: Option<Bytes>,
    ) -> Result<(), Error> {
        let squares = squares.into_iter().map(|square| (Part::Square(square.side), square.bytes));
        let files = squares.chain(original.map(|bytes| (Part::Original, bytes)));
        let puts =
            files.map(|(part, bytes)| self.put_object(&self.patient, self.address(photo, part), bytes));
        stream::iter(puts).buffer_unordered(AT_ONCE).try_collect().await
    }

    pub(crate) async fn square(self: &Arc<Self>, photo: PhotoId, side: u32) -> Result<Option<Object>, Error> {
        let address = self.address(photo, Part::Square(side));
        let found = self.get(&self.quick, &address).await?;
        Ok(found.map(|found| Object::new(self.clone(), address, found)))
    }

    pub(crate) async fn files(&self, photo: PhotoId) -> Result<Vec<(Part, Bytes)>, Error> {
        let folder = self.photo(photo);
        let listed = self.list(&folder).try_collect::<Vec<_>>().await?;
        let mut parts: Vec<Part> = listed.iter().filter_map(|(name, _)| name.parse().ok()).collect();
        parts.sort();
        let mut files = Vec::new();
        for part in parts {
            let address = self.address(photo, part);
            // What has gone is being deleted.
            let Some(found) = self.get(&self.patient, &address).await? else { continue };
            files.push((part, self.receive(&address, found).await?));
        }
        Ok(files)
    }

    pub(crate) async fn shelf(&self, last_byte: u8) -> Result<Vec<Kept>, Error> {
        let shelf = self.url.path(PHOTOS).join(shard_of(last_byte));
        let mut found: HashMap<PhotoId, Kept> = HashMap::new();
        let mut listed = self.list(&shelf);
        while let Some((names, object)) = listed.try_next().await? {
            // Whatever else lies here is none of ours.
            let Some((photo, part)) = names.split_once('/') else { continue };
            let (Ok(photo), Ok(part)) = (photo.parse(), part.parse()) else { continue };
            let written = SystemTime::from(object.last_modified);
            let kept = found.entry(photo).or_insert(Kept { photo, since: written, parts: Vec::new() });
            kept.since = kept.since.max(written);
            kept.parts.push((part, object.size));
        }
        let mut shelf: Vec<Kept> = found.into_values().collect();
        for kept in &mut shelf {
            kept.parts.sort();
        }
        Ok(shelf)
    }

    /// The row that knew the sides is gone. Most photos have the usual ones, which need not be asked for;
    /// only a smaller photo's largest square may have any side.
    pub(crate) async fn delete(&self, photo: PhotoId) -> Result<(), Error> {
        let folder = self.photo(photo);
        let usual = master_sides(u32::MAX).map(Part::Square).chain([Part::Original]);
        let known = usual.map(|part| folder.clone().join(part.to_string())).collect();
        self.delete_all(&folder, known).await
    }

    /// Does all that we do to photos, to something that is none.
    pub(crate) async fn ping(&self) -> Result<(), Error> {
        // Two who ask at the same time must not find each other's.
        let name = format!("{:016x}", RandomState::new().build_hasher().finish());
        let folder = self.url.path("probes").join(name);
        let address = Address::new(&folder, "probe");
        let bytes = Bytes::from_static(b"pinhole");
        let life = async {
            self.put_object(&self.quick, address.clone(), bytes.clone()).await?;
            let found = self.get(&self.quick, &address).await?.ok_or(Error::Unfaithful)?;
            let read = self.receive(&address, found).await?;
            self.delete_all(&folder, vec![address.key().clone()]).await?;
            if read == bytes { Ok(()) } else { Err(Error::Unfaithful) }
        };
        match tokio::time::timeout(PING, life).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Error::Unavailable(Trouble::too_slow(&self.url, PING, self.has_key))),
        }
    }

    async fn put_object(&self, store: &AmazonS3, address: Address, bytes: Bytes) -> Result<(), Error> {
        let mut attributes = Attributes::new();
        attributes.insert(CHECKSUM, address.checksum(&bytes).into());
        let options = PutOptions { attributes, ..PutOptions::default() };
        match store.put_opts(address.key(), bytes.into(), options).await {
            Ok(_) => Ok(()),
            Err(error) => Err(self.trouble("put", address.key(), &error)),
        }
    }

    /// `None` if there is no such object; a bucket that is not there is trouble.
    async fn get(&self, store: &AmazonS3, address: &Address) -> Result<Option<GetResult>, Error> {
        match store.get(address.key()).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if trouble::is_missing_object(&error) => Ok(None),
            Err(error) => Err(self.trouble("get", address.key(), &error)),
        }
    }

    /// The bytes of an object that was found, if they are what was put there.
    async fn receive(&self, address: &Address, found: GetResult) -> Result<Bytes, Error> {
        let expected = found.attributes.get(&CHECKSUM).cloned();
        let received = found.bytes().await;
        let bytes = received.map_err(|error| self.trouble("get", address.key(), &error))?;
        if expected.is_some_and(|expected| *expected == *address.checksum(&bytes)) {
            Ok(bytes)
        } else {
            Err(self.damaged(address))
        }
    }

    /// Deletes what is `known` to lie in there, and whatever else the store tells of. One request an object,
    /// since not every store knows how to remove several by one.
    async fn delete_all(&self, folder: &Path, known: Vec<Path>) -> Result<(), Error> {
        let unknown = {
            let known = known.clone();
            self.list(folder).try_filter_map(move |(_, object)| {
                ready(Ok(Some(object.location).filter(|key| !known.contains(key))))
            })
        };
        let keys = stream::iter(known.into_iter().map(Ok)).chain(unknown);
        keys.try_for_each_concurrent(AT_ONCE, |key| self.delete_object(key)).await
    }

    /// All objects below a folder, with their names from there on.
    fn list<'a>(&'a self, folder: &'a Path) -> BoxStream<'a, Result<(String, ObjectMeta), Error>> {
        let listed = self.quick.list(Some(folder)).map_err(|error| self.trouble("list", folder, &error));
        listed
            .map_ok(|object| {
                let below = object.location.as_ref().strip_prefix(folder.as_ref()).unwrap_or_default();
                (below.trim_start_matches('/').to_owned(), object)
            })
            .boxed()
    }

    async fn delete_object(&self, key: Path) -> Result<(), Error> {
        match self.quick.delete(&key).await {
            // Not there any more, or never was.
            Err(error) if trouble::is_missing_object(&error) => Ok(()),
            outcome => outcome.map_err(|error| self.trouble("delete", &key, &error)),
        }
    }

    fn address(&self, photo: PhotoId, part: Part) -> Address {
        Address::new(&self.photo(photo), part.to_string())
    }

    fn photo(&self, photo: PhotoId) -> Path {
        self.url.path(PHOTOS).join(shard(photo)).join(photo.to_string())
    }

    fn damaged(&self, address: &Address) -> Error {
        Error::Damaged { object: self.url.describe(address.key()) }
    }

    fn trouble(&self, deed: &'static str, key: &Path, error: &object_store::Error) -> Error {
        Error::Unavailable(Trouble::new(deed, &self.url.describe(key), error))
    }
}

/// An object that was found, not received yet.
#[derive(Debug)]
pub(crate) struct Object {
    bucket: Arc<Bucket>,
    address: Address,
    found: GetResult,
    found_at: Instant,
}

/// Whoever had to wait for memory asks again: the store may have stopped waiting for us.
const FRESH: Duration = Duration::from_secs(2);

impl Object {
    fn new(bucket: Arc<Bucket>, address: Address, found: GetResult) -> Self {
        Self { bucket, address, found, found_at: Clock::monotonic() }
    }

    pub(crate) fn length(&self) -> u64 {
        self.found.meta.size
    }

    pub(crate) async fn read(self) -> Result<Bytes, Error> {
        let Self { bucket, address, found, found_at } = self;
        if found_at.elapsed() < FRESH {
            match bucket.receive(&address, found).await {
                // It may have been the way, or one of several copies: another look decides.
                Err(Error::Damaged { object }) => {
                    tracing::warn!(object, "an object did not arrive as it was written; it is read again");
                }
                outcome => return outcome,
            }
        } else {
            drop(found);
        }
        match bucket.get(&bucket.quick, &address).await? {
            Some(found) => bucket.receive(&address, found).await,
            None => Err(bucket.damaged(&address)),
        }
    }
}
