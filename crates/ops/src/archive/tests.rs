//! Archives round-trip, and damage to them is detected.

use std::ops::ControlFlow;

use blobs::PhotoFile;
use bytes::Bytes;
use model::{PhotoId, PostId, Timestamp, UserId};
use serde_json::json;
use store::{ExportRow, LikeRow, SequenceRow, Sink, Table, UserRow};

use super::{ArchiveError, Item, Manifest, PhotoChanges, Reader, RowSpool, SpooledRows, Writer};

const NOW: Timestamp = Timestamp::from_micros(1_794_648_600_000_000);

const HASH: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$AwMDAwMDAwMDAwMDAwMDAw$1RpFwQ8K1mUz0kqD3kV0Q0d4yq6iX8nT2l9n4Q5eJ1M";

fn photo(number: u8) -> PhotoId {
    PhotoId::new(NOW, [number; 10])
}

fn files() -> Vec<(PhotoFile, Bytes)> {
    vec![
        (PhotoFile::Master(8), Bytes::from_static(b"master")),
        (PhotoFile::Original, Bytes::from_static(b"as sent")),
    ]
}

/// Two users, one with a profile photo, two posts and their likes.
fn rows() -> Vec<ExportRow> {
    let photos = (1..=3).map(|number| {
        let row = json!({
            "id": photo(number).to_string(), "width": 8, "height": 8, "placeholder": "AQ==", "bytes": 13,
            "original": "png", "orientation": 1, "created_at": 5,
        });
        (Table::Photos, row)
    });
    let users = [(1, None), (2, Some(photo(3).to_string()))].map(|(id, photo_id)| {
        let (username, key) = (format!("User{id}"), format!("user{id}"));
        let row = json!({
            "id": id, "username": username, "username_key": key, "password_hash": HASH, "photo_id": photo_id,
            "created_at": 5,
        });
        (Table::Users, row)
    });
    let posts = (1..=2).map(|id| {
        let row = json!({
            "id": id, "user_id": 1, "photo_id": photo(id).to_string(), "width": 8, "height": 8,
            "placeholder": "AQ==", "message": "over\ntwo lines", "like_count": 2, "created_at": 5,
        });
        (Table::Posts, row)
    });
    let rows = photos.chain(users).chain(posts).map(|(table, row)| table.deserialize(row).unwrap());
    let likes = [(1, 1), (1, 2), (2, 1), (2, 2)].map(|(user, post)| like(user, post));
    let sequence = ExportRow::Sequence(SequenceRow { table: "posts".into(), last: 9 });
    rows.chain(likes).chain([sequence]).collect()
}

fn like(user: i64, post: i64) -> ExportRow {
    let created_at = Timestamp::from_micros(5);
    ExportRow::Like(LikeRow { user_id: UserId(user), post_id: PostId(post), created_at })
}

fn spool() -> SpooledRows {
    let mut spool = RowSpool::all_tables(&std::env::temp_dir()).unwrap();
    for row in rows() {
        assert_eq!(spool.take(row), ControlFlow::Continue(()));
    }
    spool.finish().unwrap()
}

fn archive(changes: PhotoChanges) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), NOW);
    writer.copy_of_rows(&spool()).unwrap();
    write_photos(writer, changes)
}

/// In format version 1, which had no copy of the rows.
fn old_archive() -> Vec<u8> {
    write_photos(Writer::new(Vec::new(), NOW), PhotoChanges::default())
}

fn write_photos(mut writer: Writer<Vec<u8>>, changes: PhotoChanges) -> Vec<u8> {
    for number in 1..=3 {
        if !changes.deleted.contains(&photo(number)) {
            writer.photo(photo(number), files()).unwrap();
        }
    }
    writer.finish(&spool(), changes).unwrap().0
}

fn read(archive: &[u8]) -> Result<(Vec<PhotoId>, Vec<ExportRow>, Manifest), ArchiveError> {
    let mut reader = Reader::new(archive);
    let (mut photos, mut rows, mut end) = (Vec::new(), Vec::new(), None);
    while let Some(item) = reader.next()? {
        match item {
            Item::Photo(id, photo_files) => {
                assert_eq!(photo_files, files());
                photos.push(id);
            }
            Item::Rows(batch) => rows.extend(batch),
            Item::End(manifest) => end = Some(manifest),
        }
    }
    Ok((photos, rows, end.unwrap()))
}

#[test]
fn an_archive_round_trips_and_every_flipped_bit_is_detected() {
    let intact = archive(PhotoChanges::default());
    let (photos, read_rows, manifest) = read(&intact).unwrap();
    assert_eq!((photos, read_rows), ([1, 2, 3].map(photo).to_vec(), rows()));
    assert_eq!((manifest.photos, manifest.bytes, manifest.rows["likes"]), (3, 39, 4));
    assert_eq!(manifest.made_at, "2026-11-14T09:30:00+0000");
    for at in 0..intact.len() {
        let mut damaged = intact.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!(read(&damaged).is_err(), "byte {at} of {} was changed without an error", intact.len());
    }
}

