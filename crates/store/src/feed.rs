//! The feed, newest first: all posts, or those of one user.
//!
//! A page is always selected by an id (keyset pagination), so the millionth costs what the first does and
//! nothing shifts when posts come and go. An offset is turned into an id first, by counting down a narrow
//! index; a large one is counted among the long reads.

use futures_util::FutureExt;
use model::{Anchor, FeedPage, FeedStart, Limit, Post, PostId, UserId, Whose};

use crate::error::Error;
use crate::likes;
use crate::posts::{PostRow, SELECT_LIKED, read_liked_post, read_post};
use crate::statements::{sql, statements};
use crate::store::Store;
use crate::table::TableRow;
use crate::tx::Tx;
use crate::users::ANONYMOUS;

statements! {
    pub PAGE = sql!("SELECT ", PostRow::LIST, " FROM posts p WHERE p.id < $1 ORDER BY p.id DESC LIMIT $2");
    PAGE_OF = sql!(SELECT_LIKED, "WHERE p.user_id = $2 AND p.id < $3 ORDER BY p.id DESC LIMIT $4");
    AT_OFFSET = "SELECT id FROM posts ORDER BY id DESC LIMIT 1 OFFSET $1";
    AT_OFFSET_OF = "SELECT id FROM posts WHERE user_id = $1 ORDER BY id DESC LIMIT 1 OFFSET $2";
}

/// Larger offsets are long reads.
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

    /// The id below which the page behind `skipped` posts begins; `None` behind the last post.
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
    // One more than returned tells whether there is a next page.
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
            let viewer = viewer.unwrap_or(ANONYMOUS).into();
            tx.page(limit, (PAGE_OF, &[viewer, user.into(), before, asked]), read_liked_post).await?
        }
    };
    let next = posts.last().filter(|_| more).map(|post| Anchor(post.id));
    Ok(FeedPage { posts, next })
}

/// One range scan of the user's likes instead of a lookup for each post.
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
    use crate::store::Database;

    #[tokio::test]
    async fn a_large_offset_waits_for_long_reads_and_no_other_does() {
        for whose in [Whose::Everyones, Whose::Only(UserId(1))] {
            assert_waits_alone(whose).await;
        }
    }

    async fn assert_waits_alone(whose: Whose) {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::File(folder.path().join("pinhole.db"));
        let store = Store::open(&database, 1, Box::new(|_| {})).await.unwrap();
        // A long read that ends when it is told to.
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
        assert!(poll!(&mut far).is_pending(), "the others did not wait for the long read");
        finish.send(()).unwrap();
        counting.await.unwrap();
        assert!(far.await.unwrap().posts.is_empty());
    }
}
