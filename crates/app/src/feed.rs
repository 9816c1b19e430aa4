//! The feed: the posts of all users, of one, those that one likes, or those with a tag.

use std::sync::Arc;

use model::{FeedPage, FeedStart, Limit, PostFilter};

use store::{FeedRequest, Key};

use crate::{App, Caller, Client, Error, Sources};

impl App {
    pub async fn feed(
        &self,
        client: Client,
        caller: Option<&Caller>,
        filter: PostFilter,
        start: FeedStart,
        limit: Limit,
    ) -> Result<FeedPage, Error> {
        let sources = self.sources();
        let page = self.read_feed(&sources, client, caller, filter, start, limit).await;
        self.settle(&sources, page).await
    }

    /// The same as a part of a response, or of a memoised value.
    pub async fn read_feed(
        &self,
        sources: &Sources,
        client: Client,
        caller: Option<&Caller>,
        filter: PostFilter,
        start: FeedStart,
        limit: Limit,
    ) -> Result<FeedPage, Error> {
        let viewer = caller.map(|caller| caller.user.id);
        let mut exclusions = self.read_exclusions(sources, caller).await?;
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
        sources.add(Key::POSTS);
        for post in &page.posts {
            sources.add(Key::post(post.id));
            sources.add(Key::likes_of(post.id));
        }
        Ok(FeedPage { posts: self.with_authors(sources, page.posts).await?, next: page.next })
    }

    /// Whether a list that is empty for the caller has posts for those who have blocked and hidden nothing.
    pub async fn is_emptied(
        &self,
        client: Client,
        caller: Option<&Caller>,
        filter: PostFilter,
    ) -> Result<bool, Error> {
        let Some(caller) = caller else { return Ok(false) };
        if !self.has_exclusions(&self.sources(), caller).await? {
            return Ok(false);
        }
        let page = self.feed(client, None, filter, FeedStart::Offset(0), Limit::default()).await?;
        Ok(!page.posts.is_empty())
    }
}
