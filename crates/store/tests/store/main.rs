//! Tests of the store's public interface on real databases, most of them on both SQLite and PostgreSQL. They
//! call every function, so every statement runs on both.

#![allow(clippy::unwrap_used, reason = "a failed expectation ends the test")]

mod authority;
mod communities;
mod connection_loss;
mod nodes;
mod quotas;
mod replica;
mod tags;
mod test_database;
mod transfer;

use std::time::Duration;

use model::{
    Alt, FeedStart, Limit, Message, Photo, PostEdit, PostFilter, PostId, RequestDigest, UserId, Username,
};
use store::{AccessCheck, CreateOutcome, Exclusions, LikeOutcome, Original, ProfilePhotoOutcome, Replay};

use authority::{
    a_new_password_a_reset_and_a_recovery_end_all_other_access,
    the_name_of_a_suspended_or_banned_account_is_held,
    what_a_user_has_granted_ends_with_the_right_to_grant_it,
};
use communities::{
    a_deleted_account_is_hidden_at_once_and_then_removed,
    a_hidden_post_cannot_be_liked_and_its_photo_is_not_shown,
    a_moderator_sees_no_reports_about_themselves_and_owners, a_page_reads_a_bounded_number_of_excluded_posts,
    an_instance_keeps_an_owner_and_an_audit_log, an_invitation_is_used_as_often_as_it_says,
    blocks_and_reports_are_stored_once, pages_and_offsets_leave_out_what_is_excluded,
    what_moderators_removed_is_known_to_imports,
};
use quotas::{
    a_maker_has_a_limited_number_of_invitations, a_quota_of_bytes_counts_profile_photos_and_parts_of_uploads,
    a_quota_of_bytes_is_not_exceeded, a_quota_of_posts_counts_deleted_ones_for_a_day,
};
use tags::{posts_from_before_the_index_are_indexed, tags_follow_the_message_of_their_post};
use test_database::{LONG_AGO, NOW, TestDatabase, feed, new_photo, new_post, photo, seed, session};
use transfer::{
    a_photo_that_is_claimed_again_is_not_deleted, an_export_ends_when_its_sink_breaks,
    an_export_is_one_snapshot, an_export_of_either_database_imports_into_either,
    exported_rows_round_trip_through_json_and_other_json_is_rejected,
    integrity_checks_find_and_fix_inconsistencies,
};

/// Generates two tests of each function, one for each database.
macro_rules! on_both_databases {
    ($($test:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $test() {
                super::$test(super::TestDatabase::on_sqlite().await).await;
            })*
        }

        mod postgres {
            $(#[tokio::test]
            async fn $test() {
                super::$test(super::TestDatabase::on_postgres().await).await;
            })*
        }
    };
}

on_both_databases! {
    a_username_is_taken_once_regardless_of_case,
    sessions_are_found_touched_ended_and_swept,
    like_count_is_the_number_of_likes,
    deleting_a_post_removes_its_likes_and_photo_and_retires_its_id,
    only_the_author_can_edit_a_post,
    the_photo_of_a_post_is_replaced_by_one_that_was_made_from_it,
    an_upload_without_a_claim_is_rejected_and_a_stale_claim_is_abandoned,
    replacing_a_profile_photo_deletes_the_previous_one,
    format_and_orientation_of_an_original_are_stored,
    an_idempotency_key_creates_one_post,
    feed_pages_start_at_offsets_or_cursors,
    writes_survive_reopening_the_store,
    authors_returns_any_number_of_users,
    an_export_of_either_database_imports_into_either,
    an_export_ends_when_its_sink_breaks,
    a_photo_that_is_claimed_again_is_not_deleted,
    an_export_is_one_snapshot,
    exported_rows_round_trip_through_json_and_other_json_is_rejected,
    integrity_checks_find_and_fix_inconsistencies,
    a_deleted_account_is_hidden_at_once_and_then_removed,
    pages_and_offsets_leave_out_what_is_excluded,
    a_page_reads_a_bounded_number_of_excluded_posts,
    a_hidden_post_cannot_be_liked_and_its_photo_is_not_shown,
    a_moderator_sees_no_reports_about_themselves_and_owners,
    an_instance_keeps_an_owner_and_an_audit_log,
    an_invitation_is_used_as_often_as_it_says,
    blocks_and_reports_are_stored_once,
    a_quota_of_bytes_counts_profile_photos_and_parts_of_uploads,
    a_maker_has_a_limited_number_of_invitations,
    a_new_password_a_reset_and_a_recovery_end_all_other_access,
    a_quota_of_bytes_is_not_exceeded,
    a_quota_of_posts_counts_deleted_ones_for_a_day,
    the_name_of_a_suspended_or_banned_account_is_held,
    what_a_user_has_granted_ends_with_the_right_to_grant_it,
    what_moderators_removed_is_known_to_imports,
    tags_follow_the_message_of_their_post,
    posts_from_before_the_index_are_indexed,
}

