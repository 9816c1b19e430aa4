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
    assert!(matches!(read(&without_files), Err(ArchiveError::Damaged { .. })));

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

/// Reads past damage; returns the rows that are left, and the damage.
fn read_past_damage(archive: &[u8]) -> (Vec<ExportRow>, Vec<String>) {
    let mut reader = Reader::new(archive);
    let (mut rows, mut damage) = (Vec::new(), Vec::new());
    loop {
        match reader.next() {
            Ok(Some(Item::Rows(batch))) => rows.extend(batch),
            Ok(Some(_)) => {}
            Ok(None) => return (rows, damage),
            Err(error @ ArchiveError::Damaged { .. }) => damage.push(error.to_string()),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn everything_that_does_not_depend_on_the_damage_can_be_read() {
    let intact = archive(PhotoChanges::default());
    let find = |text: &str| intact.windows(text.len()).position(|window| window == text.as_bytes()).unwrap();
    let count = |rows: &[ExportRow]| {
        let count = |table| rows.iter().filter(|row| row.table() == table).count();
        [Table::Photos, Table::Users, Table::Posts, Table::Likes, Table::Sequences].map(count)
    };
    let all = count(&rows());
    assert_eq!(all, [3, 2, 2, 4, 1], "photos, users, posts, likes, sequences");
    let cases: [(&str, usize, &[&str], [usize; 5]); 5] = [
        (
            "the file of a photo with a post",
            find("master"),
            &["photos/", "checksum", "line 1 (id ", "its files are not in the archive", "there is no photo"],
            [2, 2, 1, 2, 1],
        ),
        (
            "the header of a photo's file",
            find(&format!("photos/{}/8", photo(3))),
            &["the header after it is invalid", "facts/users/000001/rows.jsonl line 2 (id 2)"],
            [2, 2, 2, 4, 1],
        ),
        (
            "the name of a user",
            find("\"User1\"") + 1,
            &["facts/users/000001/rows.jsonl line 1 (id 1)", "username_key", "there is no user 1"],
            [3, 1, 0, 0, 1],
        ),
        (
            "the syntax of a row",
            find("{\"user_id\":1,\"post_id\":2"),
            &["facts/likes/000001/rows.jsonl line 2", "not a row of likes"],
            [3, 2, 2, 3, 1],
        ),
        ("the manifest", find("\"deleted_meanwhile\""), &["manifest.json"], all),
    ];
    for (what, at, expected, left) in cases {
        let mut damaged = intact.clone();
        damaged[at] ^= 1;
        let (rows, damage) = read_past_damage(&damaged);
        let damage = damage.join("\n");
        assert_eq!(count(&rows), left, "{what}:\n{damage}");
        for part in expected {
            assert!(damage.contains(part), "{what}: {part:?} is missing in\n{damage}");
        }
    }
}
