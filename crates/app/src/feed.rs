//! The feed, as one reader sees it: everybody's posts, or those of one.

use model::{FeedPage, FeedStart, Limit, PostId, Whose};

use crate::{App, Caller, Error};

impl App {
    pub async fn feed(
        &self,
        caller: Option<&Caller>,
        whose: Whose,
        start: FeedStart,
        limit: Limit,
    ) -> Result<FeedPage, Error> {
        let viewer = caller.map(|caller| caller.user.id);
        let page = self.0.store.feed(viewer, whose, start, limit).await?;
        Ok(FeedPage { posts: self.all_signed(page.posts).await?, next: page.next })
    }

    /// Changes whenever a page of the newest posts may look different. Whoever keeps one notes this before reading it, asks
    /// [`App::may_keep`], and may show it as long as this stays the same. `None` where others write as well: then no
    /// page can be kept.
    pub fn feed_version(&self) -> Option<u64> {
        self.0.memory.feed_version()
    }

    /// Whether a page that goes down to `oldest` may be kept. If not, likes on it may have gone unnoticed; they will
    /// not from now on, so the next one can be kept.
    pub fn may_keep(&self, oldest: PostId) -> bool {
        self.0.memory.watch(oldest)
    }
}