async fn a_username_is_taken_once_regardless_of_case(db: TestDatabase) {
    let ada = db.user("Ada").await;
    assert_eq!((ada.username.as_str(), ada.photo, ada.created_at), ("Ada", None, NOW));
    assert_eq!(db.join("aDA").await, None);
    assert_eq!(db.count("SELECT count(*) FROM users").await, 1);
    assert_eq!(db.count("SELECT count(*) FROM sessions").await, 1, "the rejected user must get no session");

    let credentials = db.store.credentials(&"ADA".parse::<Username>().unwrap()).await.unwrap().unwrap();
    assert_eq!((credentials.user.id, credentials.password_hash.as_str()), (ada.id, "hash"));
    assert!(db.store.credentials(&"bob".parse::<Username>().unwrap()).await.unwrap().is_none());
    assert_eq!(db.store.user(&"aDa".parse().unwrap()).await.unwrap().map(|user| user.id), Some(ada.id));
    assert_eq!(db.store.user(&"bob".parse().unwrap()).await.unwrap(), None);
}

async fn sessions_are_found_touched_ended_and_swept(db: TestDatabase) {
    let ada = db.user("ada").await;
    let (first, second) = (session(seed("ada")).token, session(99).token);
    assert!(!db.store.start_session(ada.id, "another hash".into(), session(98)).await.unwrap());
    assert!(db.store.start_session(ada.id, "hash".into(), session(99)).await.unwrap());

    let later = NOW.plus(Duration::from_secs(60));
    db.store.touch_session(second, later).await.unwrap();
    db.store.touch_session(second, NOW).await.unwrap();
    let found = db.store.session(second).await.unwrap().unwrap();
    assert_eq!(
        (found.user.id, found.last_used_at),
        (ada.id, later),
        "an earlier time must not replace a later one"
    );

    assert_eq!(
        db.store.sweep(later, Duration::from_secs(30), Duration::MAX, Duration::from_secs(30)).await.unwrap(),
        1
    );
    assert!(db.store.session(first).await.unwrap().is_none());
    assert!(db.store.end_session(second).await.unwrap());
    assert!(!db.store.end_session(second).await.unwrap());
    assert!(db.store.session(second).await.unwrap().is_none());

    // Used or not, a session ends at some age.
    assert!(db.store.start_session(ada.id, "hash".into(), session(97)).await.unwrap());
    let (day, later) = (Duration::from_secs(24 * 60 * 60), NOW.plus(Duration::from_secs(366 * 24 * 60 * 60)));
    assert_eq!(db.store.sweep(later, 1_000 * day, 367 * day, day).await.unwrap(), 0);
    assert_eq!(db.store.sweep(later, 1_000 * day, 365 * day, day).await.unwrap(), 1);
}

