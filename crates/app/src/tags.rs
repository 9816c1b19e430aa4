//! Indexes the tags of posts that are not indexed yet: those from before the index, and those that a node of
//! an earlier version has written.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, sleep};

use crate::{App, Error};

/// Posts that are indexed concurrently: their commits are batched.
const POSTS_AT_ONCE: u32 = 64;

/// How often such posts are looked for.
const INTERVAL: Duration = Duration::from_secs(60);

impl App {
    pub(crate) async fn index_tags_periodically(&self) {
        let mut tick = tokio::time::interval(INTERVAL);
        loop {
            tick.tick().await;
            match self.index_tags().await {
                Ok(0) => {}
                Ok(posts) => tracing::info!(posts, "tags of earlier posts indexed"),
                Err(error) => tracing::warn!(%error, "index of tags interrupted; retry in a minute"),
            }
        }
    }

    /// In batches, with pauses that leave most of the time to requests. An interrupted run, or one on another
    /// node, indexes what is left.
    async fn index_tags(&self) -> Result<usize, Error> {
        let mut indexed = 0;
        loop {
            let began = Instant::now();
            let posts = self.0.store.posts_without_tags(POSTS_AT_ONCE).await?;
            if posts.is_empty() {
                return Ok(indexed);
            }
            for outcome in join_all(posts.iter().map(|post| self.0.store.index_tags(*post))).await {
                outcome?;
            }
            indexed += posts.len();
            sleep(3 * began.elapsed()).await;
        }
    }
}
