//! Several nodes on one database: concurrent writes through different nodes stay consistent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use model::{PostId, UserId};
use store::{AccessCheck, CreateOutcome, LikeOutcome, ProfilePhotoOutcome, Replay};

use crate::quotas::{TWO_A_DAY, invitation_of, post_within};
use crate::test_database::{NOW, TestDatabase, join, new_photo, new_post, photo};
use crate::transfer;

/// Longer than any of these tests takes, unless nodes deadlock.
const DEADLOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// Four posts, and 25 users to like them.
async fn posts_and_users(db: &TestDatabase) -> (Vec<PostId>, Vec<UserId>) {
    let author = db.user("ada").await.id;
    let (mut posts, mut users) = (Vec::new(), Vec::new());
    for number in 0..4 {
        posts.push(db.post(author, number).await.id);
    }
    for number in 0..25 {
        users.push(db.user(&format!("user{number}")).await.id);
    }
    (posts, users)
}

#[tokio::test(flavor = "multi_thread")]
async fn likes_through_two_nodes_are_counted_once_each() {
    let db = TestDatabase::on_postgres().await;
    let other = db.another_node().await;
    let (posts, users) = posts_and_users(&db).await;
    // Every user likes every post through both nodes concurrently, in opposite orders, and then unlikes half.
    let pairs: Vec<_> = users.iter().flat_map(|user| posts.iter().map(|post| (*user, *post))).collect();
    let here = join_all(pairs.iter().map(|(user, post)| db.store.like(*user, *post, NOW)));
    let there = join_all(pairs.iter().rev().map(|(user, post)| other.like(*user, *post, NOW)));
    let (here, there) =
        tokio::time::timeout(DEADLOCK_TIMEOUT, async { tokio::join!(here, there) }).await.unwrap();
    let outcomes: Vec<LikeOutcome> = here.into_iter().chain(there).collect::<Result<_, _>>().unwrap();
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == LikeOutcome::Changed).count(), pairs.len());
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == LikeOutcome::Unchanged).count(), pairs.len());

    let half = &pairs[..pairs.len() / 2];
    let here = join_all(half.iter().map(|(user, post)| db.store.unlike(*user, *post)));
    let there = join_all(half.iter().rev().map(|(user, post)| other.unlike(*user, *post)));
    let (here, there) =
        tokio::time::timeout(DEADLOCK_TIMEOUT, async { tokio::join!(here, there) }).await.unwrap();
    let outcomes: Vec<LikeOutcome> = here.into_iter().chain(there).collect::<Result<_, _>>().unwrap();
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == LikeOutcome::Changed).count(), half.len());

    let wrong = "SELECT count(*) FROM posts p WHERE p.like_count
        <> (SELECT count(*) FROM likes l WHERE l.post_id = p.id)";
    assert_eq!(db.count(wrong).await, 0);
    assert_eq!(db.count("SELECT count(*) FROM likes").await, (pairs.len() - half.len()) as i64);
    // The other node sees the writes at once.
    let (user, post) = pairs[pairs.len() - 1];
    assert!(other.post(post, Some(user)).await.unwrap().unwrap().is_liked);
}

