//! Photos through the public API, in a folder and in the bucket that `PINHOLE_TEST_S3_URL` names
//! (`s3://bucket/prefix`, with the usual `AWS_…` variables). `scripts/s3` starts a store and sets them;
//! without it the tests fail.

#![allow(clippy::disallowed_methods, reason = "files have real times")]
#![allow(clippy::unwrap_used, reason = "a failed expectation must end the test")]

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use blobs::{Blobs, BucketUrl, CHUNK, Error, Location, PhotoFile, PhotoFiles, S3Config};
use bytes::Bytes;
use model::{PhotoId, Timestamp};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutOptions};
use tempfile::TempDir;

struct Case {
    blobs: Blobs,
    data: TempDir,
    /// `None` for a folder.
    bucket: Option<TestBucket>,
}

impl Case {
    fn open(location: &Location) -> Self {
        let data = tempfile::tempdir().unwrap();
        Self { blobs: Blobs::open(data.path(), location).unwrap(), data, bucket: None }
    }

    /// Changes its last byte, or adds one to an empty file.
    async fn damage_original(&self, photo: PhotoId, length: usize) {
        let damaged = |mut bytes: Vec<u8>| {
            assert_eq!(bytes.len(), length);
            match bytes.last_mut() {
                Some(last) => *last ^= 4,
                None => bytes.push(4),
            }
            bytes
        };
        if let Some(bucket) = &self.bucket {
            let (store, key) = (bucket.store(), bucket.key(photo, "original"));
            let object = store.get(&key).await.unwrap();
            let options = PutOptions { attributes: object.attributes.clone(), ..PutOptions::default() };
            let bytes = damaged(object.bytes().await.unwrap().to_vec());
            store.put_opts(&key, bytes.into(), options).await.unwrap();
        } else {
            let shard = format!("{:02x}", photo.as_bytes()[15]);
            let folder = self.data.path().join("photos").join(shard).join(photo.to_string());
            let file = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
            std::fs::write(&file, damaged(std::fs::read(&file).unwrap())).unwrap();
        }
    }

    async fn read(&self, photo: PhotoId, side: u32) -> Option<Bytes> {
        let reader = self.blobs.file(photo, PhotoFile::Master(side)).await.unwrap()?;
        let length = reader.length();
        let bytes = reader.read().await.unwrap();
        assert_eq!(bytes.len() as u64, length);
        Some(bytes)
    }
}

/// One of each backend.
fn cases() -> Vec<Case> {
    let bucket = TestBucket::from_env();
    let in_bucket = Case::open(&bucket.location());
    vec![Case::open(&Location::DataFolder), Case { bucket: Some(bucket), ..in_bucket }]
}

/// The test bucket, with a prefix of its own for each test.
struct TestBucket {
    url: String,
    prefix: String,
}

