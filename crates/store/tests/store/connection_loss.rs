//! Lost connections: no acknowledged write is lost, none is executed twice, and the store reconnects.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use model::UserId;
use store::{Error, LikeOutcome};

use crate::test_database::{NOW, TestDatabase};

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_likes_survive_terminated_connections() {
    let db = TestDatabase::on_postgres().await;
    let author = db.user("ada").await.id;
    let mut posts = Vec::new();
    for number in 0..5 {
        posts.push(db.post(author, number).await.id);
    }
    let mut users: Vec<UserId> = Vec::new();
    for number in 0..40 {
        users.push(db.user(&format!("user{number}")).await.id);
    }

    let terminating = async {
        let mut terminated = 0;
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(15)).await;
            terminated += db.terminate_connections().await;
        }
        terminated
    };
    // All users like and unlike concurrently, each one post after another, and record the last acknowledged
    // state.
    let liking = async {
        let mut tasks: FuturesUnordered<_> =
            users.iter().map(|user| like_repeatedly(&db, *user, &posts)).collect();
        let mut acknowledged = Vec::new();
        while let Some(likes) = tasks.next().await {
            acknowledged.extend(likes);
        }
        acknowledged
    };
    let (terminated, acknowledged) = tokio::join!(terminating, liking);
    assert!(terminated > 0, "at least one connection must have been terminated");

    for AcknowledgedLike { user, post, is_liked } in acknowledged {
        let stored = db.store.post(post, Some(user)).await.unwrap().unwrap();
        assert!(
            is_liked.is_none_or(|is_liked| is_liked == stored.is_liked),
            "the like of {post} by {user} must be as acknowledged"
        );
    }
    let wrong = "SELECT count(*) FROM posts p WHERE p.like_count
        <> (SELECT count(*) FROM likes l WHERE l.post_id = p.id)";
    assert_eq!(db.count(wrong).await, 0);
}

/// The last acknowledged state of a like; `None` if the last write was not acknowledged.
struct AcknowledgedLike {
    user: UserId,
    post: model::PostId,
    is_liked: Option<bool>,
}

async fn like_repeatedly(db: &TestDatabase, user: UserId, posts: &[model::PostId]) -> Vec<AcknowledgedLike> {
    let mut likes = Vec::new();
    for post in posts {
        let mut is_liked = Some(false);
        for round in 0..12 {
            let like = round % 2 == 0;
            let outcome =
                if like { db.store.like(user, *post, NOW).await } else { db.store.unlike(user, *post).await };
            match outcome {
                // After a write that was not acknowledged, `Changed` and `Unchanged` are both correct.
                Ok(LikeOutcome::Changed) => {
                    assert!(is_liked != Some(like), "{user} and {post}: an acknowledged write was lost");
                    is_liked = Some(like);
                }
                Ok(LikeOutcome::Unchanged) => {
                    assert!(is_liked != Some(!like), "{user} and {post}: an acknowledged write was lost");
                    is_liked = Some(like);
                }
                Ok(LikeOutcome::NoSuchPost) => panic!("{post} must exist"),
                Err(Error::Unavailable(_)) => is_liked = None,
                Err(error) => panic!("{error}"),
            }
        }
        likes.push(AcknowledgedLike { user, post: *post, is_liked });
    }
    likes
}

#[tokio::test]
async fn reads_and_writes_succeed_after_their_connections_were_terminated() {
    let db = TestDatabase::on_postgres().await;
    let ada = db.user("ada").await;
    let post = db.post(ada.id, 1).await.id;
    for _ in 0..5 {
        assert!(db.terminate_connections().await > 0);
        assert!(
            db.store.post(post, None).await.unwrap().is_some(),
            "a read must be retried on a new connection"
        );
        assert_ne!(db.store.like(ada.id, post, NOW).await.unwrap(), LikeOutcome::NoSuchPost);
    }
}

#[tokio::test]
async fn opening_an_unreachable_server_fails_without_showing_the_password() {
    let unreachable = "postgres://ada:s3cret@127.0.0.1:1/pinhole".parse().unwrap();
    let database = store::Database::Server { primary: unreachable, replica: None };
    let error = store::Store::open(&database, 1).await.unwrap_err().to_string();
    assert!(error.starts_with("cannot use the database pinhole on 127.0.0.1:1: "), "{error}");
    assert!(!error.contains("s3cret"), "{error}");
}
