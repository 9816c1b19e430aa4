//! Exports, imports and integrity checks.

use std::ops::ControlFlow;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use model::{Alt, PhotoId, PostId, Token, UserId};
use store::{
    BlobState, Created, Error, ExportRow, NewSession, NewUser, Original, Overdue, Sink, Store, Table,
};

use crate::case::{Case, LONG_AGO, NOW, Place, new_post, photo};

/// Keeps rows, up to a limit.
struct Rows {
    rows: Vec<ExportRow>,
    limit: usize,
}

impl Sink for Rows {
    fn take(&mut self, row: ExportRow) -> ControlFlow<()> {
        self.rows.push(row);
        if self.rows.len() == self.limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

async fn export(store: &Store, limit: usize) -> Vec<ExportRow> {
    store.export(Rows { rows: Vec::new(), limit }).await.unwrap().rows
}

/// Rows in every table: users with and without photos, posts, likes, keys, and an id that was used in vain.
async fn fill(case: &Case) {
    let (ada, bob) = (case.user("Ada").await, case.user("bob").await);
    case.portrait(ada.id, 50).await;
    let post = case.post(ada.id, 1).await;
    case.store.claim_photo(photo(2).id, NOW).await.unwrap();
    let mut new = new_post(bob.id, 2, Some("k"));
    new.photo.photo.alt = Alt::parse("swans".into()).unwrap();
    new.photo.original = Some(Original { format: "webp", orientation: 6 });
    case.store.create_post(new).await.unwrap();
    for user in [ada.id, bob.id] {
        case.store.like(user, post.id, NOW).await.unwrap();
    }
    let gone = case.post(bob.id, 3).await;
    case.store.delete_post(gone.id, None, NOW).await.unwrap();
    case.store.claim_photo(photo(4).id, NOW).await.unwrap();
}

pub(crate) async fn what_one_database_exports_another_imports(case: Case) {
    fill(&case).await;
    for new in [Case::on_sqlite().await, Case::on_postgres().await] {
        assert_moves(&case, new).await;
    }
}

async fn assert_moves(old: &Case, new: Case) {
    let before = export(&old.store, usize::MAX).await;
    let tables: Vec<Table> = before.iter().map(ExportRow::table).collect();
    assert!(tables.is_sorted() && Table::ALL.iter().all(|table| tables.contains(table)), "{tables:?}");

    // Nothing comes in without its bytes, and a failure leaves nothing.
    let import =
        async |rows: Vec<ExportRow>| new.store.import(BlobState::Claimed, rows.into_iter().map(Ok)).await;
    let refused = import(before.clone()).await.unwrap_err();
    assert!(matches!(refused, Error::Refused(_)), "{refused}");
    let photos = before.iter().filter_map(|row| match row {
        ExportRow::Photo(photo) => Some(photo.id),
        _ => None,
    });
    let photos: Vec<PhotoId> = photos.collect();
    for _ in 0..2 {
        new.store.claim_photos(photos.clone(), NOW).await.unwrap();
    }
    let broken = before.iter().cloned().map(Ok).chain([Err(Error::Refused("on purpose".into()))]);
    new.store.import(BlobState::Claimed, broken.collect::<Vec<_>>().into_iter()).await.unwrap_err();
    let counts = new.store.table_counts().await.unwrap();
    assert!(counts.is_empty() && counts.uploads == 3, "{counts:?}");

    let counts = import(before.clone()).await.unwrap();
    assert_eq!((counts.users, counts.posts, counts.photos, counts.likes), (2, 2, 3, 2));
    assert_eq!((counts.sessions, counts.idempotency_keys, counts.uploads, counts.removals), (2, 1, 0, 0));
    assert_eq!(export(&new.store, usize::MAX).await, before);
    let refused = import(before).await.unwrap_err();
    assert!(refused.to_string().contains("not empty"), "{refused}");

    // Bytes that stay where they are need no claim.
    let beside = Case::on_sqlite().await;
    let rows = export(&old.store, usize::MAX).await.into_iter().map(Ok);
    assert_eq!(beside.store.import(BlobState::InPlace, rows).await.unwrap(), counts);

    // The id of the deleted post is not used again.
    let ada = new.store.user(&"ada".parse().unwrap()).await.unwrap().unwrap();
    assert_eq!(new.post(ada.id, 9).await.id, PostId(4));
    assert_eq!(new.user("carol").await.id, UserId(3));
}

/// A backup holds rows as JSON; an unknown column is refused, because it would be lost.
pub(crate) async fn exported_rows_survive_json_and_nothing_else_does(case: Case) {
    fill(&case).await;
    let sqlite = Case::on_sqlite().await;
    for row in export(&case.store, usize::MAX).await {
        let json = serde_json::to_value(&row).unwrap();
        assert_eq!(row.table().deserialize(json.clone()).unwrap(), row);
        for (column, value) in json.as_object().unwrap() {
            let mut without = json.clone();
            without.as_object_mut().unwrap().remove(column);
            // A backup from before the column existed.
            let restored = row.table().deserialize(without);
            let is_nullable = sqlite.is_nullable(row.table().name(), column).await;
            assert_eq!(restored.is_ok(), is_nullable, "{} without {column}", row.table());
            let mut broken = json.clone();
            broken[column] = serde_json::json!([value]);
            assert!(row.table().deserialize(broken).is_err(), "{column} of {}", row.table());
        }
        let mut more = json;
        more["surprise"] = 1.into();
        assert!(row.table().deserialize(more).is_err(), "an unknown column of {}", row.table());
    }
}

pub(crate) async fn an_export_ends_when_its_sink_breaks(case: Case) {
    fill(&case).await;
    assert_eq!(export(&case.store, 2).await, export(&case.store, usize::MAX).await[..2]);
}

pub(crate) async fn a_photo_that_is_claimed_again_is_not_deleted(case: Case) {
    let (author, later) = (case.user("ada").await.id, NOW.plus(Duration::from_secs(1)));
    let gone = case.post(author, 1).await.photo.id;
    case.store.delete_post(PostId(1), None, NOW).await.unwrap();
    let collected = case.store.pending_deletes(later).await.unwrap();
    assert_eq!(collected, [gone]);
    assert!(case.store.is_delete_pending(gone).await.unwrap());
    // Before it is its turn, a restore claims it, and makes it a photo.
    case.store.claim_photos(collected, later).await.unwrap();
    assert!(!case.store.is_delete_pending(gone).await.unwrap());
    assert!(matches!(case.store.create_post(new_post(author, 1, None)).await.unwrap(), Created::New(_)));
    assert!(!case.store.is_delete_pending(gone).await.unwrap());

    // A note beside a row or a claim is wrong: what somebody has or brings is not taken away.
    case.store.claim_photo(photo(2).id, NOW).await.unwrap();
    case.meddle(
        "INSERT INTO removals (photo_id, since)
            SELECT id, 5 FROM photos UNION ALL SELECT photo_id, 5 FROM uploads",
    )();
    let noted = case.store.pending_deletes(later).await.unwrap();
    assert_eq!(noted.len(), 2);
    for photo in noted {
        assert!(!case.store.is_delete_pending(photo).await.unwrap(), "{photo}");
    }
}

/// One of many, with a session that nobody else has.
pub(crate) async fn join(store: &Store, number: u16) -> i64 {
    let username = format!("user{number}").parse().unwrap();
    let new = NewUser { username, password_hash: "hash".into(), created_at: NOW };
    let mut token = [0; 32];
    token[..2].copy_from_slice(&number.to_be_bytes());
    let session = NewSession { token: Token::new(token).hash(), started_at: NOW };
    store.join(new, session).await.unwrap().unwrap().id.0
}

/// Writes to the database in the middle of an export.
struct Meddler<F> {
    meddle: F,
    seen: Vec<ExportRow>,
}

impl<F: FnMut() + Send + 'static> Sink for Meddler<F> {
    fn take(&mut self, row: ExportRow) -> ControlFlow<()> {
        if self.seen.is_empty() {
            (self.meddle)();
        }
        self.seen.push(row);
        ControlFlow::Continue(())
    }
}

pub(crate) async fn an_export_is_one_snapshot(case: Case) {
    let ada = case.user("ada").await.id;
    let mut members: Vec<i64> = join_all((0..600).map(|n| join(&case.store, n))).await;
    members.push(ada.0);
    members.sort_unstable();
    let post = case.post(ada, 1).await.id;
    let likes = members.iter().map(|id| case.store.like(UserId(*id), post, NOW));
    try_join_all(likes).await.unwrap();

    let other = Store::open_read_only(&case.place.database()).await.unwrap();
    let meddle = case.meddle("DELETE FROM likes; UPDATE posts SET like_count = 0");
    let seen = other.export(Meddler { meddle, seen: Vec::new() }).await.unwrap().seen;
    let liked = seen.iter().filter_map(|row| match row {
        ExportRow::Like(like) => Some(like.user_id.0),
        _ => None,
    });
    assert_eq!(liked.collect::<Vec<_>>(), members, "as it was when it began");
    assert_eq!(other.table_counts().await.unwrap().likes, 0, "a later snapshot sees what came after");
    let refused = other.like(ada, post, NOW).await.unwrap_err();
    assert!(matches!(refused, Error::ReadOnly), "{refused}");
}

pub(crate) async fn integrity_checks_find_what_is_wrong_and_fix_what_they_can(case: Case) {
    fill(&case).await;
    let store = &case.store;
    assert_eq!(store.integrity_errors().await.unwrap(), Vec::<String>::new());
    assert_eq!(store.miscounted().await.unwrap(), []);
    assert_eq!(store.unshown_photos().await.unwrap(), []);
    assert_eq!(store.lagging_sequences().await.unwrap(), Vec::<&str>::new());
    assert_eq!(store.newest().await.unwrap(), NOW);
    assert_eq!(Case::on_sqlite().await.store.newest().await.unwrap(), LONG_AGO);
    for (number, expected) in [(1, true), (3, true), (4, true), (77, false)] {
        assert_eq!(store.expects_bytes(photo(number).id).await.unwrap(), expected, "photo {number}");
    }
    let later = NOW.plus(Duration::from_secs(1));
    assert_eq!(store.overdue(later, later).await.unwrap(), Overdue { uploads: 1, removals: 1, sessions: 2 });
    assert_eq!(store.overdue(NOW, NOW).await.unwrap(), Overdue { uploads: 0, removals: 0, sessions: 0 });

    case.meddle("UPDATE posts SET like_count = 7 WHERE id = 1; UPDATE users SET photo_id = NULL")();
    case.turn_back_post_ids();
    let miscounted = store.miscounted().await.unwrap();
    assert_eq!((miscounted.len(), miscounted[0].post.0, miscounted[0].likes), (1, 1, 2));
    assert_eq!(store.unshown_photos().await.unwrap().len(), 1);
    assert_eq!(store.lagging_sequences().await.unwrap(), ["posts"]);
    // Only SQLite lets its references be broken.
    if let Place::Folder(_) = case.place {
        case.meddle(
            "PRAGMA foreign_keys = OFF; INSERT INTO likes (user_id, post_id, created_at) VALUES (1, 99, 1)",
        )();
        let errors = store.integrity_errors().await.unwrap();
        assert_eq!(errors, ["1 rows of likes point to rows of posts that are not there"]);
    }
    let clock = store.clock().await.unwrap();
    assert_eq!(clock.is_some(), matches!(case.place, Place::Server { .. }), "{clock:?}");

    assert_eq!(store.recount_likes().await.unwrap(), 1);
    assert_eq!(store.fix_sequences().await.unwrap(), 1);
    assert_eq!(store.miscounted().await.unwrap(), []);
    assert_eq!(store.lagging_sequences().await.unwrap(), Vec::<&str>::new());
    assert_eq!(store.post(PostId(1), None).await.unwrap().unwrap().like_count, 2);
}