async fn like_count_is_the_number_of_likes(db: TestDatabase) {
    let ada = db.user("ada").await;
    let post = db.post(ada.id, 1).await.id;
    let mut users = Vec::new();
    for number in 0..10 {
        users.push(db.user(&format!("user{number}")).await.id);
    }
    // Each user likes the post twice, concurrently; four of them unlike it.
    let twice = users.iter().chain(&users).map(|user| db.store.like(*user, post, NOW));
    let outcomes: Vec<LikeOutcome> =
        futures_util::future::join_all(twice).await.into_iter().collect::<Result<_, _>>().unwrap();
    assert_eq!(outcomes.iter().filter(|o| **o == LikeOutcome::Changed).count(), 10);
    assert_eq!(outcomes.iter().filter(|o| **o == LikeOutcome::Unchanged).count(), 10);
    for user in &users[..4] {
        assert_eq!(db.store.unlike(*user, post).await.unwrap(), LikeOutcome::Changed);
        assert_eq!(db.store.unlike(*user, post).await.unwrap(), LikeOutcome::Unchanged);
    }
    let seen = db.store.post(post, Some(users[5])).await.unwrap().unwrap();
    assert_eq!((seen.like_count, seen.is_liked), (6, true));
    assert!(!db.store.post(post, Some(users[0])).await.unwrap().unwrap().is_liked);
    assert!(!db.store.post(post, None).await.unwrap().unwrap().is_liked);
    assert_eq!(db.count("SELECT count(*) FROM likes").await, 6);

    let missing = PostId(999);
    assert_eq!(db.store.like(ada.id, missing, NOW).await.unwrap(), LikeOutcome::NoSuchPost);
    assert_eq!(db.store.unlike(ada.id, missing).await.unwrap(), LikeOutcome::NoSuchPost);
}

async fn deleting_a_post_removes_its_likes_and_photo_and_retires_its_id(db: TestDatabase) {
    let (ada, bob) = (db.user("ada").await, db.user("bob").await);
    let post = db.post(ada.id, 1).await;
    db.store.like(bob.id, post.id, NOW).await.unwrap();

    assert_eq!(db.store.delete_post(post.id, Some(bob.id), NOW, None).await.unwrap(), AccessCheck::Forbidden);
    assert_eq!(
        db.store.delete_post(post.id, Some(ada.id), NOW, None).await.unwrap(),
        AccessCheck::Granted(post.photo.id)
    );
    assert_eq!(db.store.delete_post(post.id, None, NOW, None).await.unwrap(), AccessCheck::Missing);
    for table in ["posts", "photos", "likes"] {
        assert_eq!(db.count(&format!("SELECT count(*) FROM {table}")).await, 0, "{table}");
    }
    assert_eq!(db.store.photo(post.photo.id).await.unwrap(), None);

    // Its files are pending until `finish_delete`.
    let later = NOW.plus(Duration::from_secs(1));
    assert_eq!(db.store.pending_deletes(later).await.unwrap(), [post.photo.id]);
    assert!(db.store.is_delete_pending(post.photo.id).await.unwrap());
    db.store.finish_delete(post.photo.id).await.unwrap();
    assert_eq!(db.store.pending_deletes(later).await.unwrap(), []);
    assert!(!db.store.is_delete_pending(post.photo.id).await.unwrap());

    assert!(db.post(ada.id, 2).await.id > post.id);
    let second = db.post(bob.id, 3).await;
    assert_eq!(
        db.store.delete_post(second.id, None, NOW, None).await.unwrap(),
        AccessCheck::Granted(second.photo.id)
    );
}

async fn only_the_author_can_edit_a_post(db: TestDatabase) {
    let (ada, bob) = (db.user("ada").await, db.user("bob").await);
    let post = db.post(ada.id, 1).await.id;
    assert_eq!(db.store.post_author(post).await.unwrap(), Some(ada.id));
    let (text, alt_text) = (Message::parse("new".into()).unwrap(), Alt::parse("swans".into()).unwrap());
    let edit = PostEdit::default;
    let both = PostEdit { message: Some(text.clone()), ..PostEdit { alt: Some(alt_text.clone()), ..edit() } };
    assert_eq!(db.store.edit_post(post, bob.id, both.clone()).await.unwrap(), AccessCheck::Forbidden);
    assert_eq!(db.store.edit_post(PostId(999), ada.id, both.clone()).await.unwrap(), AccessCheck::Missing);
    let untouched = db.post(ada.id, 2).await;

    let edits = [
        (both, text.clone(), alt_text.clone()),
        (PostEdit { message: Some(None), ..edit() }, None, alt_text),
        (PostEdit { alt: Some(None), ..edit() }, None, None),
        (PostEdit { message: Some(text.clone()), ..edit() }, text.clone(), None),
        (edit(), text, None),
    ];
    for (edit, message, alt) in edits {
        let AccessCheck::Granted(edited) = db.store.edit_post(post, ada.id, edit).await.unwrap() else {
            panic!()
        };
        assert_eq!((edited.message, edited.photo.alt), (message, alt));
    }
    assert_eq!(db.store.post(untouched.id, Some(ada.id)).await.unwrap(), Some(untouched));
}

