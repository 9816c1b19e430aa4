//! The store through its public face, on real databases: every story is told on SQLite and on PostgreSQL.
//! Every function is called, so every statement runs on both.

#![allow(clippy::unwrap_used, reason = "a broken expectation must stop the story where it stands")]

mod case;
mod loss;
mod moving;
mod nodes;
mod replica;

use std::time::Duration;

use model::{Alt, FeedStart, Limit, Message, PostEdit, PostId, UserId, Username, Whose};
use store::{Access, Created, Like, Original, Replay};

use case::{Case, LONG_AGO, NOW, new_photo, new_post, photo, seed, session};
use moving::{
    a_photo_that_is_claimed_again_is_not_deleted, an_export_ends_when_its_sink_breaks,
    an_export_is_one_snapshot, exported_rows_survive_json_and_nothing_else_does,
    integrity_checks_find_what_is_wrong_and_fix_what_they_can, what_one_database_exports_another_imports,
};

/// Every story as two tests, one for each database.
macro_rules! on_both_databases {
    ($($story:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $story() {
                super::$story(super::Case::on_sqlite().await).await;
            })*
        }

        mod postgres {
            $(#[tokio::test]
            async fn $story() {
                super::$story(super::Case::on_postgres().await).await;
            })*
        }
    };
}

on_both_databases! {
    one_name_is_given_once_whatever_its_case,
    sessions_are_found_touched_ended_and_swept,
    the_count_is_the_number_of_likes,
    a_deleted_post_takes_everything_along_and_its_id_never_comes_back,
    only_the_author_edits,
    an_upload_is_committed_once_or_collected,
    a_new_profile_photo_takes_the_earlier_one_along,
    a_photo_says_how_to_read_its_original_if_there_is_one,
    a_key_makes_one_post,
    feed_pages_start_at_offsets_or_anchors,
    what_was_written_is_there_after_reopening,
    authors_are_found_however_many_are_asked_for,
    what_one_database_exports_another_imports,
    an_export_ends_when_its_sink_breaks,
    a_photo_that_is_claimed_again_is_not_deleted,
    an_export_is_one_snapshot,
    exported_rows_survive_json_and_nothing_else_does,
    integrity_checks_find_what_is_wrong_and_fix_what_they_can,
}

async fn one_name_is_given_once_whatever_its_case(case: Case) {
    let ada = case.user("Ada").await;
    assert_eq!((ada.username.as_str(), ada.photo, ada.created_at), ("Ada", None, NOW));
    assert_eq!(case.join("aDA").await, None);
    assert_eq!(case.count("SELECT count(*) FROM users").await, 1);
    assert_eq!(case.count("SELECT count(*) FROM sessions").await, 1, "the loser got no session");

    let known = case.store.credentials(&"ADA".parse::<Username>().unwrap()).await.unwrap().unwrap();
    assert_eq!((known.user.id, known.password_hash.as_str()), (ada.id, "hash"));
    assert!(case.store.credentials(&"bob".parse::<Username>().unwrap()).await.unwrap().is_none());
    assert_eq!(case.store.user(&"aDa".parse().unwrap()).await.unwrap().map(|user| user.id), Some(ada.id));
    assert_eq!(case.store.user(&"bob".parse().unwrap()).await.unwrap(), None);
}

async fn sessions_are_found_touched_ended_and_swept(case: Case) {
    let ada = case.user("ada").await;
    let (first, second) = (session(seed("ada")).token, session(99).token);
    case.store.start_session(ada.id, session(99)).await.unwrap();

    let later = NOW.plus(Duration::from_secs(60));
    case.store.touch_session(second, later).await.unwrap();
    case.store.touch_session(second, NOW).await.unwrap();
    let found = case.store.session(second).await.unwrap().unwrap();
    assert_eq!((found.user.id, found.last_used_at), (ada.id, later), "a late note does not turn time back");

    assert_eq!(case.store.sweep(later, Duration::from_secs(30), Duration::from_secs(30)).await.unwrap(), 1);
    assert!(case.store.session(first).await.unwrap().is_none());
    assert!(case.store.end_session(second).await.unwrap());
    assert!(!case.store.end_session(second).await.unwrap());
    assert!(case.store.session(second).await.unwrap().is_none());
}

