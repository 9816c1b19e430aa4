//! Reads from a standby see every acknowledged write of every node.

use model::{FeedStart, Limit, PostFilter};
use store::{Exclusions, LikeOutcome};

use crate::test_database::{NOW, TestDatabase, feed};

const CONNECTIONS: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE application_name = current_setting('application_name') AND pid <> pg_backend_pid()";

#[tokio::test(flavor = "multi_thread")]
async fn reads_from_a_replica_see_the_writes_of_another_node_at_once() {
    let db = TestDatabase::on_postgres_with_replica().await;
    let other = db.another_node().await;
    let ada = db.user("ada").await;
    for number in 0..50 {
        let post = db.post(ada.id, number).await;
        let first = FeedStart::Offset(0);
        let exclusions = Exclusions::default();
        let page = feed(&other, None, PostFilter::Any, first, Limit::default(), &exclusions).await;
        assert_eq!(page.posts[0].id, post.id, "another node must see the new post first in the feed");
        assert_eq!(db.store.like(ada.id, post.id, NOW).await.unwrap(), LikeOutcome::Changed);
        let seen = other.post(post.id, Some(ada.id)).await.unwrap().unwrap();
        assert_eq!((seen.like_count, seen.is_liked), (1, true));
    }
    assert!(db.count_on_replica(CONNECTIONS).await > 0, "reads must use the standby");
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_use_the_primary_while_the_standby_does_not_replay() {
    let db = TestDatabase::on_postgres_with_replica().await;
    let ada = db.user("ada").await;
    let pause = "SELECT 1::bigint FROM (SELECT pg_wal_replay_pause()) paused";
    let resume = "SELECT 1::bigint FROM (SELECT pg_wal_replay_resume()) resumed";
    db.count_on_replica(pause).await;
    for number in 0..5 {
        let post = db.post(ada.id, number).await;
        assert!(db.store.post(post.id, None).await.unwrap().is_some());
    }
    db.count_on_replica(resume).await;
}