#[test]
fn posts_of_skipped_photos_are_skipped_with_their_likes() {
    let mut skipped = PhotoChanges::default();
    skipped.deleted.extend([photo(1), photo(3)]);
    let (photos, read_rows, manifest) = read(&archive(skipped)).unwrap();
    assert_eq!(photos, [photo(2)]);
    let expected = rows().into_iter().filter_map(|row| match row {
        ExportRow::Photo(row) if row.id != photo(2) => None,
        ExportRow::Post(post) if post.id == PostId(1) => None,
        ExportRow::Like(like) if like.post_id == PostId(1) => None,
        ExportRow::User(user) => Some(ExportRow::User(UserRow { photo_id: None, ..user })),
        other => Some(other),
    });
    assert_eq!(read_rows, expected.collect::<Vec<_>>());
    assert_eq!(manifest.deleted_meanwhile, [photo(1), photo(3)].map(|id| id.to_string()));
}

#[test]
fn a_photo_row_without_files_and_files_without_a_row_are_damage() {
    let mut writer = Writer::new(Vec::new(), NOW);
    writer.photo(photo(1), files()).unwrap();
    let (without_files, _) = writer.finish(&spool(), PhotoChanges::default()).unwrap();
    assert!(matches!(read(&without_files), Err(ArchiveError::InvalidRow { .. })));

    let mut writer = Writer::new(Vec::new(), NOW);
    for number in 1..=4 {
        writer.photo(photo(number), files()).unwrap();
    }
    let (without_row, _) = writer.finish(&spool(), PhotoChanges::default()).unwrap();
    assert!(
        matches!(read(&without_row), Err(ArchiveError::Damaged { entry, .. }) if entry == "manifest.json")
    );
}

#[test]
fn more_rows_than_fit_one_file_are_split_over_several() {
    let mut spool = RowSpool::all_tables(&std::env::temp_dir()).unwrap();
    let keys = (1..=12_345).map(|number| format!("key-{number:05}"));
    let user = rows().into_iter().find(|row| row.table() == Table::Users).unwrap();
    assert!(spool.take(user).is_continue());
    for key in keys.clone() {
        let row = json!({ "user_id": 1, "key": key, "post_id": 1, "created_at": 5 });
        assert!(spool.take(Table::IdempotencyKeys.deserialize(row).unwrap()).is_continue());
    }
    let (archive, manifest) =
        Writer::new(Vec::new(), NOW).finish(&spool.finish().unwrap(), PhotoChanges::default()).unwrap();
    assert_eq!(manifest.rows["idempotency_keys"], 12_345);
    let (_, read_rows, _) = read(&archive).unwrap();
    let order = read_rows.into_iter().skip(1).map(|row| match row {
        ExportRow::IdempotencyKey(row) => row.key,
        other => panic!("{other:?}"),
    });
    assert!(order.eq(keys));
    let name = b"facts/idempotency_keys/000003/rows.jsonl";
    assert!(archive.windows(name.len()).any(|window| window == name));
}