async fn the_count_is_the_number_of_likes(case: Case) {
    let ada = case.user("ada").await;
    let post = case.post(ada.id, 1).await.id;
    let mut likes = Vec::new();
    for number in 0..10 {
        likes.push(case.user(&format!("user{number}")).await.id);
    }
    // Everybody twice at once, some of them take it back.
    let twice = likes.iter().chain(&likes).map(|user| case.store.like(*user, post, NOW));
    let outcomes: Vec<Like> =
        futures_util::future::join_all(twice).await.into_iter().collect::<Result<_, _>>().unwrap();
    assert_eq!(outcomes.iter().filter(|o| **o == Like::Changed).count(), 10);
    assert_eq!(outcomes.iter().filter(|o| **o == Like::Unchanged).count(), 10);
    for user in &likes[..4] {
        assert_eq!(case.store.unlike(*user, post).await.unwrap(), Like::Changed);
        assert_eq!(case.store.unlike(*user, post).await.unwrap(), Like::Unchanged);
    }
    let seen = case.store.post(post, Some(likes[5])).await.unwrap().unwrap();
    assert_eq!((seen.like_count, seen.is_liked), (6, true));
    assert!(!case.store.post(post, Some(likes[0])).await.unwrap().unwrap().is_liked);
    assert!(!case.store.post(post, None).await.unwrap().unwrap().is_liked);
    assert_eq!(case.count("SELECT count(*) FROM likes").await, 6);

    let missing = PostId(999);
    assert_eq!(case.store.like(ada.id, missing, NOW).await.unwrap(), Like::NoSuchPost);
    assert_eq!(case.store.unlike(ada.id, missing).await.unwrap(), Like::NoSuchPost);
}

async fn a_deleted_post_takes_everything_along_and_its_id_never_comes_back(case: Case) {
    let (ada, bob) = (case.user("ada").await, case.user("bob").await);
    let post = case.post(ada.id, 1).await;
    case.store.like(bob.id, post.id, NOW).await.unwrap();

    assert_eq!(case.store.delete_post(post.id, Some(bob.id), NOW).await.unwrap(), Access::Forbidden);
    assert_eq!(
        case.store.delete_post(post.id, Some(ada.id), NOW).await.unwrap(),
        Access::Granted(post.photo.id)
    );
    assert_eq!(case.store.delete_post(post.id, None, NOW).await.unwrap(), Access::Missing);
    for table in ["posts", "photos", "likes"] {
        assert_eq!(case.count(&format!("SELECT count(*) FROM {table}")).await, 0, "{table}");
    }
    assert_eq!(case.store.photo(post.photo.id).await.unwrap(), None);

    // Its bytes are on the list until somebody says that they are gone.
    let later = NOW.plus(Duration::from_secs(1));
    assert_eq!(case.store.pending_deletes(later).await.unwrap(), [post.photo.id]);
    assert!(case.store.is_delete_pending(post.photo.id).await.unwrap());
    case.store.finish_delete(post.photo.id).await.unwrap();
    assert_eq!(case.store.pending_deletes(later).await.unwrap(), []);
    assert!(!case.store.is_delete_pending(post.photo.id).await.unwrap());

    assert!(case.post(ada.id, 2).await.id > post.id);
    let second = case.post(bob.id, 3).await;
    assert_eq!(case.store.delete_post(second.id, None, NOW).await.unwrap(), Access::Granted(second.photo.id));
}

async fn only_the_author_edits(case: Case) {
    let (ada, bob) = (case.user("ada").await, case.user("bob").await);
    let post = case.post(ada.id, 1).await.id;
    assert_eq!(case.store.post_author(post).await.unwrap(), Some(ada.id));
    let (text, words) = (Message::parse("new".into()).unwrap(), Alt::parse("swans".into()).unwrap());
    let edit = PostEdit::default;
    let both = PostEdit { message: Some(text.clone()), ..PostEdit { alt: Some(words.clone()), ..edit() } };
    assert_eq!(case.store.edit_post(post, bob.id, both.clone()).await.unwrap(), Access::Forbidden);
    assert_eq!(case.store.edit_post(PostId(999), ada.id, both.clone()).await.unwrap(), Access::Missing);
    let untouched = case.post(ada.id, 2).await;

    let edits = [
        (both, text.clone(), words.clone()),
        (PostEdit { message: Some(None), ..edit() }, None, words),
        (PostEdit { alt: Some(None), ..edit() }, None, None),
        (PostEdit { message: Some(text.clone()), ..edit() }, text.clone(), None),
        (edit(), text, None),
    ];
    for (edit, message, alt) in edits {
        let Access::Granted(edited) = case.store.edit_post(post, ada.id, edit).await.unwrap() else {
            panic!()
        };
        assert_eq!((edited.message, edited.photo.alt), (message, alt));
    }
    assert_eq!(case.store.post(untouched.id, Some(ada.id)).await.unwrap(), Some(untouched));
}

