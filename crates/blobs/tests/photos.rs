//! Photos through the public face, wherever they are kept: in a folder, and in the bucket that
//! `PINHOLE_TEST_S3_URL` names (`s3://bucket/prefix`, with the usual `AWS_…` variables). `scripts/s3` starts
//! a store and sets them; without one the run fails.

#![allow(clippy::disallowed_methods, reason = "files have real times")]
#![allow(clippy::unwrap_used, reason = "a broken expectation must stop the story where it stands")]

use std::ffi::OsString;
use std::net::TcpListener;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use blobs::{Account, Blobs, BucketUrl, Error, Location, Part, Square};
use bytes::Bytes;
use model::{PhotoId, Timestamp};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutOptions};
use tempfile::TempDir;

struct Case {
    blobs: Blobs,
    _data: TempDir,
}

impl Case {
    fn open(location: &Location) -> Self {
        let data = tempfile::tempdir().unwrap();
        Self { blobs: Blobs::open(data.path(), location).unwrap(), _data: data }
    }

    async fn read(&self, photo: PhotoId, side: u32) -> Option<Bytes> {
        let stored = self.blobs.square(photo, side).await.unwrap()?;
        let length = stored.length();
        let bytes = stored.read().await.unwrap();
        assert_eq!(bytes.len() as u64, length);
        Some(bytes)
    }
}

/// One of each place there is.
fn cases() -> Vec<Case> {
    [Location::DataFolder, Promised::bucket().location()].iter().map(Case::open).collect()
}

/// The bucket we may use: a corner of it that is this test's own.
struct Promised {
    url: String,
    prefix: String,
}

impl Promised {
    fn bucket() -> Self {
        let url = std::env::var("PINHOLE_TEST_S3_URL")
            .expect("PINHOLE_TEST_S3_URL is not set: scripts/s3 starts a store and sets it");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let own = format!("test-{}-{:x}", std::process::id(), now.as_nanos());
        let base: BucketUrl = url.parse().unwrap();
        let url = format!("{base}/{own}");
        let prefix = url.strip_prefix(&format!("s3://{}/", base.bucket())).unwrap().to_owned();
        Self { url, prefix }
    }

    fn location(&self) -> Location {
        self.location_with(&[])
    }

    /// With some variables of the environment replaced.
    fn location_with(&self, replaced: &[(&str, &str)]) -> Location {
        let kept = std::env::vars_os().filter(|(name, _)| replaced.iter().all(|(other, _)| name != other));
        let replaced = replaced.iter().map(|(name, value)| (name.into(), value.into()));
        let account = Account::from_variables(kept.chain(replaced));
        Location::Bucket { url: self.url.parse().unwrap(), account }
    }

    /// The bucket as others see it.
    fn store(&self) -> AmazonS3 {
        let url: BucketUrl = self.url.parse().unwrap();
        AmazonS3Builder::from_env().with_bucket_name(url.bucket()).build().unwrap()
    }

    fn key(&self, photo: PhotoId, name: &str) -> Path {
        let shard = format!("{:02x}", photo.as_bytes()[15]);
        Path::from(format!("{}/photos/{shard}/{photo}/{name}", self.prefix))
    }
}

fn photo(seed: u8) -> PhotoId {
    PhotoId::new(Timestamp::from_micros(1_763_200_000_000_000), [seed; 10])
}

fn square(side: u32, text: &'static str) -> Square {
    Square { side, bytes: Bytes::from_static(text.as_bytes()) }
}

fn failure(blobs: Result<Blobs, Error>) -> String {
    blobs.unwrap_err().to_string()
}

#[tokio::test]
async fn gives_back_what_it_was_given_until_it_is_deleted() {
    for case in cases() {
        let squares = vec![square(512, "large"), square(256, "small")];
        case.blobs.put(photo(1), squares, Some(Bytes::from_static(b"as it was sent"))).await.unwrap();
        case.blobs.put(photo(2), vec![square(512, "other")], None).await.unwrap();

        assert_eq!(case.read(photo(1), 512).await.as_deref(), Some(&b"large"[..]));
        assert_eq!(case.read(photo(1), 256).await.as_deref(), Some(&b"small"[..]));
        assert_eq!(case.read(photo(1), 128).await, None);
        assert_eq!(case.read(photo(3), 256).await, None);

        case.blobs.delete(photo(1)).await.unwrap();
        case.blobs.delete(photo(1)).await.unwrap();
        assert_eq!(case.read(photo(1), 512).await, None);
        assert_eq!(case.read(photo(1), 256).await, None);
        assert_eq!(case.read(photo(2), 512).await.as_deref(), Some(&b"other"[..]));
        case.blobs.delete(photo(2)).await.unwrap();
        case.blobs.ping().await.unwrap();
    }
}