/// What is left of a damaged archive: its photos, its rows, and a line for each damage.
fn salvage(archive: &[u8]) -> (Vec<PhotoId>, Vec<ExportRow>, Vec<String>) {
    let mut reader = Reader::salvaging(archive).unwrap();
    let (mut photos, mut rows, mut damage) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        match reader.next() {
            Ok(Some(Item::Photo(id, _))) => photos.push(id),
            Ok(Some(Item::Rows(batch))) => rows.extend(batch),
            Ok(Some(Item::End(_))) => {}
            Ok(None) => return (photos, rows, damage),
            Err(error) if error.is_damage() => damage.push(error.to_string()),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Photos, users, posts, likes, sequences.
fn count(rows: &[ExportRow]) -> [usize; 5] {
    let count = |table| rows.iter().filter(|row| row.table() == table).count();
    [Table::Photos, Table::Users, Table::Posts, Table::Likes, Table::Sequences].map(count)
}

fn find(archive: &[u8], text: &str) -> usize {
    archive.windows(text.len()).position(|window| window == text.as_bytes()).unwrap()
}

/// What is damaged, the archive, where, parts of the report, and the counts of the rows that are left.
type Case<'a> = (&'a str, &'a [u8], usize, &'a [&'a str], [usize; 5]);

#[test]
fn everything_that_does_not_depend_on_the_damage_can_be_read() {
    let all = count(&rows());
    assert_eq!(all, [3, 2, 2, 4, 1]);
    let (current, old) = (archive(PhotoChanges::default()), old_archive());
    let cases: [Case; 10] = [
        (
            "the only master of a photo with a post, without an original that could be decoded",
            &current,
            find(&current, "master"),
            &["photos/", "checksum", "line 1 (id ", "its files are not in the archive", "there is no photo"],
            [2, 2, 1, 2, 1],
        ),
        (
            "an original",
            &current,
            find(&current, "as sent"),
            &["/original is damaged: its checksum", "/original is damaged or lost; the images are intact"],
            all,
        ),
        (
            "the header of an original",
            &current,
            find(&current, "/original"),
            &["the header after it is invalid", "/original is damaged or lost; the images are intact"],
            all,
        ),
        (
            "the header of a photo's master",
            &old,
            find(&old, &format!("photos/{}/8", photo(3))),
            &[
                "the header after it is invalid",
                "facts/users/000001/rows.jsonl line 2 (id 2)",
                "kept without",
            ],
            [2, 2, 2, 4, 1],
        ),
        (
            "the only checksum of an original",
            &current,
            find(&current, "  original"),
            &["SHA256SUMS is damaged"],
            all,
        ),
        (
            "the name of a user",
            &old,
            find(&old, "\"User1\"") + 1,
            &["facts/users/000001/rows.jsonl line 1 (id 1)", "username_key", "there is no user 1"],
            [3, 1, 0, 0, 1],
        ),
        (
            "the syntax of a row",
            &old,
            find(&old, "{\"user_id\":1,\"post_id\":2"),
            &["facts/likes/000001/rows.jsonl line 2", "not a row of likes"],
            [3, 2, 2, 3, 1],
        ),
        (
            "a row of which there is a copy",
            &current,
            find(&current, "facts/posts") + 512,
            &["facts/posts/000001/rows.jsonl is damaged", "posts are completed from the copy"],
            all,
        ),
        (
            "the header of rows of which there is a copy",
            &current,
            find(&current, "facts/users"),
            &["the header after it is invalid", "users are completed from the copy"],
            all,
        ),
        ("the manifest", &current, find(&current, "\"deleted_meanwhile\""), &["manifest.json"], all),
    ];
    for (what, archive, at, expected, left) in cases {
        let mut damaged = archive.to_vec();
        damaged[at] ^= 1;
        let (_, rows, damage) = salvage(&damaged);
        let damage = damage.join("\n");
        assert_eq!(count(&rows), left, "{what}:\n{damage}");
        for part in expected {
            assert!(damage.contains(part), "{what}: {part:?} is missing in\n{damage}");
        }
    }
}

#[test]
fn a_flipped_bit_anywhere_loses_no_row_but_those_of_its_photo() {
    let intact = archive(PhotoChanges::default());
    let photos = find(&intact, &format!("photos/{}", photo(1)))..find(&intact, "facts/");
    // A prime, so that all columns of headers are hit.
    for at in (0..intact.len()).step_by(13) {
        let mut damaged = intact.clone();
        damaged[at] ^= 1 << (at % 8);
        let (_, left, damage) = salvage(&damaged);
        assert!(!damage.is_empty(), "byte {at} was changed without a word");
        if photos.contains(&at) {
            let [photos, users, posts, likes, _] = count(&left);
            assert!(photos >= 2 && users == 2 && posts >= 1 && likes >= 2, "{at}: {damage:?}");
        } else {
            assert_eq!(left, rows(), "byte {at}: {damage:?}");
        }
    }
}

#[test]
fn the_complete_part_of_a_truncated_archive_can_be_read() {
    let intact = archive(PhotoChanges::default());
    let (photos, facts) = (find(&intact, &format!("photos/{}", photo(1))), find(&intact, "facts/"));
    let mut fewest = 0;
    for length in (photos..intact.len() - 1_024).step_by(31) {
        let (photos, left, damage) = salvage(&intact[..length]);
        assert!(damage.iter().any(|line| line.contains("truncated")), "{length}: {damage:?}");
        let [with_row, users, posts, ..] = count(&left);
        // The two posts have the first photos; the third is a profile photo.
        assert_eq!((with_row, users, posts), (photos.len(), 2, photos.len().min(2)), "{length}: {damage:?}");
        assert!(photos.len() >= fewest, "{length}: a longer part has fewer photos");
        fewest = photos.len();
        if length >= facts {
            assert_eq!(left, rows(), "{length}: {damage:?}");
        }
    }
    for length in (0..photos).step_by(31) {
        assert!(!salvage(&intact[..length]).2.is_empty(), "{length}");
    }
}

#[test]
fn posts_that_the_backup_left_out_do_not_return_from_the_copy() {
    let mut skipped = PhotoChanges::default();
    skipped.missing.insert(photo(1));
    let mut writer = Writer::new(Vec::new(), NOW);
    writer.copy_of_rows(&spool()).unwrap();
    for number in 2..=3 {
        writer.photo(photo(number), files()).unwrap();
    }
    let (mut archive, manifest) = writer.finish(&spool(), skipped).unwrap();
    assert_eq!((manifest.missing_posts, manifest.rows["posts"]), (vec![1], 1));
    let at = find(&archive, "facts/posts") + 512;
    archive[at] ^= 1;
    let (_, left, damage) = salvage(&archive);
    assert_eq!(count(&left), [2, 2, 1, 2, 1], "{damage:?}");
    assert!(damage.iter().all(|line| !line.contains("line 1 (id 1)")), "{damage:?}");
}