async fn the_photo_of_a_post_is_replaced_by_one_that_was_made_from_it(db: TestDatabase) {
    let (ada, bob) = (db.user("ada").await, db.user("bob").await);
    let post = db.post(ada.id, 1).await;
    let old = post.photo.id;
    let replace = async |editor, old, number: u8| {
        let mut new = new_photo(number);
        new.photo.focus = "0.25,1".parse().unwrap();
        let edit = PostEdit { share_original: Some(true), ..PostEdit::default() };
        db.store.claim_photo(new.photo.id, NOW).await.unwrap();
        db.store.replace_post_photo(post.id, editor, edit, old, new, NOW).await.unwrap()
    };
    assert_eq!(replace(bob.id, old, 2).await, Some(AccessCheck::Forbidden));
    assert_eq!(replace(ada.id, photo(9).id, 3).await, None, "it was made from another photo");
    assert_eq!(db.store.post(post.id, None).await.unwrap().as_ref(), Some(&post), "nothing has changed");
    let expected = Photo { focus: "0.25,1".parse().unwrap(), ..photo(4) };
    let Some(AccessCheck::Granted(edited)) = replace(ada.id, old, 4).await else { panic!() };
    assert_eq!((&edited.photo, edited.share_original), (&expected, true));
    assert_eq!(db.store.post(post.id, None).await.unwrap(), Some(edited));
    assert_eq!(db.store.photo(expected.id).await.unwrap().as_ref(), Some(&expected));
    let Some(AccessCheck::Granted(_)) = replace(ada.id, expected.id, 5).await else { panic!() };
    let later = model::Timestamp::from_micros(NOW.micros() + 1);
    let mut deleted = db.store.pending_deletes(later).await.unwrap();
    deleted.sort_by_key(|photo| *photo.as_bytes());
    assert_eq!(deleted, [1, 2, 3, 4].map(|number| photo(number).id));
    // Exports name the photo that the post was first published with.
    let exported = db.store.exported_posts(ada.id, PostId(0), 9).await.unwrap();
    assert_eq!(exported.iter().map(|post| post.source).collect::<Vec<_>>(), [old]);
}

async fn an_upload_without_a_claim_is_rejected_and_a_stale_claim_is_abandoned(db: TestDatabase) {
    let ada = db.user("ada").await;
    let unclaimed = db.store.create_post(new_post(ada.id, 1, None)).await.unwrap();
    assert_eq!(unclaimed, CreateOutcome::ClaimLost);

    // An upload whose claim was abandoned can no longer be committed.
    db.store.claim_photo(photo(2).id, NOW).await.unwrap();
    let later = NOW.plus(Duration::from_secs(1));
    assert_eq!(db.store.abandon_stale_claims(NOW, later).await.unwrap(), 0, "the claim is not stale yet");
    assert_eq!(db.store.abandon_stale_claims(later, later).await.unwrap(), 1);
    assert_eq!(db.store.create_post(new_post(ada.id, 2, None)).await.unwrap(), CreateOutcome::ClaimLost);
    assert_eq!(db.store.pending_deletes(later.plus(Duration::from_secs(1))).await.unwrap(), [photo(2).id]);

    // Abandoning an upload that was committed does not delete the post's files.
    let post = db.post(ada.id, 3).await;
    assert!(!db.store.abandon_photo(post.photo.id, later).await.unwrap());
    assert_eq!(db.store.pending_deletes(later.plus(Duration::from_secs(1))).await.unwrap(), [photo(2).id]);
    assert_eq!(db.store.photo_totals().await.unwrap(), store::PhotoTotals { photos: 1, bytes: 1000 });
    db.store.ping().await.unwrap();
}