async fn an_upload_is_committed_once_or_collected(case: Case) {
    let ada = case.user("ada").await;
    let unclaimed = case.store.create_post(new_post(ada.id, 1, None)).await.unwrap();
    assert_eq!(unclaimed, Created::ClaimLost);

    // An upload that dies is collected, and cannot come back from the dead.
    case.store.claim_photo(photo(2).id, NOW).await.unwrap();
    let later = NOW.plus(Duration::from_secs(1));
    assert_eq!(case.store.abandon_stale_claims(NOW, later).await.unwrap(), 0, "not yet");
    assert_eq!(case.store.abandon_stale_claims(later, later).await.unwrap(), 1);
    assert_eq!(case.store.create_post(new_post(ada.id, 2, None)).await.unwrap(), Created::ClaimLost);
    assert_eq!(case.store.pending_deletes(later.plus(Duration::from_secs(1))).await.unwrap(), [photo(2).id]);

    // Giving up what was redeemed must not take the post's bytes away.
    let post = case.post(ada.id, 3).await;
    assert!(!case.store.abandon_photo(post.photo.id, later).await.unwrap());
    assert_eq!(case.store.pending_deletes(later.plus(Duration::from_secs(1))).await.unwrap(), [photo(2).id]);
    assert_eq!(case.store.totals().await.unwrap(), store::Totals { photos: 1, bytes: 1000 });
    case.store.ping().await.unwrap();
}

async fn a_new_profile_photo_takes_the_earlier_one_along(case: Case) {
    let (ada, bob) = (case.user("ada").await, case.user("bob").await);
    let photos = async || case.count("SELECT count(*) FROM photos").await;
    let later = NOW.plus(Duration::from_secs(1));
    let unclaimed = case.store.set_profile_photo(ada.id, new_photo(1), NOW).await.unwrap();
    assert_eq!((unclaimed, photos().await), (None, 0));
    case.portrait(bob.id, 9).await;

    let first = case.portrait(ada.id, 1).await;
    assert_eq!((first.user.photo.as_deref(), first.replaced), (Some(&photo(1)), None));
    assert_eq!(case.store.pending_deletes(later).await.unwrap(), []);
    let second = case.portrait(ada.id, 2).await;
    assert_eq!((second.user.photo.as_deref(), second.replaced), (Some(&photo(2)), Some(photo(1).id)));
    assert_eq!(case.store.pending_deletes(later).await.unwrap(), [photo(1).id]);
    assert_eq!(case.store.photo(photo(1).id).await.unwrap(), None);
    assert_eq!(case.store.user(&ada.username).await.unwrap(), Some(second.user));

    assert_eq!(case.store.delete_profile_photo(ada.id, NOW).await.unwrap(), Some(photo(2).id));
    assert_eq!(case.store.delete_profile_photo(ada.id, NOW).await.unwrap(), None);
    assert_eq!(case.store.pending_deletes(later).await.unwrap(), [photo(1).id, photo(2).id]);
    assert_eq!(case.store.user(&ada.username).await.unwrap(), Some(ada));
    assert_eq!(photos().await, 1, "bob keeps his");
    assert_eq!(case.count("SELECT count(*) FROM uploads").await, 0);
}

async fn a_photo_says_how_to_read_its_original_if_there_is_one(case: Case) {
    let ada = case.user("ada").await;
    case.post(ada.id, 1).await;
    case.store.claim_photo(photo(2).id, NOW).await.unwrap();
    let mut new = new_post(ada.id, 2, None);
    new.photo.original = Some(Original { format: "webp", orientation: 6 });
    assert!(matches!(case.store.create_post(new).await.unwrap(), Created::New(_)));

    assert_eq!(
        case.count("SELECT count(*) FROM photos WHERE original IS NULL AND orientation IS NULL").await,
        1
    );
    assert_eq!(
        case.count("SELECT count(*) FROM photos WHERE original = 'webp' AND orientation = 6").await,
        1
    );
}

