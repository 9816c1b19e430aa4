//! Reads from a standby: whoever asks never sees less than anybody was told.

use model::{FeedStart, Limit, Whose};
use store::Like;

use crate::case::{Case, NOW};

const CONNECTIONS: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE application_name = current_setting('application_name') AND pid <> pg_backend_pid()";

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_is_read_at_once_from_wherever_it_is() {
    let case = Case::on_postgres_with_replica().await;
    let other = case.another_node().await;
    let ada = case.user("ada").await;
    for number in 0..50 {
        let post = case.post(ada.id, number).await;
        let page = other.feed(None, Whose::Everyones, FeedStart::Offset(0), Limit::default()).await.unwrap();
        assert_eq!(page.posts[0].id, post.id, "the newest is on top, on another node as well");
        assert_eq!(case.store.like(ada.id, post.id, NOW).await.unwrap(), Like::Changed);
        let seen = other.post(post.id, Some(ada.id)).await.unwrap().unwrap();
        assert_eq!((seen.like_count, seen.is_liked), (1, true));
    }
    assert!(case.count_on_replica(CONNECTIONS).await > 0, "nobody asked the standby");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_that_stands_still_is_not_believed() {
    let case = Case::on_postgres_with_replica().await;
    let ada = case.user("ada").await;
    let pause = "SELECT 1::bigint FROM (SELECT pg_wal_replay_pause()) paused";
    let resume = "SELECT 1::bigint FROM (SELECT pg_wal_replay_resume()) resumed";
    case.count_on_replica(pause).await;
    for number in 0..5 {
        let post = case.post(ada.id, number).await;
        assert!(case.store.post(post.id, None).await.unwrap().is_some());
    }
    case.count_on_replica(resume).await;
}
