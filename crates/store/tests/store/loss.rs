//! Connections that end in the middle: nothing acknowledged is lost, nothing is done twice, and nobody has to
//! restart.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use model::UserId;
use store::{Error, Like};

use crate::case::{Case, NOW};

#[tokio::test(flavor = "multi_thread")]
async fn likes_hold_or_are_not_acknowledged_when_connections_are_cut() {
    let case = Case::on_postgres().await;
    let author = case.user("ada").await.id;
    let mut posts = Vec::new();
    for number in 0..5 {
        posts.push(case.post(author, number).await.id);
    }
    let mut members: Vec<UserId> = Vec::new();
    for number in 0..40 {
        members.push(case.user(&format!("user{number}")).await.id);
    }

    let cutting = async {
        let mut cut = 0;
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(15)).await;
            cut += case.cut_connections().await;
        }
        cut
    };
    // Everybody keeps liking and unliking, one after the other, and remembers what they were told last.
    let liking = async {
        let mut people: FuturesUnordered<_> =
            members.iter().map(|user| keep_liking(&case, *user, &posts)).collect();
        let mut told = Vec::new();
        while let Some(ledger) = people.next().await {
            told.extend(ledger);
        }
        told
    };
    let (cut, told) = tokio::join!(cutting, liking);
    assert!(cut > 0, "nothing was cut, so nothing was shown");

    for Entry { user, post, is_liked } in told {
        let seen = case.store.post(post, Some(user)).await.unwrap().unwrap();
        assert!(
            is_liked.is_none_or(|is_liked| is_liked == seen.is_liked),
            "{user} was told otherwise of {post}"
        );
    }
    let wrong = "SELECT count(*) FROM posts p WHERE p.like_count
        <> (SELECT count(*) FROM likes l WHERE l.post_id = p.id)";
    assert_eq!(case.count(wrong).await, 0);
}

/// What somebody knows of a like of theirs; `None` if they were never told.
struct Entry {
    user: UserId,
    post: model::PostId,
    is_liked: Option<bool>,
}

async fn keep_liking(case: &Case, user: UserId, posts: &[model::PostId]) -> Vec<Entry> {
    let mut ledger = Vec::new();
    for post in posts {
        let mut is_liked = Some(false);
        for round in 0..12 {
            let like = round % 2 == 0;
            let outcome = if like {
                case.store.like(user, *post, NOW).await
            } else {
                case.store.unlike(user, *post).await
            };
            match outcome {
                // If the last one was never answered, either may be right.
                Ok(Like::Changed) => {
                    assert!(is_liked != Some(like), "{user} and {post}: done, but it was so before");
                    is_liked = Some(like);
                }
                Ok(Like::Unchanged) => {
                    assert!(
                        is_liked != Some(!like),
                        "{user} and {post}: what was acknowledged does not hold"
                    );
                    is_liked = Some(like);
                }
                Ok(Like::NoSuchPost) => panic!("{post} is gone"),
                Err(Error::Unavailable(_)) => is_liked = None,
                Err(error) => panic!("{error}"),
            }
        }
        ledger.push(Entry { user, post: *post, is_liked });
    }
    ledger
}

#[tokio::test]
async fn reads_and_writes_go_on_by_themselves_after_a_cut() {
    let case = Case::on_postgres().await;
    let ada = case.user("ada").await;
    let post = case.post(ada.id, 1).await.id;
    for _ in 0..5 {
        assert!(case.cut_connections().await > 0);
        assert!(case.store.post(post, None).await.unwrap().is_some(), "a read is simply done again");
        assert_ne!(case.store.like(ada.id, post, NOW).await.unwrap(), Like::NoSuchPost);
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_said_to_be_away() {
    let nowhere = "postgres://ada:s3cret@127.0.0.1:1/pinhole".parse().unwrap();
    let database = store::Database::Server { primary: nowhere, replica: None };
    let refused = store::Store::open(&database, 1, Box::new(|_| {})).await.unwrap_err().to_string();
    assert!(refused.starts_with("cannot use the database pinhole on 127.0.0.1:1: "), "{refused}");
    assert!(!refused.contains("s3cret"), "{refused}");
}
