//! Exports, imports and integrity checks.

use std::ops::ControlFlow;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use model::{Alt, Bio, Network, PhotoId, PostId, ProfileEdit, Role, Status, Token, TokenHash, UserId};
use store::{
    BlobState, CreateOutcome, Error, ExportRow, Grants, JoinOutcome, NewPost, NewReport, NewSession, NewUser,
    Original, OverdueCounts, Publication, Sink, Store, Table,
};

use crate::communities::{audit, invitation, reason};
use crate::tags::tagged;
use crate::test_database::{LONG_AGO, Location, NOW, TestDatabase, new_post, photo};

/// Collects rows, up to a limit.
struct CollectRows {
    rows: Vec<ExportRow>,
    limit: usize,
}

impl Sink for CollectRows {
    fn take(&mut self, row: ExportRow) -> ControlFlow<()> {
        self.rows.push(row);
        if self.rows.len() == self.limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

async fn export(store: &Store, limit: usize) -> Vec<ExportRow> {
    store.export(CollectRows { rows: Vec::new(), limit }).await.unwrap().rows
}

/// Inserts rows into every table: users with and without a photo, posts, likes, idempotency keys, and a
/// deleted post.
async fn fill(db: &TestDatabase) {
    let (ada, bob) = (db.user("Ada").await, db.user("bob").await);
    db.set_profile_photo(ada.id, 50).await;
    let edit = ProfileEdit { bio: Some(Bio::parse("engines".into()).unwrap()), ..ProfileEdit::default() };
    db.store.edit_profile(ada.id, edit).await.unwrap();
    let codes = vec![TokenHash([7; 32])];
    assert!(db.store.replace_recovery_codes(ada.id, "hash".into(), codes, NOW).await.unwrap());
    let post = db.post(ada.id, 1).await;
    db.store.claim_photo(photo(2).id, NOW).await.unwrap();
    let mut new = new_post(bob.id, 2, Some("k"));
    new.photo.photo.alt = Alt::parse("swans".into()).unwrap();
    new.photo.photo.focus = "0.25,1".parse().unwrap();
    new.content.share_original = true;
    new.photo.original = Some(Original { format: "webp", orientation: 6 });
    db.store.create_post(new).await.unwrap();
    for user in [ada.id, bob.id] {
        db.store.like(user, post.id, NOW).await.unwrap();
    }
    db.store.block(ada.id, bob.id, NOW).await.unwrap();
    db.store.hide_for(bob.id, post.id, NOW).await.unwrap();
    let (reporter, post_id) = (bob.id, Some(post.id));
    let report = NewReport { reporter, user: ada.id, post: post_id, reason: reason("rude"), created_at: NOW };
    db.store.report(report).await.unwrap();
    db.store.create_invitation(invitation(1, Role::Member, 3), None, Some(audit("invite"))).await.unwrap();
    let values = vec![("name", Some("Birds".to_owned()))];
    db.store.set_instance_settings(values, audit("edit_instance")).await.unwrap();
    db.store.set_role(bob.id, Role::Owner, Grants::NONE, audit("set_role")).await.unwrap();
    let deleted = db.post(bob.id, 3).await;
    db.store.delete_post(deleted.id, None, NOW, None).await.unwrap();
    db.store.claim_photo(photo(5).id, NOW).await.unwrap();
    let publication = Some(Publication { source: photo(99).id, created_at: NOW });
    db.store.create_post(NewPost { publication, ..new_post(bob.id, 5, None) }).await.unwrap();
    db.store.claim_photo(photo(4).id, NOW).await.unwrap();
    let (dave, spam) = (db.user("dave").await.id, Some(reason("spam")));
    db.store.set_status(dave, Status::Suspended, spam, Grants::NONE, audit("suspend")).await.unwrap();
    db.store.mark_deleted(dave, None, NOW, None).await.unwrap();
    db.finish_deletion(dave).await;
}

pub(crate) async fn an_export_of_either_database_imports_into_either(db: TestDatabase) {
    fill(&db).await;
    for new in [TestDatabase::on_sqlite().await, TestDatabase::on_postgres().await] {
        assert_transfers(&db, new).await;
    }
}

async fn assert_transfers(old: &TestDatabase, new: TestDatabase) {
    let before = export(&old.store, usize::MAX).await;
    let tables: Vec<Table> = before.iter().map(ExportRow::table).collect();
    assert!(tables.is_sorted() && Table::ALL.iter().all(|table| tables.contains(table)), "{tables:?}");

    // An import without claims on its photos is rejected, and a failed import is rolled back.
    let import =
        async |rows: Vec<ExportRow>| new.store.import(BlobState::Claimed, rows.into_iter().map(Ok)).await;
    let rejected = import(before.clone()).await.unwrap_err();
    assert!(matches!(rejected, Error::ImportRejected(_)), "{rejected}");
    let photos = before.iter().filter_map(|row| match row {
        ExportRow::Photo(photo) => Some(photo.id),
        _ => None,
    });
    let photos: Vec<PhotoId> = photos.collect();
    for _ in 0..2 {
        new.store.claim_photos(photos.clone(), NOW).await.unwrap();
    }
    let failing = before.iter().cloned().map(Ok).chain([Err(Error::ImportRejected("on purpose".into()))]);
    new.store.import(BlobState::Claimed, failing.collect::<Vec<_>>().into_iter()).await.unwrap_err();
    let counts = new.store.table_counts().await.unwrap();
    assert!(counts.is_empty() && counts.uploads == 4, "{counts:?}");

    let counts = import(before.clone()).await.unwrap();
    assert_eq!((counts.users, counts.posts, counts.photos, counts.likes), (2, 3, 4, 2));
    assert_eq!((counts.sessions, counts.idempotency_keys, counts.uploads, counts.removals), (2, 1, 0, 0));
    assert_eq!(export(&new.store, usize::MAX).await, before);
    assert_eq!(tagged(&new.store, "post").await, tagged(&old.store, "post").await);
    assert_eq!(new.count("SELECT count(*) FROM post_tags").await, 3);
    let rejected = import(before).await.unwrap_err();
    assert!(rejected.to_string().contains("not empty"), "{rejected}");

    // Files that stay in place need no claim.
    let in_place = TestDatabase::on_sqlite().await;
    let rows = export(&old.store, usize::MAX).await.into_iter().map(Ok);
    assert_eq!(in_place.store.import(BlobState::InPlace, rows).await.unwrap(), counts);

    // The id of the deleted post is not used again.
    let ada = new.store.user(&"ada".parse().unwrap()).await.unwrap().unwrap();
    assert_eq!(new.post(ada.id, 9).await.id, PostId(5));
    assert_eq!(new.user("carol").await.id, UserId(4));
}

/// A backup contains rows as JSON. An unknown column is rejected, because its value would be lost.
pub(crate) async fn exported_rows_round_trip_through_json_and_other_json_is_rejected(db: TestDatabase) {
    fill(&db).await;
    let sqlite = TestDatabase::on_sqlite().await;
    for row in export(&db.store, usize::MAX).await {
        let json = serde_json::to_value(&row).unwrap();
        assert_eq!(row.table().deserialize(json.clone()).unwrap(), row);
        for (column, value) in json.as_object().unwrap() {
            let mut without = json.clone();
            without.as_object_mut().unwrap().remove(column);
            // Like a backup from before the column existed.
            let restored = row.table().deserialize(without);
            let has_default = ["role", "status", "share_original"].contains(&column.as_str());
            let is_nullable = has_default || sqlite.is_nullable(row.table().name(), column).await;
            assert_eq!(restored.is_ok(), is_nullable, "{} without {column}", row.table());
            let mut invalid = json.clone();
            invalid[column] = serde_json::json!([value]);
            assert!(row.table().deserialize(invalid).is_err(), "{column} of {}", row.table());
        }
        let mut extended = json;
        extended["unknown"] = 1.into();
        assert!(row.table().deserialize(extended).is_err(), "an unknown column of {}", row.table());
    }
}

pub(crate) async fn an_export_ends_when_its_sink_breaks(db: TestDatabase) {
    fill(&db).await;
    assert_eq!(export(&db.store, 2).await, export(&db.store, usize::MAX).await[..2]);
}

pub(crate) async fn a_photo_that_is_claimed_again_is_not_deleted(db: TestDatabase) {
    let (author, later) = (db.user("ada").await.id, NOW.plus(Duration::from_secs(1)));
    let deleted = db.post(author, 1).await.photo.id;
    db.store.delete_post(PostId(1), None, NOW, None).await.unwrap();
    let pending = db.store.pending_deletes(later).await.unwrap();
    assert_eq!(pending, [deleted]);
    assert!(db.store.is_delete_pending(deleted).await.unwrap());
    // A restore claims the photo before its files are deleted, and inserts it again.
    db.store.claim_photos(pending, later).await.unwrap();
    assert!(!db.store.is_delete_pending(deleted).await.unwrap());
    assert!(matches!(db.store.create_post(new_post(author, 1, None)).await.unwrap(), CreateOutcome::New(_)));
    assert!(!db.store.is_delete_pending(deleted).await.unwrap());

    // A row in `removals` does not delete the files of a photo that has a row or a claim.
    db.store.claim_photo(photo(2).id, NOW).await.unwrap();
    db.execute_directly(
        "INSERT INTO removals (photo_id, since)
            SELECT id, 5 FROM photos UNION ALL SELECT photo_id, 5 FROM uploads",
    )();
    let pending = db.store.pending_deletes(later).await.unwrap();
    assert_eq!(pending.len(), 2);
    for photo in pending {
        assert!(!db.store.is_delete_pending(photo).await.unwrap(), "{photo}");
    }
}

/// Creates the user with this number, with a session token derived from it.
pub(crate) async fn join(store: &Store, number: u16) -> i64 {
    let username = format!("user{number}").parse().unwrap();
    let network = Some(Network::of([192, 0, 2, 7].into()));
    let new = NewUser { network, ..NewUser::new(username, "hash".into(), NOW) };
    let mut token = [0; 32];
    token[..2].copy_from_slice(&number.to_be_bytes());
    let (client, network) = (Some("curl".into()), Some("192.0.2.0/24".into()));
    let session = NewSession { token: Token::new(token).hash(), started_at: NOW, client, network };
    match store.join(new, session, None).await.unwrap() {
        JoinOutcome::Joined(user) => user.id.0,
        outcome => panic!("{outcome:?}"),
    }
}

/// Collects rows, and writes to the database when it gets the first one.
struct WriteDuringExport<F> {
    write: F,
    rows: Vec<ExportRow>,
}

impl<F: FnMut() + Send + 'static> Sink for WriteDuringExport<F> {
    fn take(&mut self, row: ExportRow) -> ControlFlow<()> {
        if self.rows.is_empty() {
            (self.write)();
        }
        self.rows.push(row);
        ControlFlow::Continue(())
    }
}

pub(crate) async fn an_export_is_one_snapshot(db: TestDatabase) {
    let ada = db.user("ada").await.id;
    let mut users: Vec<i64> = join_all((0..600).map(|n| join(&db.store, n))).await;
    users.push(ada.0);
    users.sort_unstable();
    let post = db.post(ada, 1).await.id;
    let likes = users.iter().map(|id| db.store.like(UserId(*id), post, NOW));
    try_join_all(likes).await.unwrap();

    let read_only = Store::open_read_only(&db.location.database()).await.unwrap();
    let write = db.execute_directly("DELETE FROM likes; UPDATE posts SET like_count = 0");
    let rows = read_only.export(WriteDuringExport { write, rows: Vec::new() }).await.unwrap().rows;
    let liked = rows.iter().filter_map(|row| match row {
        ExportRow::Like(like) => Some(like.user_id.0),
        _ => None,
    });
    assert_eq!(liked.collect::<Vec<_>>(), users, "the export must not see writes after it began");
    assert_eq!(read_only.table_counts().await.unwrap().likes, 0, "a later snapshot must see the write");
    let rejected = read_only.like(ada, post, NOW).await.unwrap_err();
    assert!(matches!(rejected, Error::ReadOnly), "{rejected}");
}

pub(crate) async fn integrity_checks_find_and_fix_inconsistencies(db: TestDatabase) {
    fill(&db).await;
    let store = &db.store;
    assert_eq!(store.integrity_errors().await.unwrap(), Vec::<String>::new());
    assert_eq!(store.miscounted_posts().await.unwrap(), []);
    assert_eq!(store.unreferenced_photos().await.unwrap(), []);
    assert_eq!(store.lagging_sequences().await.unwrap(), Vec::<&str>::new());
    assert_eq!(store.newest_timestamp().await.unwrap(), NOW);
    assert_eq!(TestDatabase::on_sqlite().await.store.newest_timestamp().await.unwrap(), LONG_AGO);
    for (number, expected) in [(1, true), (3, true), (4, true), (77, false)] {
        assert_eq!(store.is_photo_referenced(photo(number).id).await.unwrap(), expected, "photo {number}");
    }
    let later = NOW.plus(Duration::from_secs(1));
    assert_eq!(
        store.overdue(later, later).await.unwrap(),
        OverdueCounts { uploads: 1, removals: 1, sessions: 2 }
    );
    assert_eq!(
        store.overdue(NOW, NOW).await.unwrap(),
        OverdueCounts { uploads: 0, removals: 0, sessions: 0 }
    );

    db.execute_directly("UPDATE posts SET like_count = 7 WHERE id = 1; UPDATE users SET photo_id = NULL")();
    db.reset_post_sequence();
    let miscounted = store.miscounted_posts().await.unwrap();
    assert_eq!((miscounted.len(), miscounted[0].post.0, miscounted[0].likes), (1, 1, 2));
    assert_eq!(store.unreferenced_photos().await.unwrap().len(), 1);
    assert_eq!(store.lagging_sequences().await.unwrap(), ["posts"]);
    db.execute_directly(match db.location {
        Location::Folder(_) => {
            "PRAGMA foreign_keys = OFF; INSERT INTO likes (user_id, post_id, created_at) VALUES (1, 99, 1)"
        }
        Location::Server { .. } => "INSERT INTO likes (user_id, post_id, created_at) VALUES (1, 99, 1)",
    })();
    let errors = store.integrity_errors().await.unwrap();
    assert_eq!(errors, ["1 rows of likes reference missing rows of posts"]);
    let clock = store.clock().await.unwrap();
    assert_eq!(clock.is_some(), matches!(db.location, Location::Server { .. }), "{clock:?}");

    assert_eq!(store.recount_likes().await.unwrap(), 1);
    assert_eq!(store.fix_sequences().await.unwrap(), 1);
    assert_eq!(store.miscounted_posts().await.unwrap(), []);
    assert_eq!(store.lagging_sequences().await.unwrap(), Vec::<&str>::new());
    assert_eq!(store.post(PostId(1), None).await.unwrap().unwrap().like_count, 2);
}