/// The advisory lock on a post is fair: concurrent likes do not starve a delete.
#[tokio::test(flavor = "multi_thread")]
async fn a_post_under_constant_likes_can_be_deleted() {
    let db = TestDatabase::on_postgres().await;
    let author = db.user("ada").await.id;
    let mut users: Vec<UserId> = Vec::new();
    for number in 0..120 {
        users.push(UserId(transfer::join(&db.store, number).await));
    }
    let post = db.post(author, 1).await.id;
    let mut nodes = Vec::new();
    for _ in 0..4 {
        nodes.push(Arc::new(db.another_node().await));
    }
    let (is_over, likes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let tasks = users.into_iter().enumerate().map(|(n, user)| {
        let (node, is_over, likes) = (nodes[n % nodes.len()].clone(), is_over.clone(), likes.clone());
        tokio::spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                for outcome in [node.like(user, post, NOW).await, node.unlike(user, post).await] {
                    outcome.unwrap();
                    likes.fetch_add(1, Ordering::Relaxed);
                }
            }
        })
    });
    let tasks: Vec<_> = tasks.collect();
    while likes.load(Ordering::Relaxed) < 1_000 {
        tokio::task::yield_now().await;
    }
    let deleted = db.store.delete_post(post, Some(author), NOW, None).await;
    is_over.store(true, Ordering::Relaxed);
    assert_eq!(deleted.unwrap(), AccessCheck::Granted(photo(1).id));
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(db.count("SELECT count(*) FROM likes").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn recounting_likes_is_exact_while_likes_change() {
    let db = TestDatabase::on_postgres().await;
    let other = db.another_node().await;
    let (posts, users) = posts_and_users(&db).await;
    for round in 0..10 {
        db.execute_directly("UPDATE posts SET like_count = like_count + 1000")();
        let pairs = users.iter().flat_map(|user| posts.iter().map(|post| (*user, *post)));
        let likes = join_all(pairs.map(async |(user, post)| match round % 2 {
            0 => other.like(user, post, NOW).await,
            _ => other.unlike(user, post).await,
        }));
        let both = async { tokio::join!(db.store.recount_likes(), likes) };
        let (recounted, likes) = tokio::time::timeout(DEADLOCK_TIMEOUT, both).await.unwrap();
        assert_eq!(recounted.unwrap(), posts.len());
        assert!(likes.into_iter().all(|like| like.unwrap() == LikeOutcome::Changed));
        assert_eq!(db.store.miscounted_posts().await.unwrap(), []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_writes_of_a_user_on_two_nodes_keep_quotas_and_counts() {
    let db = TestDatabase::on_postgres().await;
    let other = db.another_node().await;
    for round in 0..5_u8 {
        let author = db.user(&format!("user{round}")).await.id;
        let numbers = 40 * round..40 * (round + 1);
        let node = |number: u8| if number.is_multiple_of(2) { &db.store } else { &other };
        let posts = numbers.clone().step_by(4).flat_map(|number| [number, number + 1]);
        let posts =
            join_all(posts.map(|number| post_within(node(number), author, number, TWO_A_DAY, NOW))).await;
        let created = posts.iter().filter(|post| matches!(post, CreateOutcome::New(_))).count();
        let refused = posts.iter().filter(|post| matches!(post, CreateOutcome::OverQuota(_))).count();
        assert_eq!((created, refused), (2, 18), "{posts:?}");
        let invitations =
            numbers.map(|code| node(code).create_invitation(invitation_of(author, code), Some(3), None));
        let made = join_all(invitations).await.into_iter().filter(|made| *made.as_ref().unwrap()).count();
        assert_eq!(made, 3);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotency_key_used_on_two_nodes_creates_one_post() {
    let db = TestDatabase::on_postgres().await;
    let other = db.another_node().await;
    let author = db.user("ada").await.id;
    for round in 0..10_u8 {
        let (first, second, key) = (2 * round, 2 * round + 1, format!("key {round}"));
        for number in [first, second] {
            db.store.claim_photo(photo(number).id, NOW).await.unwrap();
        }
        let (here, there) = tokio::join!(
            db.store.create_post(new_post(author, first, Some(&key))),
            other.create_post(new_post(author, second, Some(&key))),
        );
        let posts: Vec<PostId> = [here, there]
            .map(|outcome| match outcome.unwrap() {
                CreateOutcome::New(post) | CreateOutcome::Replayed(Replay { post: Some(post), .. }) => {
                    post.id
                }
                other => panic!("{other:?}"),
            })
            .into();
        assert_eq!(posts[0], posts[1]);
    }
    assert_eq!(db.count("SELECT count(*) FROM posts").await, 10);
    assert_eq!(db.count("SELECT count(*) FROM photos").await, 10);
    assert_eq!(
        db.count("SELECT count(*) FROM removals").await,
        10,
        "the files of the replayed uploads must be scheduled for deletion"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn replacing_a_profile_photo_through_two_nodes_orphans_no_photo() {
    let db = TestDatabase::on_postgres().await;
    let other = db.another_node().await;
    let user = db.user("ada").await.id;
    for round in 0..10_u8 {
        let (first, second) = (2 * round, 2 * round + 1);
        for number in [first, second] {
            db.store.claim_photo(photo(number).id, NOW).await.unwrap();
        }
        let (here, there) = tokio::join!(
            db.store.set_profile_photo(user, new_photo(first), None, NOW),
            other.set_profile_photo(user, new_photo(second), None, NOW),
        );
        for outcome in [here, there] {
            assert!(matches!(outcome.unwrap(), ProfilePhotoOutcome::Changed(_)));
        }
        assert_eq!(db.count("SELECT count(*) FROM photos").await, 1);
    }
    assert_eq!(db.count("SELECT count(*) FROM removals").await, 19);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_username_is_taken_once_across_two_nodes() {
    let db = TestDatabase::on_postgres().await;
    let other = db.another_node().await;
    let names: Vec<String> = (0..40).map(|number| format!("user{number}")).collect();
    let here = join_all(names.iter().map(|name| db.join(name)));
    let there = join_all(names.iter().rev().map(|name| join(&other, name)));
    let (here, there) =
        tokio::time::timeout(DEADLOCK_TIMEOUT, async { tokio::join!(here, there) }).await.unwrap();
    assert_eq!(here.iter().chain(&there).flatten().count(), names.len());
    assert_eq!(db.count("SELECT count(*) FROM sessions").await, names.len() as i64);
}
