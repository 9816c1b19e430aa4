//! Two nodes on one database: what is exact on one is exact on both together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use model::{PostId, UserId};
use store::{Access, Created, Like, Replay};

use crate::case::{Case, NOW, join, new_photo, new_post, photo};
use crate::moving;

/// Long enough for any of these stories; two nodes that wait for each other in a circle take longer.
const IN_TIME: Duration = Duration::from_secs(30);

/// Four posts, and twenty-five who may like them.
async fn posts_and_members(case: &Case) -> (Vec<PostId>, Vec<UserId>) {
    let author = case.user("ada").await.id;
    let (mut posts, mut members) = (Vec::new(), Vec::new());
    for number in 0..4 {
        posts.push(case.post(author, number).await.id);
    }
    for number in 0..25 {
        members.push(case.user(&format!("user{number}")).await.id);
    }
    (posts, members)
}

#[tokio::test(flavor = "multi_thread")]
async fn likes_through_two_nodes_are_counted_once_each() {
    let case = Case::on_postgres().await;
    let other = case.another_node().await;
    let (posts, members) = posts_and_members(&case).await;
    // Everybody likes everything through both nodes at once, each node in another order, and half take it
    // back.
    let pairs: Vec<_> = members.iter().flat_map(|user| posts.iter().map(|post| (*user, *post))).collect();
    let here = join_all(pairs.iter().map(|(user, post)| case.store.like(*user, *post, NOW)));
    let there = join_all(pairs.iter().rev().map(|(user, post)| other.like(*user, *post, NOW)));
    let (here, there) = tokio::time::timeout(IN_TIME, async { tokio::join!(here, there) }).await.unwrap();
    let outcomes: Vec<Like> = here.into_iter().chain(there).collect::<Result<_, _>>().unwrap();
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Like::Changed).count(), pairs.len());
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Like::Unchanged).count(), pairs.len());

    let half = &pairs[..pairs.len() / 2];
    let here = join_all(half.iter().map(|(user, post)| case.store.unlike(*user, *post)));
    let there = join_all(half.iter().rev().map(|(user, post)| other.unlike(*user, *post)));
    let (here, there) = tokio::time::timeout(IN_TIME, async { tokio::join!(here, there) }).await.unwrap();
    let outcomes: Vec<Like> = here.into_iter().chain(there).collect::<Result<_, _>>().unwrap();
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Like::Changed).count(), half.len());

    let wrong = "SELECT count(*) FROM posts p WHERE p.like_count
        <> (SELECT count(*) FROM likes l WHERE l.post_id = p.id)";
    assert_eq!(case.count(wrong).await, 0);
    assert_eq!(case.count("SELECT count(*) FROM likes").await, (pairs.len() - half.len()) as i64);
    // What one node wrote, the other reads at once.
    let (user, post) = pairs[pairs.len() - 1];
    assert!(other.post(post, Some(user)).await.unwrap().unwrap().is_liked);
}

