//! The feed, newest first: everybody's posts, or those of one.
//!
//! A page is always read by its place among the ids, so the millionth costs what the first does and
//! nothing shifts when posts come and go. A plain offset is turned into such a place first, by counting
//! down a narrow index; a large one is counted apart from everybody else.

use futures_util::FutureExt;
use model::{Anchor, FeedPage, FeedStart, Limit, Post, PostId, UserId, Whose};

use crate::error::Error;
use crate::likes;
use crate::posts::{NOBODY, liked_by_first, read_post, read_post_as_seen, select_posts};
use crate::statements::statements;
use crate::store::Store;
use crate::tx::Tx;

statements! {
    PAGE = concat!(select_posts!(), "WHERE p.id < $1 ORDER BY p.id DESC LIMIT $2");
    PAGE_OF = concat!(select_posts!(liked_by_first!()), "WHERE p.user_id = $2 AND p.id < $3 ORDER BY p.id DESC LIMIT $4");
    AT_OFFSET = "SELECT id FROM posts ORDER BY id DESC LIMIT 1 OFFSET $1";
    AT_OFFSET_OF = "SELECT id FROM posts WHERE user_id = $1 ORDER BY id DESC LIMIT 1 OFFSET $2";
}

/// Skipping so many is still quick.
const QUICK_OFFSET: u64 = 1_000;

impl Store {
    pub async fn feed(
        &self,
        viewer: Option<UserId>,
        whose: Whose,
        start: FeedStart,
        limit: Limit,
    ) -> Result<FeedPage<UserId>, Error> {
        let before = match start {
            FeedStart::Offset(0) => Some(PostId(i64::MAX)),
            FeedStart::After(Anchor(id)) => Some(id),
            FeedStart::Offset(skipped) => self.at_offset(whose, skipped).await?,
        };
        let Some(before) = before else { return Ok(FeedPage { posts: Vec::new(), next: None }) };
        self.read(move |tx| async move { page(tx, viewer, whose, before, limit.get()).await }.boxed()).await
    }

    /// The id below which the post after `skipped` others is the first; `None` behind the last post.
    async fn at_offset(&self, whose: Whose, skipped: u64) -> Result<Option<PostId>, Error> {
        let offset = i64::try_from(skipped).unwrap_or(i64::MAX);
        let first = if skipped > QUICK_OFFSET {
            self.read_long(move |tx| id_at(tx, whose, offset).boxed()).await?
        } else {
            self.read(move |tx| id_at(tx, whose, offset).boxed()).await?
        };
        Ok(first.map(|id| PostId(id + 1)))
    }
}

async fn id_at(tx: &mut Tx<'_>, whose: Whose, offset: i64) -> Result<Option<i64>, Error> {
    match whose {
        Whose::Everyones => tx.first(AT_OFFSET, &[offset.into()], |row| row.int(0)).await,
        Whose::Only(user) => tx.first(AT_OFFSET_OF, &[user.into(), offset.into()], |row| row.int(0)).await,
    }
}

async fn page(
    tx: &mut Tx<'_>,
    viewer: Option<UserId>,
    whose: Whose,
    before: PostId,
    limit: usize,
) -> Result<FeedPage<UserId>, Error> {
    // One more than shown tells whether anything follows.
    let asked = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let (before, asked) = (before.into(), asked.into());
    let (posts, more) = match (whose, viewer) {
        (Whose::Everyones, viewer) => {
            let (mut posts, more) = tx.page(limit, (PAGE, &[before, asked]), read_post).await?;
            if let Some(viewer) = viewer {
                mark_liked(tx, &mut posts, viewer).await?;
            }
            (posts, more)
        }
        (Whose::Only(user), viewer) => {
            let viewer = viewer.unwrap_or(NOBODY).into();
            tx.page(limit, (PAGE_OF, &[viewer, user.into(), before, asked]), read_post_as_seen).await?
        }
    };
    let next = posts.last().filter(|_| more).map(|post| Anchor(post.id));
    Ok(FeedPage { posts, next })
}

/// Posts that follow each other have their likes by one user in one place: one look there instead of one for each.
async fn mark_liked(tx: &mut Tx<'_>, posts: &mut [Post<UserId>], viewer: UserId) -> Result<(), Error> {
    let (Some(newest), Some(oldest)) = (posts.first(), posts.last()) else { return Ok(()) };
    let liked = likes::between(tx, viewer, oldest.id, newest.id).await?;
    for post in posts {
        post.is_liked = liked.binary_search(&post.id).is_ok();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use futures_util::poll;

    use super::*;
    use crate::Database;

    #[tokio::test]
    async fn whoever_counts_far_waits_apart() {
        for whose in [Whose::Everyones, Whose::Only(UserId(1))] {
            assert_counts_apart(whose).await;
        }
    }

    async fn assert_counts_apart(whose: Whose) {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::File(folder.path().join("pinhole.db"));
        let store = Store::open(&database, 1, Box::new(|_| {})).await.unwrap();
        // Somebody counts for as long as we like.
        let (finish, may_finish) = crossbeam_channel::bounded::<()>(1);
        let mut counting = Box::pin(store.read_long(move |_| {
            async move {
                may_finish.recv().unwrap();
                Ok(())
            }
            .boxed()
        }));
        assert!(poll!(&mut counting).is_pending());

        let feed = |start| store.feed(None, whose, start, Limit::default());
        let mut far = Box::pin(feed(FeedStart::Offset(QUICK_OFFSET + 1)));
        assert!(poll!(&mut far).is_pending());
        for start in
            [FeedStart::Offset(0), FeedStart::Offset(QUICK_OFFSET), FeedStart::After(Anchor(PostId(9)))]
        {
            assert!(feed(start).await.unwrap().posts.is_empty());
        }
        assert!(poll!(&mut far).is_pending(), "the others were answered first");
        finish.send(()).unwrap();
        counting.await.unwrap();
        assert!(far.await.unwrap().posts.is_empty());
    }
}
