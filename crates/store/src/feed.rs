//! The feed, newest first: all posts, those of one user, or those that a user likes.
//!
//! Keyset pagination: a page is selected by an id, so every page costs the same, and posts that are created
//! or deleted do not shift it. An offset is first converted to an id by counting down a narrow index; a large
//! offset is a long read.

use std::cmp::Reverse;

use futures_util::FutureExt;
use model::{Cursor, FeedPage, FeedStart, Limit, Post, PostFilter, PostId, UserId};

use crate::error::Error;
use crate::likes;
use crate::posts::{PostRow, SELECT_LIKED, read_liked_post, read_post};
use crate::statements::{sql, statements};
use crate::store::{MAX_SHORT_OFFSET, Store};
use crate::table::TableRow;
use crate::tx::Tx;
use crate::users::ANONYMOUS;
use crate::value::Value;

statements! {
    PAGE = sql!(
        "SELECT ", PostRow::COLUMN_LIST, " FROM posts p WHERE p.id < $1 ORDER BY p.id DESC LIMIT $2"
    );
    // One range scan finds the likes of a page: as many as there are posts reach down to its oldest one.
    pub PAGE_LIKED = sql!("SELECT ", PostRow::COLUMN_LIST, ", p.id IN (
            SELECT l.post_id FROM likes l WHERE l.user_id = $1 AND l.post_id < $2 ORDER BY l.post_id DESC LIMIT $3
        ) FROM posts p WHERE p.id < $2 ORDER BY p.id DESC LIMIT $3");
    PAGE_BY_USER = sql!(SELECT_LIKED, "WHERE p.user_id = $2 AND p.id < $3 ORDER BY p.id DESC LIMIT $4");
    // Not in order: SQLite would sort the rows.
    PAGE_LIKED_BY = sql!("SELECT ", PostRow::COLUMN_LIST, " FROM posts p WHERE p.id IN (
            SELECT l.post_id FROM likes l WHERE l.user_id = $1 AND l.post_id < $2 ORDER BY l.post_id DESC LIMIT $3
        )");
    ID_AT_OFFSET_LIKED_BY = "SELECT post_id FROM likes WHERE user_id = $1 ORDER BY post_id DESC LIMIT 1 OFFSET $2";
    ID_AT_OFFSET = "SELECT id FROM posts ORDER BY id DESC LIMIT 1 OFFSET $1";
    ID_AT_OFFSET_BY_USER = "SELECT id FROM posts WHERE user_id = $1 ORDER BY id DESC LIMIT 1 OFFSET $2";
}

impl Store {
    pub async fn feed(
        &self,
        viewer: Option<UserId>,
        filter: PostFilter,
        start: FeedStart,
        limit: Limit,
    ) -> Result<FeedPage<UserId>, Error> {
        let before = match start {
            FeedStart::Offset(0) => Some(PostId(i64::MAX)),
            FeedStart::After(Cursor(id)) => Some(PostId(id)),
            FeedStart::Offset(skipped) => self.at_offset(filter, skipped).await?,
        };
        let Some(before) = before else { return Ok(FeedPage { posts: Vec::new(), next: None }) };
        self.read(move |tx| async move { page(tx, viewer, filter, before, limit.get()).await }.boxed()).await
    }

    /// The exclusive upper bound of the ids on the page after `skipped` posts; `None` after the last post.
    async fn at_offset(&self, filter: PostFilter, skipped: u64) -> Result<Option<PostId>, Error> {
        let offset = i64::try_from(skipped).unwrap_or(i64::MAX);
        let first = if skipped > MAX_SHORT_OFFSET {
            self.read_long(move |tx| id_at(tx, filter, offset).boxed()).await?
        } else {
            self.read(move |tx| id_at(tx, filter, offset).boxed()).await?
        };
        Ok(first.map(|id| PostId(id + 1)))
    }
}

async fn id_at(tx: &mut Tx<'_>, filter: PostFilter, offset: i64) -> Result<Option<i64>, Error> {
    match filter {
        PostFilter::Any => tx.first(ID_AT_OFFSET, &[offset.into()], |row| row.int(0)).await,
        PostFilter::By(user) => {
            tx.first(ID_AT_OFFSET_BY_USER, &[user.into(), offset.into()], |row| row.int(0)).await
        }
        PostFilter::LikedBy(user) => {
            tx.first(ID_AT_OFFSET_LIKED_BY, &[user.into(), offset.into()], |row| row.int(0)).await
        }
    }
}

