//! Round trips and damage of whole archives.

use std::ops::ControlFlow;

use blobs::Part;
use bytes::Bytes;
use model::{PhotoId, Timestamp};
use store::{Fact, LikeFact, PhotoFact, PostFact, SequenceFact, Sink, UserFact};

use super::{ArchiveError, Content, Contents, Manifest, RowSpool, Skipped, SpooledRows, Writer};

const NOW: Timestamp = Timestamp::from_micros(1_794_648_600_000_000);

fn photo(number: u8) -> PhotoId {
    PhotoId::new(NOW, [number; 10])
}

fn files() -> Vec<(Part, Bytes)> {
    vec![(Part::Square(8), Bytes::from_static(b"square")), (Part::Original, Bytes::from_static(b"as sent"))]
}

/// Two members, one with a profile photo, two posts and their likes.
fn facts() -> Vec<Fact> {
    let photos = (1..=3).map(|number| {
        Fact::Photo(PhotoFact {
            id: photo(number),
            width: 8,
            height: 8,
            placeholder: vec![number],
            bytes: 13,
            original: Some("png".into()),
            orientation: Some(1),
            alt: None,
            created_at: 5,
        })
    });
    let users = [(1, None), (2, Some(photo(3)))].map(|(id, photo_id)| {
        Fact::User(UserFact {
            id,
            username: format!("user{id}"),
            username_key: format!("user{id}"),
            password_hash: "hash".into(),
            photo_id,
            created_at: 5,
        })
    });
    let posts = (1..=2).map(|id| {
        Fact::Post(PostFact {
            id,
            user_id: 1,
            photo_id: photo(id as u8),
            width: 8,
            height: 8,
            placeholder: vec![id as u8],
            alt: None,
            message: Some("over\ntwo lines".into()),
            like_count: 2,
            created_at: 5,
        })
    });
    let likes = [(1, 1), (1, 2), (2, 1), (2, 2)]
        .map(|(user_id, post_id)| Fact::Like(LikeFact { user_id, post_id, created_at: 5 }));
    let sequence = Fact::Sequence(SequenceFact { table: "posts".into(), last: 9 });
    photos.chain(users).chain(posts).chain(likes).chain([sequence]).collect()
}

fn spool() -> SpooledRows {
    let mut spool = RowSpool::all_tables(&std::env::temp_dir()).unwrap();
    for fact in facts() {
        assert_eq!(spool.take(fact), ControlFlow::Continue(()));
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

fn read(archive: &[u8]) -> Result<(Vec<PhotoId>, Vec<Fact>, Manifest), ArchiveError> {
    let mut contents = Contents::new(archive);
    let (mut photos, mut facts, mut end) = (Vec::new(), Vec::new(), None);
    while let Some(content) = contents.next()? {
        match content {
            Content::Photo(id, found) => {
                assert_eq!(found, files());
                photos.push(id);
            }
            Content::Facts(some) => facts.extend(some),
            Content::End(manifest) => end = Some(manifest),
        }
    }
    Ok((photos, facts, end.unwrap()))
}

#[test]
fn an_archive_round_trips_and_every_flipped_bit_is_detected() {
    let whole = archive(&Skipped::default());
    let (photos, found, manifest) = read(&whole).unwrap();
    assert_eq!((photos, found), ([1, 2, 3].map(photo).to_vec(), facts()));
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
    let kept = facts().into_iter().filter_map(|fact| match fact {
        Fact::Photo(fact) if fact.id != photo(2) => None,
        Fact::Post(post) if post.id == 1 => None,
        Fact::Like(like) if like.post_id == 1 => None,
        Fact::User(user) => Some(Fact::User(UserFact { photo_id: None, ..user })),
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
        assert!(spool.take(Fact::Like(LikeFact { user_id: 1, post_id, created_at: 5 })).is_continue());
    }
    let (archive, manifest) =
        Writer::new(Vec::new(), NOW).finish(&spool.finish().unwrap(), &Skipped::default()).unwrap();
    assert_eq!(manifest.rows["likes"], 12_345);
    let (_, found, _) = read(&archive).unwrap();
    let order = found.into_iter().map(|fact| match fact {
        Fact::Like(like) => like.post_id,
        other => panic!("{other:?}"),
    });
    assert!(order.eq(1..=likes));
    let name = b"facts/likes/000003/rows.jsonl";
    assert!(archive.windows(name.len()).any(|window| window == name));
}
