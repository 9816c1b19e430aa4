//! The feed, newest first.
//!
//! A page is always read by its place among the ids, so the millionth costs what the first does and
//! nothing shifts when posts come and go. A plain offset is turned into such a place first, walking only
//! the narrow primary key.

use futures_util::FutureExt;
use model::{Anchor, FeedPage, FeedStart, Limit, PostId, UserId};

use crate::posts::{NOBODY, read_post, select_posts};
use crate::statements::statements;
use crate::tx::Tx;
use crate::users::user_columns;
use crate::{Error, Store};

statements! {
    PAGE = concat!(select_posts!(), "WHERE p.id < $2 ORDER BY p.id DESC LIMIT $3");
    AT_OFFSET = "SELECT id FROM posts ORDER BY id DESC LIMIT 1 OFFSET $1";
}

impl Store {
    pub async fn feed(
        &self,
        viewer: Option<UserId>,
        start: FeedStart,
        limit: Limit,
    ) -> Result<FeedPage, Error> {
        self.read(move |tx| {
            async move {
                match resolve(tx, start).await? {
                    Some(before) => page(tx, viewer.unwrap_or(NOBODY), before, limit.get()).await,
                    None => Ok(FeedPage { posts: Vec::new(), next: None }),
                }
            }
            .boxed()
        })
        .await
    }
}

/// The id below which the page begins; `None` when the offset lies behind the last post.
async fn resolve(tx: &mut Tx, start: FeedStart) -> Result<Option<PostId>, Error> {
    match start {
        FeedStart::Offset(0) => Ok(Some(PostId(i64::MAX))),
        FeedStart::After(Anchor(id)) => Ok(Some(id)),
        FeedStart::Offset(skipped) => {
            let skipped = i64::try_from(skipped).unwrap_or(i64::MAX);
            let first = tx.first(AT_OFFSET, &[skipped.into()], |row| row.int(0)).await?;
            Ok(first.map(|id| PostId(id + 1)))
        }
    }
}

async fn page(tx: &mut Tx, viewer: UserId, before: PostId, limit: usize) -> Result<FeedPage, Error> {
    // One more than shown tells whether anything follows.
    let asked = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let mut posts = tx.all(PAGE, &[viewer.into(), before.into(), asked.into()], read_post).await?;
    let more = posts.len() > limit;
    posts.truncate(limit);
    let next = posts.last().filter(|_| more).map(|post| Anchor(post.id));
    Ok(FeedPage { posts, next })
}
