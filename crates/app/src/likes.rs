//! Likes.

use std::sync::Arc;

use model::{FeedStart, LikerPage, Limit, PostId, Refusal, UserId};
use store::{Key, LikeOutcome, MAX_SHORT_OFFSET};

use crate::{App, Caller, Client, Error, LikedSet, Sources};

/// How many of a user's newest likes are cached: a page of the feed shows a hundred posts at most.
const CACHED_LIKES: u32 = 512;

impl App {
    pub async fn like(&self, caller: &Caller, post: PostId) -> Result<(), Error> {
        caller.check_active()?;
        self.check_likeable(caller, post).await?;
        self.count_like(caller).await?;
        match self.0.store.like(caller.user.id, post, self.0.clock.now()).await? {
            LikeOutcome::Changed => Ok(()),
            LikeOutcome::Unchanged => Err(Error::Conflict {
                field: None,
                refusal: Refusal::LikedAlready,
                message: "you have liked this post already",
            }),
            LikeOutcome::NoSuchPost => Err(Error::NO_SUCH_POST),
        }
    }

    /// Whether the caller has liked a post.
    pub async fn likes(&self, sources: &Sources, caller: &Caller, post: PostId) -> Result<bool, Error> {
        let user = caller.user.id;
        let liked = self.newest_liked(sources, user).await?;
        if liked.covers(post) {
            return Ok(liked.contains(post));
        }
        let is_liked = self.0.store.likes(user, post).await?;
        sources.add_read();
        Ok(is_liked)
    }

    /// The users who like a post, the newest members first. A page without hidden and blocked users may be
    /// shorter than `limit`.
    pub async fn likers(
        &self,
        client: Client,
        caller: Option<&Caller>,
        post: PostId,
        start: FeedStart,
        limit: Limit,
    ) -> Result<LikerPage, Error> {
        self.post(caller, post).await?;
        let exclusions = self.exclusions(caller).await?;
        let _slot = match start {
            FeedStart::Offset(skipped) if skipped > MAX_SHORT_OFFSET => {
                Some(self.0.long_reads.acquire(client, 0).await?)
            }
            _ => None,
        };
        let mut page = self.0.store.likers(post, start, limit).await?.ok_or(Error::NO_SUCH_POST)?;
        page.users.retain(|user| !exclusions.excludes_user(user.id));
        Ok(page)
    }

    /// The posts that the caller has liked, among `oldest` and all newer ones.
    pub async fn liked_since(
        &self,
        sources: &Sources,
        caller: &Caller,
        oldest: PostId,
    ) -> Result<Arc<LikedSet>, Error> {
        let user = caller.user.id;
        let liked = self.newest_liked(sources, user).await?;
        if liked.covers(oldest) {
            return Ok(liked);
        }
        let posts = self.0.store.likes_since(user, oldest).await?;
        sources.add_read();
        Ok(Arc::new(LikedSet::since(oldest, posts)))
    }

    /// The newest posts that a user has liked, cached. The caller must check that the set covers its post.
    async fn newest_liked(&self, sources: &Sources, user: UserId) -> Result<Arc<LikedSet>, Error> {
        let fill = async |sources: Arc<Sources>| {
            sources.add(Key::likes_by(user));
            let newest = self.0.store.newest_likes(user, CACHED_LIKES).await?;
            Ok(Arc::new(LikedSet::newest(newest, CACHED_LIKES)))
        };
        self.0.caches.likes.get(sources, user, fill).await
    }

    pub async fn unlike(&self, caller: &Caller, post: PostId) -> Result<(), Error> {
        // A post that is hidden from the caller is an unknown one, whether they have liked it or not.
        self.post(Some(caller), post).await?;
        match self.0.store.unlike(caller.user.id, post).await? {
            LikeOutcome::Changed => Ok(()),
            LikeOutcome::Unchanged => Err(Error::Conflict {
                field: None,
                refusal: Refusal::NotLiked,
                message: "you have not liked this post",
            }),
            LikeOutcome::NoSuchPost => Err(Error::NO_SUCH_POST),
        }
    }
}