async fn replacing_a_profile_photo_deletes_the_previous_one(db: TestDatabase) {
    let (ada, bob) = (db.user("ada").await, db.user("bob").await);
    let photos = async || db.count("SELECT count(*) FROM photos").await;
    let later = NOW.plus(Duration::from_secs(1));
    let unclaimed = db.store.set_profile_photo(ada.id, new_photo(1), None, NOW).await.unwrap();
    assert_eq!((unclaimed, photos().await), (ProfilePhotoOutcome::Rejected, 0));
    db.set_profile_photo(bob.id, 9).await;

    let first = db.set_profile_photo(ada.id, 1).await;
    assert_eq!((first.user.photo.as_deref(), first.replaced), (Some(&photo(1)), None));
    assert_eq!(db.store.pending_deletes(later).await.unwrap(), []);
    let second = db.set_profile_photo(ada.id, 2).await;
    assert_eq!((second.user.photo.as_deref(), second.replaced), (Some(&photo(2)), Some(photo(1).id)));
    assert_eq!(db.store.pending_deletes(later).await.unwrap(), [photo(1).id]);
    assert_eq!(db.store.photo(photo(1).id).await.unwrap(), None);
    assert_eq!(db.store.user(&ada.username).await.unwrap(), Some(second.user));

    assert_eq!(db.store.delete_profile_photo(ada.id, NOW, None).await.unwrap(), Some(photo(2).id));
    assert_eq!(db.store.delete_profile_photo(ada.id, NOW, None).await.unwrap(), None);
    assert_eq!(db.store.pending_deletes(later).await.unwrap(), [photo(1).id, photo(2).id]);
    assert_eq!(db.store.user(&ada.username).await.unwrap(), Some(ada));
    assert_eq!(photos().await, 1, "the photo of bob must remain");
    assert_eq!(db.count("SELECT count(*) FROM uploads").await, 0);
}

async fn format_and_orientation_of_an_original_are_stored(db: TestDatabase) {
    let ada = db.user("ada").await;
    db.post(ada.id, 1).await;
    db.store.claim_photo(photo(2).id, NOW).await.unwrap();
    let mut new = new_post(ada.id, 2, None);
    new.photo.original = Some(Original { format: "webp", orientation: 6 });
    assert!(matches!(db.store.create_post(new).await.unwrap(), CreateOutcome::New(_)));

    assert_eq!(
        db.count("SELECT count(*) FROM photos WHERE original IS NULL AND orientation IS NULL").await,
        1
    );
    assert_eq!(db.count("SELECT count(*) FROM photos WHERE original = 'webp' AND orientation = 6").await, 1);
}

async fn an_idempotency_key_creates_one_post(db: TestDatabase) {
    let (ada, bob) = (db.user("ada").await, db.user("bob").await);
    for number in [1, 2, 3] {
        db.store.claim_photo(photo(number).id, NOW).await.unwrap();
    }
    let CreateOutcome::New(post) = db.store.create_post(new_post(ada.id, 1, Some("k"))).await.unwrap() else {
        panic!()
    };
    let again = db.store.create_post(new_post(ada.id, 2, Some("k"))).await.unwrap();
    let replay = Replay { id: post.id, post: Some(post.clone()), digest: Some(RequestDigest([1; 32])) };
    assert_eq!(again, CreateOutcome::Replayed(replay.clone()), "the digest is that of the first request");
    assert_eq!(db.store.pending_deletes(NOW.plus(Duration::from_secs(1))).await.unwrap(), [photo(2).id]);
    assert!(matches!(
        db.store.create_post(new_post(bob.id, 3, Some("k"))).await.unwrap(),
        CreateOutcome::New(_)
    ));

    assert_eq!(db.store.find_replay(ada.id, "k".into(), LONG_AGO).await.unwrap(), Some(replay.clone()));
    assert_eq!(
        db.store.find_replay(ada.id, "k".into(), NOW).await.unwrap(),
        None,
        "an expired key must not be found"
    );
    db.store.delete_post(post.id, None, NOW, None).await.unwrap();
    let deleted = Replay { post: None, ..replay };
    assert_eq!(db.store.find_replay(ada.id, "k".into(), LONG_AGO).await.unwrap(), Some(deleted));

    // The sweep deletes expired keys only.
    let tomorrow = NOW.plus(Duration::from_secs(86_400));
    let day = Duration::from_secs(86_400);
    assert_eq!(db.store.sweep(tomorrow, 365 * day, 365 * day, day).await.unwrap(), 0);
    assert_eq!(db.store.sweep(tomorrow.plus(day), 365 * day, 365 * day, day).await.unwrap(), 2);
    assert_eq!(db.store.find_replay(ada.id, "k".into(), LONG_AGO).await.unwrap(), None);
}