/// The lock on a post is handed on in turn: those who like it do not pass by the one who waits to delete it.
#[tokio::test(flavor = "multi_thread")]
async fn a_post_that_everybody_likes_can_be_deleted() {
    let case = Case::on_postgres().await;
    let author = case.user("ada").await.id;
    let mut members: Vec<UserId> = Vec::new();
    for number in 0..120 {
        members.push(UserId(moving::join(&case.store, number).await));
    }
    let post = case.post(author, 1).await.id;
    let mut nodes = Vec::new();
    for _ in 0..4 {
        nodes.push(Arc::new(case.another_node().await));
    }
    let (is_over, likes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let crowd = members.into_iter().enumerate().map(|(n, user)| {
        let (node, is_over, likes) = (nodes[n % nodes.len()].clone(), is_over.clone(), likes.clone());
        tokio::spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                for done in [node.like(user, post, NOW).await, node.unlike(user, post).await] {
                    done.unwrap();
                    likes.fetch_add(1, Ordering::Relaxed);
                }
            }
        })
    });
    let crowd: Vec<_> = crowd.collect();
    while likes.load(Ordering::Relaxed) < 1_000 {
        tokio::task::yield_now().await;
    }
    let deleted = case.store.delete_post(post, Some(author), NOW).await;
    is_over.store(true, Ordering::Relaxed);
    assert_eq!(deleted.unwrap(), Access::Granted(photo(1).id));
    for member in crowd {
        member.await.unwrap();
    }
    assert_eq!(case.count("SELECT count(*) FROM likes").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn likes_are_counted_anew_while_they_come_and_go() {
    let case = Case::on_postgres().await;
    let other = case.another_node().await;
    let (posts, members) = posts_and_members(&case).await;
    for round in 0..10 {
        case.meddle("UPDATE posts SET like_count = like_count + 1000")();
        let pairs = members.iter().flat_map(|user| posts.iter().map(|post| (*user, *post)));
        let likes = join_all(pairs.map(async |(user, post)| match round % 2 {
            0 => other.like(user, post, NOW).await,
            _ => other.unlike(user, post).await,
        }));
        let both = async { tokio::join!(case.store.recount_likes(), likes) };
        let (mended, likes) = tokio::time::timeout(IN_TIME, both).await.unwrap();
        assert_eq!(mended.unwrap(), posts.len());
        assert!(likes.into_iter().all(|like| like.unwrap() == Like::Changed));
        assert_eq!(case.store.miscounted().await.unwrap(), []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_comes_to_two_nodes_makes_one_post() {
    let case = Case::on_postgres().await;
    let other = case.another_node().await;
    let author = case.user("ada").await.id;
    for round in 0..10_u8 {
        let (first, second, key) = (2 * round, 2 * round + 1, format!("key {round}"));
        for number in [first, second] {
            case.store.claim_photo(photo(number).id, NOW).await.unwrap();
        }
        let (here, there) = tokio::join!(
            case.store.create_post(new_post(author, first, Some(&key))),
            other.create_post(new_post(author, second, Some(&key))),
        );
        let posts: Vec<PostId> = [here, there]
            .map(|made| match made.unwrap() {
                Created::New(post) | Created::Replayed(Replay::Post(post)) => post.id,
                other => panic!("{other:?}"),
            })
            .into();
        assert_eq!(posts[0], posts[1]);
    }
    assert_eq!(case.count("SELECT count(*) FROM posts").await, 10);
    assert_eq!(case.count("SELECT count(*) FROM photos").await, 10);
    assert_eq!(
        case.count("SELECT count(*) FROM removals").await,
        10,
        "the bytes of the others are collected"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_face_changed_through_two_nodes_leaves_nothing_behind() {
    let case = Case::on_postgres().await;
    let other = case.another_node().await;
    let user = case.user("ada").await.id;
    for round in 0..10_u8 {
        let (first, second) = (2 * round, 2 * round + 1);
        for number in [first, second] {
            case.store.claim_photo(photo(number).id, NOW).await.unwrap();
        }
        let (here, there) = tokio::join!(
            case.store.set_profile_photo(user, new_photo(first), NOW),
            other.set_profile_photo(user, new_photo(second), NOW),
        );
        assert!(here.unwrap().is_some() && there.unwrap().is_some());
        assert_eq!(case.count("SELECT count(*) FROM photos").await, 1);
    }
    assert_eq!(case.count("SELECT count(*) FROM removals").await, 19);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_given_once_by_two_nodes() {
    let case = Case::on_postgres().await;
    let other = case.another_node().await;
    let names: Vec<String> = (0..40).map(|number| format!("user{number}")).collect();
    let here = join_all(names.iter().map(|name| case.join(name)));
    let there = join_all(names.iter().rev().map(|name| join(&other, name)));
    let (here, there) = tokio::time::timeout(IN_TIME, async { tokio::join!(here, there) }).await.unwrap();
    assert_eq!(here.iter().chain(&there).flatten().count(), names.len());
    assert_eq!(case.count("SELECT count(*) FROM sessions").await, names.len() as i64);
}