async fn page(
    tx: &mut Tx<'_>,
    viewer: Option<UserId>,
    filter: PostFilter,
    before: PostId,
    limit: usize,
) -> Result<FeedPage<UserId>, Error> {
    // One row more than the page tells whether there is a next page.
    let fetched = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let (before, fetched) = (before.into(), fetched.into());
    let (posts, more) = match (filter, viewer) {
        (PostFilter::Any, None) => tx.page(limit, (PAGE, &[before, fetched]), read_post).await?,
        (PostFilter::Any, Some(viewer)) => page_for(tx, viewer, limit, before, fetched).await?,
        (PostFilter::By(user), viewer) => {
            let viewer = viewer.unwrap_or(ANONYMOUS).into();
            tx.page(limit, (PAGE_BY_USER, &[viewer, user.into(), before, fetched]), read_liked_post).await?
        }
        (PostFilter::LikedBy(user), viewer) => {
            let mut posts = tx.all(PAGE_LIKED_BY, &[user.into(), before, fetched], read_post).await?;
            posts.sort_by_key(|post| Reverse(post.id));
            let more = posts.len() > limit;
            posts.truncate(limit);
            for post in &mut posts {
                post.is_liked = viewer == Some(user);
            }
            (posts, more)
        }
    };
    let next = posts.last().filter(|_| more).map(|post| Cursor(post.id.0));
    Ok(FeedPage { posts, next })
}

/// A page for a user, and whether there is another one.
async fn page_for(
    tx: &mut Tx<'_>,
    viewer: UserId,
    limit: usize,
    before: Value<'_>,
    fetched: Value<'_>,
) -> Result<(Vec<Post<UserId>>, bool), Error> {
    // Two statements see one snapshot on SQLite, and are faster there than one. On PostgreSQL they would be
    // two round trips, and might see two snapshots.
    if let Tx::Postgres(_) = tx {
        return tx.page(limit, (PAGE_LIKED, &[viewer.into(), before, fetched]), read_liked_post).await;
    }
    let (mut posts, more) = tx.page(limit, (PAGE, &[before, fetched]), read_post).await?;
    if let (Some(newest), Some(oldest)) = (posts.first(), posts.last()) {
        let liked = likes::between(tx, viewer, oldest.id, newest.id).await?;
        for post in &mut posts {
            post.is_liked = liked.binary_search(&post.id).is_ok();
        }
    }
    Ok((posts, more))
}

#[cfg(test)]
mod tests {
    use futures_util::poll;

    use super::*;
    use crate::store::Database;

    #[tokio::test]
    async fn a_large_offset_queues_behind_long_reads_and_other_pages_do_not() {
        for filter in [PostFilter::Any, PostFilter::By(UserId(1)), PostFilter::LikedBy(UserId(1))] {
            assert_only_large_offsets_wait(filter).await;
        }
    }

    async fn assert_only_large_offsets_wait(filter: PostFilter) {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::File(folder.path().join("pinhole.db"));
        let store = Store::open(&database, 1, Box::new(|_| {})).await.unwrap();
        // A long read that ends when `finish` is sent to.
        let (finish, may_finish) = crossbeam_channel::bounded::<()>(1);
        let mut counting = Box::pin(store.read_long(move |_| {
            async move {
                may_finish.recv().unwrap();
                Ok(())
            }
            .boxed()
        }));
        assert!(poll!(&mut counting).is_pending());

        let feed = |start| store.feed(None, filter, start, Limit::default());
        let mut far = Box::pin(feed(FeedStart::Offset(MAX_SHORT_OFFSET + 1)));
        assert!(poll!(&mut far).is_pending());
        for start in [FeedStart::Offset(0), FeedStart::Offset(MAX_SHORT_OFFSET), FeedStart::After(Cursor(9))]
        {
            assert!(feed(start).await.unwrap().posts.is_empty());
        }
        assert!(poll!(&mut far).is_pending(), "the large offset must wait for the long read");
        finish.send(()).unwrap();
        counting.await.unwrap();
        assert!(far.await.unwrap().posts.is_empty());
    }
}
