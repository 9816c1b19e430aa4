//! Round trips and damage of whole archives.

use std::ops::ControlFlow;

use blobs::Part;
use bytes::Bytes;
use model::{PhotoId, PostId, Timestamp, UserId};
use serde_json::json;
use store::{ExportRow, LikeRow, SequenceRow, Sink, Table, UserRow};

use super::{ArchiveError, Content, Contents, Manifest, RowSpool, Skipped, SpooledRows, Writer};

const NOW: Timestamp = Timestamp::from_micros(1_794_648_600_000_000);

fn photo(number: u8) -> PhotoId {
    PhotoId::new(NOW, [number; 10])
}

fn files() -> Vec<(Part, Bytes)> {
    vec![(Part::Square(8), Bytes::from_static(b"square")), (Part::Original, Bytes::from_static(b"as sent"))]
}

/// Two users, one with a photo, two posts and their likes.
fn rows() -> Vec<ExportRow> {
    let photos = (1..=3).map(|number| {
        let row = json!({
            "id": photo(number).to_string(), "width": 8, "height": 8, "placeholder": "AQ==", "bytes": 13,
            "original": "png", "orientation": 1, "created_at": 5,
        });
        (Table::Photos, row)
    });
    let users = [(1, None), (2, Some(photo(3).to_string()))].map(|(id, photo_id)| {
        let row = json!({
            "id": id, "username": "user", "username_key": "user", "password_hash": "hash", "photo_id": photo_id,
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

fn archive(skipped: &Skipped) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), NOW);
    for number in 1..=3 {
        if !skipped.deleted.contains(&photo(number)) {
            writer.photo(photo(number), files()).unwrap();
        }
    }
    writer.finish(&spool(), skipped).unwrap().0
}

fn read(archive: &[u8]) -> Result<(Vec<PhotoId>, Vec<ExportRow>, Manifest), ArchiveError> {
    let mut contents = Contents::new(archive);
    let (mut photos, mut rows, mut end) = (Vec::new(), Vec::new(), None);
    while let Some(content) = contents.next()? {
        match content {
            Content::Photo(id, found) => {
                assert_eq!(found, files());
                photos.push(id);
            }
            Content::Rows(some) => rows.extend(some),
            Content::End(manifest) => end = Some(manifest),
        }
    }
    Ok((photos, rows, end.unwrap()))
}

#[test]
fn an_archive_round_trips_and_every_flipped_bit_is_detected() {
    let whole = archive(&Skipped::default());
    let (photos, found, manifest) = read(&whole).unwrap();
    assert_eq!((photos, found), ([1, 2, 3].map(photo).to_vec(), rows()));
    assert_eq!((manifest.photos, manifest.bytes, manifest.rows["likes"]), (3, 39, 4));
    assert_eq!(manifest.made_at, "2026-11-14T09:30:00+0000");
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!(read(&damaged).is_err(), "byte {at} of {} was changed without an error", whole.len());
    }
}

#[test]
fn posts_of_skipped_photos_are_skipped_with_their_likes() {
    let mut skipped = Skipped::default();
    skipped.deleted.extend([photo(1), photo(3)]);
    let (photos, found, manifest) = read(&archive(&skipped)).unwrap();
    assert_eq!(photos, [photo(2)]);
    let kept = rows().into_iter().filter_map(|row| match row {
        ExportRow::Photo(row) if row.id != photo(2) => None,
        ExportRow::Post(post) if post.id == PostId(1) => None,
        ExportRow::Like(like) if like.post_id == PostId(1) => None,
        ExportRow::User(user) => Some(ExportRow::User(UserRow { photo_id: None, ..user })),
        other => Some(other),
    });
    assert_eq!(found, kept.collect::<Vec<_>>());
    assert_eq!(manifest.deleted_meanwhile, [photo(1), photo(3)].map(|id| id.to_string()));
}

#[test]
fn rows_and_photos_must_agree() {
    // A row without files, and files without a row.
    let mut writer = Writer::new(Vec::new(), NOW);
    writer.photo(photo(1), files()).unwrap();
    let (without_bytes, _) = writer.finish(&spool(), &Skipped::default()).unwrap();
    assert!(matches!(read(&without_bytes), Err(ArchiveError::Damaged { .. })));

    let mut writer = Writer::new(Vec::new(), NOW);
    for number in 1..=4 {
        writer.photo(photo(number), files()).unwrap();
    }
    let (without_row, _) = writer.finish(&spool(), &Skipped::default()).unwrap();
    assert!(
        matches!(read(&without_row), Err(ArchiveError::Damaged { entry, .. }) if entry == "manifest.json")
    );
}

#[test]
fn many_rows_take_several_files() {
    let mut spool = RowSpool::all_tables(&std::env::temp_dir()).unwrap();
    let likes = 12_345;
    for post_id in 1..=likes {
        assert!(spool.take(like(1, post_id)).is_continue());
    }
    let (archive, manifest) =
        Writer::new(Vec::new(), NOW).finish(&spool.finish().unwrap(), &Skipped::default()).unwrap();
    assert_eq!(manifest.rows["likes"], 12_345);
    let (_, found, _) = read(&archive).unwrap();
    let order = found.into_iter().map(|row| match row {
        ExportRow::Like(like) => like.post_id.0,
        other => panic!("{other:?}"),
    });
    assert!(order.eq(1..=likes));
    let name = b"facts/likes/000003/rows.jsonl";
    assert!(archive.windows(name.len()).any(|window| window == name));
}
