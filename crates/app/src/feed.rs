//! The feed, as one reader sees it: everybody's posts, or those of one.

use model::{FeedPage, FeedStart, Limit, Whose};

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
        Ok(FeedPage { posts: self.with_authors(page.posts).await?, next: page.next })
    }
}
