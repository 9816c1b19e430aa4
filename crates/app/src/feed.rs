//! The feed: the posts of all users, of one, those that one likes, or those with a tag.

use std::sync::Arc;

use model::{FeedPage, FeedStart, Limit, PostFilter};

use store::FeedRequest;

use crate::{App, Caller, Client, Error};

impl App {
    pub async fn feed(
        &self,
        client: Client,
        caller: Option<&Caller>,
        filter: PostFilter,
        start: FeedStart,
        limit: Limit,
    ) -> Result<FeedPage, Error> {
        let viewer = caller.map(|caller| caller.user.id);
        let mut exclusions = self.exclusions(caller).await?;
        // A hidden user's own list, for that user and for moderators.
        if let (PostFilter::By(user), Some(caller)) = (&filter, caller)
            && (caller.user.id == *user || caller.is_moderator())
        {
            exclusions.hidden_users = Arc::default();
        }
        let request = FeedRequest { viewer, filter, start, limit, exclusions };
        let page = match self.0.store.short_feed(request.clone()).await? {
            Some(page) => page,
            None => {
                let _slot = self.0.long_reads.acquire(client, 0).await?;
                self.0.store.long_feed(request).await?
            }
        };
        Ok(FeedPage { posts: self.with_authors(page.posts).await?, next: page.next })
    }

    /// Whether a list that is empty for the caller has posts for those who have blocked and hidden nothing.
    pub async fn is_emptied(
        &self,
        client: Client,
        caller: Option<&Caller>,
        filter: PostFilter,
    ) -> Result<bool, Error> {
        let Some(caller) = caller else { return Ok(false) };
        if !self.has_exclusions(caller).await? {
            return Ok(false);
        }
        let page = self.feed(client, None, filter, FeedStart::Offset(0), Limit::default()).await?;
        Ok(!page.posts.is_empty())
    }
}