impl TestBucket {
    fn from_env() -> Self {
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

    /// With some environment variables replaced.
    fn location_with(&self, replaced: &[(&str, &str)]) -> Location {
        let unchanged =
            std::env::vars_os().filter(|(name, _)| replaced.iter().all(|(other, _)| name != other));
        let replaced = replaced.iter().map(|(name, value)| (name.into(), value.into()));
        let config = S3Config::from_variables(unchanged.chain(replaced));
        Location::Bucket { url: self.url.parse().unwrap(), config }
    }

    /// A client of its own, for writes that bypass `blobs`.
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

fn master(side: u32, text: &'static str) -> (PhotoFile, Bytes) {
    (PhotoFile::Master(side), Bytes::from_static(text.as_bytes()))
}

fn original(text: &'static str) -> (PhotoFile, Bytes) {
    (PhotoFile::Original, Bytes::from_static(text.as_bytes()))
}

fn failure(blobs: Result<Blobs, Error>) -> String {
    blobs.unwrap_err().to_string()
}

#[tokio::test]
async fn masters_are_readable_until_their_photo_is_deleted() {
    for case in cases() {
        let files = vec![master(512, "large"), master(256, "small"), original("the upload")];
        case.blobs.put(photo(1), files).await.unwrap();
        case.blobs.put(photo(2), vec![master(512, "other")]).await.unwrap();

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
async fn a_shard_lists_its_photos_with_files_lengths_and_time() {
    for case in cases() {
        let masters = vec![
            original("as sent"),
            master(256, "small"),
            master(2048, "largest"),
            master(512, "large"),
            (PhotoFile::Fit(700), Bytes::from_static(b"derived")),
        ];
        case.blobs.put(photo(1), masters).await.unwrap();
        case.blobs.put(photo(2), vec![master(8, "tiny")]).await.unwrap();

        let [stored] = &case.blobs.list_shard(1).await.unwrap()[..] else {
            panic!("expected one photo in shard 01")
        };
        let names =
            [PhotoFile::Master(2048), PhotoFile::Master(512), PhotoFile::Master(256), PhotoFile::Original];
        assert_eq!(stored.photo, photo(1));
        assert_eq!(stored.files, names.into_iter().zip([7, 5, 5, 7]).collect::<Vec<_>>());
        let now = SystemTime::now() + Duration::from_secs(60);
        assert!(now.duration_since(stored.since).is_ok_and(|age| age.as_secs() < 3600));
        let files = case.blobs.files(photo(1)).await.unwrap();
        let texts = ["largest", "large", "small", "as sent"].map(|text| Bytes::from_static(text.as_bytes()));
        assert_eq!(files.intact, names.into_iter().zip(texts).collect::<Vec<_>>());
        assert_eq!(case.blobs.files(photo(3)).await.unwrap(), PhotoFiles::default());
        assert!(case.blobs.list_shard(3).await.unwrap().is_empty());
        for seed in [1, 2] {
            case.blobs.delete(photo(seed)).await.unwrap();
            assert!(case.blobs.list_shard(seed).await.unwrap().is_empty());
        }
    }
}

#[tokio::test]
async fn concurrent_puts_of_large_files_store_every_byte() {
    for case in cases() {
        let sides = [2048, 1024, 700, 512, 256, 1];
        let bytes = |side: u32| (0..side * 1_500).map(|at| at.wrapping_mul(side) as u8).collect::<Bytes>();
        let masters = sides.map(|side| (PhotoFile::Master(side), bytes(side)));
        let original = (PhotoFile::Original, Bytes::from(vec![7; 20 << 20]));
        let files = [&masters[..], &[original]].concat();
        let puts = (1..=4).map(|seed| case.blobs.put(photo(seed), files.clone()));
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
async fn a_blob_is_read_in_chunks_of_which_the_last_one_says_that_it_is_intact() {
    for case in cases() {
        for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK + 7].map(|length| length as usize) {
            let sent: Bytes = (0..length).map(|at| (at % 251) as u8).collect();
            case.blobs.put(photo(1), vec![(PhotoFile::Original, sent.clone())]).await.unwrap();
            let mut reader = case.blobs.file(photo(1), PhotoFile::Original).await.unwrap().unwrap();
            let first = sent.slice(..length.min(CHUNK as usize));
            assert_eq!(reader.verify().await.unwrap(), first, "{length} bytes");
            assert_eq!(reader.length(), length as u64);
            for expected in sent.chunks(CHUNK as usize) {
                assert_eq!(reader.next().await.unwrap().unwrap(), expected, "{length} bytes");
            }
            assert_eq!(reader.next().await.unwrap(), None, "{length} bytes");

            case.damage_original(photo(1), length).await;
            let mut reader = case.blobs.file(photo(1), PhotoFile::Original).await.unwrap().unwrap();
            for expected in sent.chunks(CHUNK as usize).rev().skip(1).rev() {
                assert_eq!(reader.next().await.unwrap().unwrap(), expected, "{length} bytes");
            }
            for _ in 0..2 {
                let outcome = reader.next().await;
                assert!(matches!(outcome, Err(Error::Damaged { .. })), "{length} bytes: {outcome:?}");
            }
            let mut reader = case.blobs.file(photo(1), PhotoFile::Original).await.unwrap().unwrap();
            let outcome = reader.verify().await;
            assert!(matches!(outcome, Err(Error::Damaged { .. })), "{length} bytes: {outcome:?}");
            case.blobs.delete(photo(1)).await.unwrap();
        }
    }
}

/// A store with one object, which it never sends to its end: each response ends after 100 kB.
struct InterruptingStore {
    listener: TcpListener,
    object: Mutex<(String, Vec<u8>)>,
}

impl InterruptingStore {
    fn start() -> (Location, Arc<Self>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let location = store_at(&listener);
        let store = Arc::new(Self { listener, object: Mutex::default() });
        let serving = store.clone();
        std::thread::spawn(move || serving.serve());
        (location, store)
    }

    fn serve(&self) {
        for connection in self.listener.incoming() {
            let mut connection = BufReader::new(connection.unwrap());
            let (mut method, mut header) = (String::new(), HashMap::new());
            connection.read_line(&mut method).unwrap();
            loop {
                let mut line = String::new();
                connection.read_line(&mut line).unwrap();
                let Some((name, value)) = line.trim().split_once(": ") else { break };
                header.insert(name.to_ascii_lowercase(), value.to_owned());
            }
            let mut object = self.object.lock().unwrap();
            let response = if method.starts_with("PUT") {
                object.0.clone_from(&header["x-amz-meta-pinhole-crc32"]);
                object.1 = vec![0; header["content-length"].parse().unwrap()];
                connection.read_exact(&mut object.1).unwrap();
                b"HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 0\r\n\r\n".to_vec()
            } else {
                let range = header.get("range").map(|range| range["bytes=".len()..].trim_end_matches('-'));
                let (checksum, length) = (&object.0, object.1.len());
                let start: usize = range.map_or(0, |start| start.parse().unwrap());
                let status = if start > 0 { "206 Partial Content" } else { "200 OK" };
                let head = format!(
                    "HTTP/1.1 {status}\r\nLast-Modified: Sat, 14 Nov 2026 09:30:00 GMT\r\nContent-Length: {}\r\n\
                     Content-Range: bytes {start}-{}/{length}\r\nx-amz-meta-pinhole-crc32: {checksum}\r\n\r\n",
                    length - start,
                    length - 1,
                );
                [head.as_bytes(), &object.1[start..length.min(start + 100_000)]].concat()
            };
            // Fails if the client has what it wanted.
            drop(connection.into_inner().write_all(&response));
        }
    }
}

#[tokio::test]
async fn a_response_that_the_store_ends_early_is_continued() {
    let (location, _store) = InterruptingStore::start();
    let case = Case::open(&location);
    let sent: Bytes = (0..1_000_000).map(|at| (at % 251) as u8).collect();
    case.blobs.replace(photo(1), PhotoFile::Original, sent.clone()).await.unwrap();
    let mut reader = case.blobs.file(photo(1), PhotoFile::Original).await.unwrap().unwrap();
    reader.verify().await.unwrap();
    let mut received = Vec::new();
    while let Some(chunk) = reader.next().await.unwrap() {
        received.extend_from_slice(&chunk);
    }
    assert!(received == sent);
    let reader = case.blobs.file(photo(1), PhotoFile::Original).await.unwrap().unwrap();
    assert!(reader.read().await.unwrap() == sent);
}

#[tokio::test]
async fn a_bucket_uses_the_names_of_a_folder_and_is_empty_after_a_delete() {
    let bucket = TestBucket::from_env();
    let (case, store) = (Case::open(&bucket.location()), bucket.store());
    let fits = [2048, 900].map(|side| (PhotoFile::Fit(side), Bytes::from_static(b"whole")));
    let files = [master(700, "top"), master(512, "middle"), master(256, "small"), original("sent")];
    case.blobs.put(photo(1), [&files[..], &fits].concat()).await.unwrap();
    let names =
        [("700", "top"), ("512", "middle"), ("256", "small"), ("original", "sent"), ("fit900", "whole")];
    for (name, text) in names {
        let object = store.get(&bucket.key(photo(1), name)).await.unwrap();
        assert_eq!(object.bytes().await.unwrap(), text, "the object must be the file, byte for byte");
    }
    case.blobs.delete(photo(1)).await.unwrap();
    case.blobs.ping().await.unwrap();
    let remaining: Vec<_> =
        futures_util::StreamExt::collect(store.list(Some(&bucket.prefix.as_str().into()))).await;
    assert!(remaining.is_empty(), "{remaining:?}");
}

#[tokio::test]
async fn an_object_that_fails_its_checksum_is_damaged() {
    let bucket = TestBucket::from_env();
    let (case, store) = (Case::open(&bucket.location()), bucket.store());
    for seed in [1, 2] {
        case.blobs.put(photo(seed), vec![master(512, "large"), master(256, "small")]).await.unwrap();
    }
    let key = |seed, name| bucket.key(photo(seed), name);
    // Objects with the checksum of other bytes or of another key.
    let attributes = store.get(&key(1, "512")).await.unwrap().attributes;
    let options = PutOptions { attributes, ..PutOptions::default() };
    for (seed, name, bytes) in [(1, "512", "largf"), (1, "256", "small"), (2, "512", "larg")] {
        store.put_opts(&key(seed, name), bytes.into(), options.clone()).await.unwrap();
    }
    // An object without a checksum.
    store.put(&key(2, "256"), "small".into()).await.unwrap();
    for (seed, side) in [(1, 512), (1, 256), (2, 512), (2, 256)] {
        let reader = case.blobs.file(photo(seed), PhotoFile::Master(side)).await.unwrap().unwrap();
        let outcome = reader.read().await;
        assert!(matches!(outcome, Err(Error::Damaged { .. })), "{side} of {seed}: {outcome:?}");
    }
    let rebuilt = (PhotoFile::Master(512), Bytes::from_static(b"rebuilt"));
    case.blobs.replace(photo(1), rebuilt.0, rebuilt.1.clone()).await.unwrap();
    let files = case.blobs.files(photo(1)).await.unwrap();
    assert_eq!((files.intact, files.damaged), (vec![rebuilt], vec![PhotoFile::Master(256)]));
    for seed in [1, 2] {
        case.blobs.delete(photo(seed)).await.unwrap();
    }
}

#[tokio::test]
async fn a_rejected_request_names_the_setting_to_correct() {
    let bucket = TestBucket::from_env();
    let missing = TestBucket { url: "s3://pinhole-no-such-bucket/x".into(), prefix: "x".into() };
    for (location, remedy) in [
        (bucket.location_with(&[("AWS_SECRET_ACCESS_KEY", "wrong")]), "AWS_SECRET_ACCESS_KEY"),
        (bucket.location_with(&[("AWS_ACCESS_KEY_ID", "unknown")]), "AWS_ACCESS_KEY_ID"),
        (missing.location(), "PINHOLE_BLOBS_URL"),
    ] {
        match Case::open(&location).blobs.ping().await {
            Err(Error::Unavailable(error)) => {
                assert!(error.remedy().contains(remedy), "{error}: {}", error.remedy());
            }
            other => panic!("{remedy}: {other:?}"),
        }
    }
    // A missing bucket must not look like a missing photo.
    let outcome = Case::open(&missing.location()).blobs.file(photo(1), PhotoFile::Master(512)).await;
    assert!(matches!(outcome, Err(Error::Unavailable(_))), "{outcome:?}");
}

/// A store at an address where no process listens.
fn unreachable_store() -> Location {
    store_at(&TcpListener::bind("127.0.0.1:0").unwrap())
}

fn store_at(listener: &TcpListener) -> Location {
    let address = listener.local_addr().unwrap();
    let variables = [
        ("AWS_ENDPOINT_URL".into(), format!("http://{address}").into()),
        ("AWS_ALLOW_HTTP".into(), "true".into()),
        ("AWS_ACCESS_KEY_ID".into(), "key".into()),
        ("AWS_SECRET_ACCESS_KEY".into(), "secret".into()),
    ];
    let config = S3Config::from_variables(variables);
    Location::Bucket { url: "s3://photos/pinhole".parse().unwrap(), config }
}

#[tokio::test]
async fn an_unreachable_store_is_not_reported_as_a_missing_photo() {
    let case = Case::open(&unreachable_store());
    let limit = Duration::from_secs(30);
    let work = async {
        let outcomes = [
            case.blobs.put(photo(1), vec![master(512, "large")]).await,
            case.blobs
                .file(photo(1), PhotoFile::Master(512))
                .await
                .map(|reader| assert!(reader.is_none(), "expected an error")),
            case.blobs.delete(photo(1)).await,
            case.blobs.ping().await,
        ];
        for outcome in outcomes {
            match outcome {
                Err(Error::Unavailable(error)) => {
                    assert!(error.to_string().contains("s3://photos/pinhole/"), "{error}");
                    assert!(error.remedy().contains("AWS_ENDPOINT_URL"), "{error}: {}", error.remedy());
                }
                other => panic!("{other:?}"),
            }
        }
    };
    tokio::time::timeout(limit, work).await.expect("every request must fail within the limit");
}

#[tokio::test]
async fn uploads_are_spooled_to_the_local_disk_with_either_backend() {
    for location in [Location::DataFolder, unreachable_store()] {
        let case = Case::open(&location);
        let mut spool = case.blobs.spool().await.unwrap();
        spool.write(b"half ").await.unwrap();
        spool.write(b"and half").await.unwrap();
        assert_eq!(spool.finish().await.unwrap().read().unwrap(), b"half and half");
    }
}

#[test]
fn plain_http_to_a_store_must_be_allowed_explicitly() {
    let data = tempfile::tempdir().unwrap();
    let endpoint: (OsString, OsString) = ("AWS_ENDPOINT_URL".into(), "http://192.0.2.1".into());
    let config = S3Config::from_variables([endpoint]);
    let location = Location::Bucket { url: "s3://photos".parse().unwrap(), config };
    let error = failure(Blobs::open(data.path(), &location));
    assert!(error.contains("http://192.0.2.1") && error.contains("AWS_ALLOW_HTTP"), "{error}");
}