#[tokio::test]
async fn tells_what_lies_on_a_shelf() {
    for case in cases() {
        let squares = vec![square(256, "small"), square(2048, "largest"), square(512, "large")];
        case.blobs.put(photo(1), squares, Some(Bytes::from_static(b"as sent"))).await.unwrap();
        case.blobs.put(photo(2), vec![square(8, "tiny")], None).await.unwrap();

        let [kept] = &case.blobs.shelf(1).await.unwrap()[..] else { panic!("one photo ends with this byte") };
        let parts = [Part::Square(2048), Part::Square(512), Part::Square(256), Part::Original];
        assert_eq!(kept.photo, photo(1));
        assert_eq!(kept.parts, parts.into_iter().zip([7, 5, 5, 7]).collect::<Vec<_>>());
        let now = SystemTime::now() + Duration::from_secs(60);
        assert!(now.duration_since(kept.since).is_ok_and(|age| age.as_secs() < 3600));
        let files = case.blobs.files(photo(1)).await.unwrap();
        let texts = ["largest", "large", "small", "as sent"].map(|text| Bytes::from_static(text.as_bytes()));
        assert_eq!(files, parts.into_iter().zip(texts).collect::<Vec<_>>());
        assert!(case.blobs.files(photo(3)).await.unwrap().is_empty());
        assert!(case.blobs.shelf(3).await.unwrap().is_empty());
        for seed in [1, 2] {
            case.blobs.delete(photo(seed)).await.unwrap();
            assert!(case.blobs.shelf(seed).await.unwrap().is_empty());
        }
    }
}

#[tokio::test]
async fn large_files_arrive_whole_and_side_by_side() {
    for case in cases() {
        let sides = [2048, 1024, 700, 512, 256, 1];
        let bytes = |side: u32| (0..side * 1_500).map(|at| at.wrapping_mul(side) as u8).collect::<Bytes>();
        let squares = || sides.map(|side| Square { side, bytes: bytes(side) }).to_vec();
        let original = Bytes::from(vec![7; 20 << 20]);
        let puts = (1..=4).map(|seed| case.blobs.put(photo(seed), squares(), Some(original.clone())));
        futures_util::future::try_join_all(puts).await.unwrap();
        for seed in 1..=4 {
            for side in sides {
                assert!(case.read(photo(seed), side).await == Some(bytes(side)), "{side} of {seed}");
            }
            case.blobs.delete(photo(seed)).await.unwrap();
            for side in sides {
                assert!(case.read(photo(seed), side).await.is_none(), "{side} of {seed}");
            }
        }
    }
}