async fn feed_pages_start_at_offsets_or_cursors(db: TestDatabase) {
    let (ada, bob) = (db.user("ada").await, db.user("bob").await);
    let mut newest_first = Vec::new();
    for number in 0..7 {
        newest_first.insert(0, db.post(ada.id, number).await.id);
    }
    assert_pages(&db, ada.id, PostFilter::Any, newest_first).await;

    // The posts of one user are paged the same way, with posts of another user between them.
    let mut newest_first = Vec::new();
    for number in 0..7 {
        newest_first.insert(0, db.post(bob.id, 20 + 2 * number).await.id);
        db.post(ada.id, 21 + 2 * number).await;
    }
    assert_pages(&db, bob.id, PostFilter::By(bob.id), newest_first).await;
    let (of_none, first) = (PostFilter::By(UserId(99)), FeedStart::Offset(0));
    let empty = feed(&db.store, None, of_none, first, Limit::default(), &Exclusions::default()).await;
    assert!(empty.posts.is_empty());
}

/// Checks pages of three posts over seven posts of `author`, of which one is deleted and one is added between
/// pages.
async fn assert_pages(db: &TestDatabase, author: UserId, authors: PostFilter, newest_first: Vec<PostId>) {
    let limit: Limit = "3".parse().unwrap();
    let page = async |start| {
        let exclusions = Exclusions::default();
        let page = feed(&db.store, Some(author), authors.clone(), start, limit, &exclusions).await;
        (page.posts.iter().map(|post| post.id).collect::<Vec<_>>(), page.next)
    };
    let (first, next) = page(FeedStart::Offset(0)).await;
    assert_eq!(first, newest_first[..3]);
    let cursor = next.unwrap();

    // The cursor stays valid when its post is deleted and new posts are created.
    db.store.delete_post(first[2], None, NOW, None).await.unwrap();
    db.post(author, 100 + u8::try_from(author.0).unwrap()).await;
    let (second, next) = page(FeedStart::After(cursor)).await;
    assert_eq!(second, newest_first[3..6]);
    let (third, next) = page(FeedStart::After(next.unwrap())).await;
    assert_eq!((third.as_slice(), next), (&newest_first[6..], None));

    // Offsets count the current posts: 7, of which the newest was just created.
    assert_eq!(page(FeedStart::Offset(3)).await.0, newest_first[3..6]);
    assert_eq!(page(FeedStart::Offset(6)).await, (vec![newest_first[6]], None));
    for past_end in [7, 1_000_000, u64::MAX] {
        assert_eq!(page(FeedStart::Offset(past_end)).await, (vec![], None));
    }
}

async fn writes_survive_reopening_the_store(db: TestDatabase) {
    let ada = db.user("ada").await;
    let post = db.post(ada.id, 1).await;
    let db = db.reopen().await;
    assert_eq!(db.store.post(post.id, Some(ada.id)).await.unwrap(), Some(post));
}

async fn authors_returns_any_number_of_users(db: TestDatabase) {
    let mut users = Vec::new();
    for number in 0..45 {
        users.push(db.user(&format!("user{number}")).await);
    }
    db.set_profile_photo(users[44].id, 1).await;
    for count in [0, 1, 19, 20, 21, 40, 45] {
        let mut ids: Vec<UserId> = users[45 - count..].iter().map(|user| user.id).collect();
        let mut found = db.store.authors(ids.clone()).await.unwrap();
        found.sort_by_key(|user| user.id);
        assert_eq!(found.iter().map(|user| user.id).collect::<Vec<_>>(), ids);
        assert!(
            found.last().is_none_or(|user| user.photo.as_deref() == Some(&photo(1))),
            "a user must come with their profile photo"
        );
        ids.push(UserId(9999));
        assert_eq!(db.store.authors(ids).await.unwrap().len(), count, "an unknown id must be ignored");
    }
}
