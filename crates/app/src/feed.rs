//! The feed, as one reader sees it: everybody's posts, or those of one.

use std::sync::Arc;

use model::{FeedPage, FeedStart, Limit, PostId, Whose};

use crate::{App, Caller, Error, Liked};

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

    /// Changes whenever a post looks different to anybody, or a new one comes. Whoever keeps a page notes this before
    /// reading it, and may show it as long as it stays the same. `None` where others write as well: then no page can be
    /// kept.
    pub fn feed_version(&self) -> Option<u64> {
        self.0.memory.feed_version()
    }

    /// The posts the caller likes, among `oldest` and all newer ones.
    pub async fn liked_since(&self, caller: &Caller, oldest: PostId) -> Result<Arc<Liked>, Error> {
        let (parts, user) = (&self.0, caller.user.id);
        let read = async {
            let posts = parts.store.likes_since(user, oldest).await?;
            Ok::<_, Error>(Some(Arc::new(Liked { since: oldest, posts })))
        };
        let liked = parts.memory.likes.get(user, |liked| liked.since <= oldest, read).await?;
        Ok(liked.unwrap_or_else(|| Arc::new(Liked { since: oldest, posts: Vec::new() })))
    }
}