async fn a_key_makes_one_post(case: Case) {
    let (ada, bob) = (case.user("ada").await, case.user("bob").await);
    for number in [1, 2, 3] {
        case.store.claim_photo(photo(number).id, NOW).await.unwrap();
    }
    let Created::New(post) = case.store.create_post(new_post(ada.id, 1, Some("k"))).await.unwrap() else {
        panic!()
    };
    let again = case.store.create_post(new_post(ada.id, 2, Some("k"))).await.unwrap();
    assert_eq!(again, Created::Replayed(Replay::Post(post.clone())));
    assert_eq!(case.store.pending_deletes(NOW.plus(Duration::from_secs(1))).await.unwrap(), [photo(2).id]);
    assert!(matches!(case.store.create_post(new_post(bob.id, 3, Some("k"))).await.unwrap(), Created::New(_)));

    assert_eq!(
        case.store.find_replay(ada.id, "k".into(), LONG_AGO).await.unwrap(),
        Some(Replay::Post(post.clone()))
    );
    assert_eq!(case.store.find_replay(ada.id, "k".into(), NOW).await.unwrap(), None, "too old by then");
    case.store.delete_post(post.id, None, NOW).await.unwrap();
    assert_eq!(case.store.find_replay(ada.id, "k".into(), LONG_AGO).await.unwrap(), Some(Replay::Deleted));

    // The sweep forgets old keys, and only those.
    let tomorrow = NOW.plus(Duration::from_secs(86_400));
    let day = Duration::from_secs(86_400);
    assert_eq!(case.store.sweep(tomorrow, 365 * day, day).await.unwrap(), 0);
    assert_eq!(case.store.sweep(tomorrow.plus(day), 365 * day, day).await.unwrap(), 2);
    assert_eq!(case.store.find_replay(ada.id, "k".into(), LONG_AGO).await.unwrap(), None);
}

async fn feed_pages_start_at_offsets_or_anchors(case: Case) {
    let (ada, bob) = (case.user("ada").await, case.user("bob").await);
    let mut newest_first = Vec::new();
    for number in 0..7 {
        newest_first.insert(0, case.post(ada.id, number).await.id);
    }
    assert_pages(&case, ada.id, Whose::Everyones, newest_first).await;

    // Somebody's own posts are paged alike, however many of others lie between them.
    let mut newest_first = Vec::new();
    for number in 0..7 {
        newest_first.insert(0, case.post(bob.id, 20 + 2 * number).await.id);
        case.post(ada.id, 21 + 2 * number).await;
    }
    assert_pages(&case, bob.id, Whose::Only(bob.id), newest_first).await;
    let nobodys = case.store.feed(None, Whose::Only(UserId(99)), FeedStart::Offset(0), Limit::default());
    assert!(nobodys.await.unwrap().posts.is_empty());
}

/// Pages of three through seven posts of `author`, of which one is deleted and one comes on top meanwhile.
async fn assert_pages(case: &Case, author: UserId, whose: Whose, newest_first: Vec<PostId>) {
    let limit: Limit = "3".parse().unwrap();
    let page = async |start| {
        let page = case.store.feed(Some(author), whose, start, limit).await.unwrap();
        (page.posts.iter().map(|post| post.id).collect::<Vec<_>>(), page.next)
    };
    let (first, next) = page(FeedStart::Offset(0)).await;
    assert_eq!(first, newest_first[..3]);
    let anchor = next.unwrap();

    // The anchored post may go and new ones may come: the place stays.
    case.store.delete_post(first[2], None, NOW).await.unwrap();
    case.post(author, 100 + u8::try_from(author.0).unwrap()).await;
    let (second, next) = page(FeedStart::After(anchor)).await;
    assert_eq!(second, newest_first[3..6]);
    let (third, next) = page(FeedStart::After(next.unwrap())).await;
    assert_eq!((third.as_slice(), next), (&newest_first[6..], None));

    // Plain offsets count what is there now: 7 posts, the newest of them the one just made.
    assert_eq!(page(FeedStart::Offset(3)).await.0, newest_first[3..6]);
    assert_eq!(page(FeedStart::Offset(6)).await, (vec![newest_first[6]], None));
    for beyond in [7, 1_000_000, u64::MAX] {
        assert_eq!(page(FeedStart::Offset(beyond)).await, (vec![], None));
    }
}

async fn what_was_written_is_there_after_reopening(case: Case) {
    let ada = case.user("ada").await;
    let post = case.post(ada.id, 1).await;
    let case = case.reopen().await;
    assert_eq!(case.store.post(post.id, Some(ada.id)).await.unwrap(), Some(post));
}

async fn authors_are_found_however_many_are_asked_for(case: Case) {
    let mut members = Vec::new();
    for number in 0..45 {
        members.push(case.user(&format!("user{number}")).await);
    }
    case.portrait(members[44].id, 1).await;
    for count in [0, 1, 19, 20, 21, 40, 45] {
        let mut ids: Vec<UserId> = members[45 - count..].iter().map(|user| user.id).collect();
        let mut found = case.store.authors(ids.clone()).await.unwrap();
        found.sort_by_key(|user| user.id);
        assert_eq!(found.iter().map(|user| user.id).collect::<Vec<_>>(), ids);
        assert!(
            found.last().is_none_or(|user| user.photo.as_deref() == Some(&photo(1))),
            "with the photo they show"
        );
        ids.push(UserId(9999));
        assert_eq!(case.store.authors(ids).await.unwrap().len(), count, "nobody is nobody");
    }
}