#[tokio::test]
async fn a_bucket_has_the_names_of_a_folder_and_keeps_nothing_of_the_deleted() {
    let promised = Promised::bucket();
    let (case, store) = (Case::open(&promised.location()), promised.store());
    let squares = vec![square(700, "top"), square(512, "middle"), square(256, "small")];
    case.blobs.put(photo(1), squares, Some(Bytes::from_static(b"sent"))).await.unwrap();
    for (name, text) in [("700", "top"), ("512", "middle"), ("256", "small"), ("original", "sent")] {
        let object = store.get(&promised.key(photo(1), name)).await.unwrap();
        assert_eq!(object.bytes().await.unwrap(), text, "byte for byte the file");
    }
    case.blobs.delete(photo(1)).await.unwrap();
    case.blobs.ping().await.unwrap();
    let left: Vec<_> =
        futures_util::StreamExt::collect(store.list(Some(&promised.prefix.as_str().into()))).await;
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn what_is_not_what_was_written_is_an_error_and_no_picture() {
    let promised = Promised::bucket();
    let (case, store) = (Case::open(&promised.location()), promised.store());
    for seed in [1, 2] {
        case.blobs.put(photo(seed), vec![square(512, "large"), square(256, "small")], None).await.unwrap();
    }
    let key = |seed, name| promised.key(photo(seed), name);
    // Others that come with a checksum of ours, but not of these bytes or not for this place.
    let attributes = store.get(&key(1, "512")).await.unwrap().attributes;
    let options = PutOptions { attributes, ..PutOptions::default() };
    for (seed, name, bytes) in [(1, "512", "largf"), (1, "256", "small"), (2, "512", "larg")] {
        store.put_opts(&key(seed, name), bytes.into(), options.clone()).await.unwrap();
    }
    // And one that comes without.
    store.put(&key(2, "256"), "small".into()).await.unwrap();
    for (seed, side) in [(1, 512), (1, 256), (2, 512), (2, 256)] {
        let stored = case.blobs.square(photo(seed), side).await.unwrap().unwrap();
        let outcome = stored.read().await;
        assert!(matches!(outcome, Err(Error::Damaged { .. })), "{side} of {seed}: {outcome:?}");
    }
    for seed in [1, 2] {
        case.blobs.delete(photo(seed)).await.unwrap();
    }
}

#[tokio::test]
async fn a_store_that_refuses_us_leads_to_what_to_do() {
    let promised = Promised::bucket();
    let elsewhere = Promised { url: "s3://pinhole-no-such-bucket/x".into(), prefix: "x".into() };
    for (location, remedy) in [
        (promised.location_with(&[("AWS_SECRET_ACCESS_KEY", "wrong")]), "AWS_SECRET_ACCESS_KEY"),
        (promised.location_with(&[("AWS_ACCESS_KEY_ID", "nobody")]), "AWS_ACCESS_KEY_ID"),
        (elsewhere.location(), "PINHOLE_BLOBS_URL"),
    ] {
        match Case::open(&location).blobs.ping().await {
            Err(Error::Unavailable(trouble)) => {
                assert!(trouble.remedy().contains(remedy), "{trouble}: {}", trouble.remedy());
            }
            other => panic!("{remedy}: {other:?}"),
        }
    }
    // Not to be taken for a photo that is not there.
    let outcome = Case::open(&elsewhere.location()).blobs.square(photo(1), 512).await;
    assert!(matches!(outcome, Err(Error::Unavailable(_))), "{outcome:?}");
}

/// An account at an address where nobody listens.
fn nowhere() -> Location {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let variables = [
        ("AWS_ENDPOINT_URL".into(), format!("http://{address}").into()),
        ("AWS_ALLOW_HTTP".into(), "true".into()),
        ("AWS_ACCESS_KEY_ID".into(), "key".into()),
        ("AWS_SECRET_ACCESS_KEY".into(), "secret".into()),
    ];
    let account = Account::from_variables(variables);
    Location::Bucket { url: "s3://photos/pinhole".parse().unwrap(), account }
}

#[tokio::test]
async fn a_store_that_is_away_is_told_from_bytes_that_are_missing() {
    let case = Case::open(&nowhere());
    let limit = Duration::from_secs(30);
    let work = async {
        let outcomes = [
            case.blobs.put(photo(1), vec![square(512, "large")], None).await,
            case.blobs.square(photo(1), 512).await.map(|found| assert!(found.is_none(), "found")),
            case.blobs.delete(photo(1)).await,
            case.blobs.ping().await,
        ];
        for outcome in outcomes {
            match outcome {
                Err(Error::Unavailable(trouble)) => {
                    assert!(trouble.to_string().contains("s3://photos/pinhole/"), "{trouble}");
                    assert!(trouble.remedy().contains("AWS_ENDPOINT_URL"), "{trouble}: {}", trouble.remedy());
                }
                other => panic!("{other:?}"),
            }
        }
    };
    tokio::time::timeout(limit, work).await.expect("gives up in time");
}

#[tokio::test]
async fn uploads_arrive_on_the_disk_wherever_photos_are_kept() {
    for location in [Location::DataFolder, nowhere()] {
        let case = Case::open(&location);
        let mut spool = case.blobs.spool().await.unwrap();
        spool.write(b"half ").await.unwrap();
        spool.write(b"and half").await.unwrap();
        assert_eq!(spool.finish().await.unwrap().read().unwrap(), b"half and half");
    }
}

#[test]
fn a_store_must_not_be_reached_without_encryption_by_accident() {
    let data = tempfile::tempdir().unwrap();
    let endpoint: (OsString, OsString) = ("AWS_ENDPOINT_URL".into(), "http://192.0.2.1".into());
    let account = Account::from_variables([endpoint]);
    let location = Location::Bucket { url: "s3://photos".parse().unwrap(), account };
    let refused = failure(Blobs::open(data.path(), &location));
    assert!(refused.contains("http://192.0.2.1") && refused.contains("AWS_ALLOW_HTTP"), "{refused}");
}
