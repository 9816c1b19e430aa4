//! The feed, newest first: all posts, those of one user, those that a user likes, or those with a tag.
//!
//! Keyset pagination: a page is selected by an id, so every page costs the same, and posts that are created
//! or deleted do not shift it. An offset is first converted to an id by counting down a narrow index.
//!
//! A page with a large offset, or one that many excluded posts precede, is a long read.
//!
//! Posts that a moderator has hidden are excluded by the statements, others by [`Exclusions`] afterwards:
//! few pages contain any, and a join for each row would cost all of them.

use std::cmp::Reverse;

use futures_util::FutureExt;
use model::{Cursor, FeedPage, FeedStart, Limit, Post, PostFilter, PostId, UserId};

use crate::error::Error;
use crate::exclusions::Exclusions;
use crate::likes;
use crate::posts::{PostRow, SELECT_LIKED, read_liked_post, read_post};
use crate::row::Row;
use crate::statements::{sql, statements};
use crate::store::{MAX_SHORT_OFFSET, Store};
use crate::table::{TableRow, column};
use crate::tx::Tx;
use crate::users::ANONYMOUS;
use crate::value::{BoundStatement, Value};

statements! {
    PAGE = sql!("SELECT ", PostRow::COLUMN_LIST, " FROM posts p
        WHERE p.id < $1 AND p.hidden_reason IS NULL ORDER BY p.id DESC LIMIT $2");
    // One range scan finds the likes of a page: as many as there are posts reach down to its oldest one.
    pub PAGE_LIKED = sql!("SELECT ", PostRow::COLUMN_LIST, ", p.id IN (
            SELECT l.post_id FROM likes l WHERE l.user_id = $1 AND l.post_id < $2
            AND NOT EXISTS (SELECT 1 FROM posts h WHERE h.id = l.post_id AND h.hidden_reason IS NOT NULL)
            ORDER BY l.post_id DESC LIMIT $3
        ) FROM posts p WHERE p.id < $2 AND p.hidden_reason IS NULL ORDER BY p.id DESC LIMIT $3");
    PAGE_BY_USER = sql!(SELECT_LIKED, "WHERE p.user_id = $2 AND p.id < $3 AND p.hidden_reason IS NULL
        ORDER BY p.id DESC LIMIT $4");
    // Not in order: SQLite would sort the rows. With hidden posts, since the limit counts them.
    PAGE_LIKED_BY = sql!("SELECT ", PostRow::COLUMN_LIST, " FROM posts p WHERE p.id IN (
            SELECT l.post_id FROM likes l WHERE l.user_id = $1 AND l.post_id < $2 ORDER BY l.post_id DESC LIMIT $3
        )");
    PAGE_TAGGED = sql!(SELECT_LIKED, "JOIN post_tags t ON t.post_id = p.id
        WHERE t.tag = $2 AND t.post_id < $3 AND p.hidden_reason IS NULL ORDER BY t.post_id DESC LIMIT $4");
    ID_AT_OFFSET = "SELECT id FROM posts WHERE hidden_reason IS NULL ORDER BY id DESC LIMIT 1 OFFSET $1";
    ID_AT_OFFSET_BY_USER = "SELECT id FROM posts WHERE user_id = $1 AND hidden_reason IS NULL
        ORDER BY id DESC LIMIT 1 OFFSET $2";
    // For offsets that do not count excluded posts.
    AUTHORS = "SELECT id, user_id FROM posts WHERE id < $1 AND hidden_reason IS NULL ORDER BY id DESC LIMIT $2";
    AUTHORS_BY_USER = "SELECT id, user_id FROM posts WHERE user_id = $1 AND id < $2 AND hidden_reason IS NULL
        ORDER BY id DESC LIMIT $3";
    AUTHORS_LIKED_BY = "SELECT l.post_id, CASE WHEN p.hidden_reason IS NULL THEN p.user_id ELSE 0 END
        FROM likes l JOIN posts p ON p.id = l.post_id
        WHERE l.user_id = $1 AND l.post_id < $2 ORDER BY l.post_id DESC LIMIT $3";
    AUTHORS_TAGGED = "SELECT t.post_id, p.user_id FROM post_tags t JOIN posts p ON p.id = t.post_id
        WHERE t.tag = $1 AND t.post_id < $2 AND p.hidden_reason IS NULL ORDER BY t.post_id DESC LIMIT $3";
}

/// Columns that are read before the rest of a row.
const ID: usize = column(PostRow::COLUMNS, "id");
const AUTHOR: usize = column(PostRow::COLUMNS, "user_id");
const HIDDEN: usize = column(PostRow::COLUMNS, "hidden_reason");

/// Rows that one page reads at most. If more than these are excluded, the page is short, and the next one
/// continues below them.
const MAX_SCANNED: usize = 20_000;

/// Rows that one statement reads at most.
const MAX_FETCHED: usize = 500;

/// Rows that a short read reads one by one: enough for [`MAX_SHORT_OFFSET`].
const MAX_SHORT_SCANNED: usize = 3 * MAX_FETCHED;

/// A page of posts that the viewer's `exclusions` do not exclude.
#[derive(Debug, Clone)]
pub struct FeedRequest {
    pub viewer: Option<UserId>,
    pub filter: PostFilter,
    pub start: FeedStart,
    pub limit: Limit,
    pub exclusions: Exclusions,
}

impl Store {
    /// `None` if it is a long read.
    pub async fn short_feed(&self, request: FeedRequest) -> Result<Option<FeedPage<UserId>>, Error> {
        if matches!(request.start, FeedStart::Offset(skipped) if skipped > MAX_SHORT_OFFSET) {
            return Ok(None);
        }
        self.read(move |tx| async move { request.read(tx, MAX_SHORT_SCANNED).await }.boxed()).await
    }

    /// The page however many rows it reads. Long reads run one after the other.
    pub async fn long_feed(&self, request: FeedRequest) -> Result<FeedPage<UserId>, Error> {
        let page = self.read_long(move |tx| async move { request.read(tx, usize::MAX).await }.boxed());
        Ok(page.await?.unwrap_or(FeedPage { posts: Vec::new(), next: None }))
    }
}

/// The statements of a list. Rows are read below a post, at most a number of them: the last two parameters.
struct Listing<'a> {
    /// Selects posts.
    page: &'static str,
    page_keys: Vec<Value<'a>>,
    likes: Likes,
    /// Selects ids with the authors, for offsets that do not count excluded posts.
    authors: &'static str,
    key: Option<Value<'a>>,
    /// Selects the id at an offset where no post is excluded.
    at_offset: Option<&'static str>,
}

/// How posts get their `is_liked`.
#[derive(Clone, Copy)]
enum Likes {
    /// `page` has it as its last column.
    Selected,
    /// By a second statement: on SQLite the two see one snapshot, and are faster than one. On PostgreSQL they
    /// would be two round trips, and might see two snapshots.
    LookedUp(UserId),
    /// All the same. `page` is not in order, and includes hidden posts.
    OfLiked(bool),
    /// The reader is a guest.
    None,
}

impl<'a> Listing<'a> {
    fn of(filter: &'a PostFilter, viewer: Option<UserId>, tx: &Tx<'_>) -> Self {
        let reader = Value::from(viewer.unwrap_or(ANONYMOUS));
        let (page, page_keys, likes) = match (filter, viewer) {
            (PostFilter::Any, None) => (PAGE, vec![], Likes::None),
            (PostFilter::Any, Some(viewer)) if matches!(tx, Tx::Sqlite(_)) => {
                (PAGE, vec![], Likes::LookedUp(viewer))
            }
            (PostFilter::Any, Some(_)) => (PAGE_LIKED, vec![reader], Likes::Selected),
            (PostFilter::By(user), _) => (PAGE_BY_USER, vec![reader, (*user).into()], Likes::Selected),
            (PostFilter::Tagged(tag), _) => (PAGE_TAGGED, vec![reader, tag.as_str().into()], Likes::Selected),
            (PostFilter::LikedBy(user), _) => {
                (PAGE_LIKED_BY, vec![(*user).into()], Likes::OfLiked(viewer == Some(*user)))
            }
        };
        let (authors, key, at_offset) = match filter {
            PostFilter::Any => (AUTHORS, None, Some(ID_AT_OFFSET)),
            PostFilter::By(user) => (AUTHORS_BY_USER, Some((*user).into()), Some(ID_AT_OFFSET_BY_USER)),
            PostFilter::LikedBy(user) => (AUTHORS_LIKED_BY, Some((*user).into()), None),
            PostFilter::Tagged(tag) => (AUTHORS_TAGGED, Some(tag.as_str().into()), None),
        };
        Self { page, page_keys, likes, authors, key, at_offset }
    }

    /// Reads a row of `page`.
    fn read(&self) -> fn(&Row<'_, '_>) -> Result<Post<UserId>, Error> {
        if let Likes::Selected = self.likes { read_liked_post } else { read_post }
    }

    async fn set_likes(&self, tx: &mut Tx<'_>, posts: &mut [Post<UserId>]) -> Result<(), Error> {
        match self.likes {
            Likes::Selected | Likes::None => {}
            Likes::LookedUp(viewer) => set_liked(tx, viewer, posts).await?,
            Likes::OfLiked(is_liked) => posts.iter_mut().for_each(|post| post.is_liked = is_liked),
        }
        Ok(())
    }
}

/// The parameters of a statement that reads rows below a post.
fn below<'a>(keys: &[Value<'a>], before: PostId, fetched: usize) -> Vec<Value<'a>> {
    let fetched = i64::try_from(fetched).unwrap_or(i64::MAX);
    keys.iter().copied().chain([before.into(), fetched.into()]).collect()
}

/// Where a page begins.
enum PageStart {
    /// Below this id.
    Before(PostId),
    /// There is no post at the offset.
    AfterLast,
    /// More rows precede it than may be read.
    TooFar,
}

impl FeedRequest {
    /// `None` if excluded posts make it read more than `max_scanned` rows.
    async fn read(self, tx: &mut Tx<'_>, max_scanned: usize) -> Result<Option<FeedPage<UserId>>, Error> {
        let Self { viewer, filter, start, limit, exclusions } = self;
        let start = match start {
            FeedStart::Offset(0) => PageStart::Before(PostId(i64::MAX)),
            FeedStart::After(Cursor(id)) => PageStart::Before(PostId(id)),
            FeedStart::Offset(skipped) => {
                let listing = Listing::of(&filter, viewer, tx);
                at_offset(tx, &listing, skipped, &exclusions, max_scanned).await?
            }
        };
        let page = Page { listing: Listing::of(&filter, viewer, tx), limit: limit.get() };
        match start {
            PageStart::Before(before) => page.read(tx, before, &exclusions, max_scanned).await,
            PageStart::AfterLast => Ok(Some(FeedPage { posts: Vec::new(), next: None })),
            PageStart::TooFar => Ok(None),
        }
    }
}

async fn at_offset(
    tx: &mut Tx<'_>,
    listing: &Listing<'_>,
    skipped: u64,
    exclusions: &Exclusions,
    max_scanned: usize,
) -> Result<PageStart, Error> {
    // Where posts are excluded, rows are counted one by one.
    let Some(statement) = listing.at_offset.filter(|_| exclusions.is_empty()) else {
        return count_shown(tx, listing, skipped, exclusions, max_scanned).await;
    };
    let offset = i64::try_from(skipped).unwrap_or(i64::MAX);
    let values: Vec<Value<'_>> = listing.key.into_iter().chain([offset.into()]).collect();
    let first = tx.first(statement, &values, |row| row.post_id(0)).await?;
    Ok(first.map_or(PageStart::AfterLast, PageStart::at))
}

impl PageStart {
    fn at(first: PostId) -> Self {
        Self::Before(PostId(first.0 + 1))
    }
}

/// The post after `skipped` ones that are not excluded.
async fn count_shown(
    tx: &mut Tx<'_>,
    listing: &Listing<'_>,
    mut skipped: u64,
    exclusions: &Exclusions,
    max_scanned: usize,
) -> Result<PageStart, Error> {
    let mut scanned = 0;
    let mut before = PostId(i64::MAX);
    let read = |row: &Row<'_, '_>| Ok((row.post_id(0)?, row.user_id(1)?));
    loop {
        let values = below(listing.key.as_slice(), before, MAX_FETCHED);
        let rows = tx.all(listing.authors, &values, read).await?;
        for (post, author) in &rows {
            // Hidden by a moderator.
            if *author == ANONYMOUS || exclusions.excludes_post(*post, *author) {
                continue;
            }
            match skipped.checked_sub(1) {
                Some(rest) => skipped = rest,
                None => return Ok(PageStart::at(*post)),
            }
        }
        scanned += rows.len();
        match rows.last() {
            Some((last, _)) if rows.len() == MAX_FETCHED => before = *last,
            _ => return Ok(PageStart::AfterLast),
        }
        if scanned >= max_scanned {
            return Ok(PageStart::TooFar);
        }
    }
}

struct Page<'a> {
    listing: Listing<'a>,
    limit: usize,
}

/// A part of the posts of a page.
struct Scan {
    shown: Vec<Post<UserId>>,
    /// The number of posts that were read, and the last of them.
    scanned: usize,
    last: Option<PostId>,
}

impl Page<'_> {
    async fn read(
        &self,
        tx: &mut Tx<'_>,
        mut before: PostId,
        exclusions: &Exclusions,
        max_scanned: usize,
    ) -> Result<Option<FeedPage<UserId>>, Error> {
        if exclusions.is_empty()
            && let Some((posts, more)) = self.select(tx, before).await?
        {
            let next = posts.last().filter(|_| more).map(|post| Cursor(post.id.0));
            return Ok(Some(FeedPage { posts, next }));
        }
        let mut posts: Vec<Post<UserId>> = Vec::with_capacity(self.limit + 1);
        // More than needed, so that one statement is usually enough: SQLite does not read what is left over.
        let mut fetched =
            if let Tx::Sqlite(_) = tx { 4 * (self.limit + 1) } else { (self.limit + 1) * 5 / 4 };
        let mut total = 0;
        loop {
            let Scan { shown, scanned, last } = self
                .scan(tx, before, fetched.min(MAX_FETCHED), self.limit + 1 - posts.len(), exclusions)
                .await?;
            posts.extend(shown);
            if posts.len() > self.limit {
                posts.truncate(self.limit);
                let next = posts.last().map(|post| Cursor(post.id.0));
                return Ok(Some(FeedPage { posts, next }));
            }
            total += scanned;
            let is_end = scanned < fetched.min(MAX_FETCHED);
            before = last.unwrap_or(before);
            if is_end || total >= MAX_SCANNED {
                return Ok(Some(FeedPage { posts, next: (!is_end).then_some(Cursor(before.0)) }));
            }
            if total >= max_scanned {
                return Ok(None);
            }
            fetched = (4 * fetched).min(MAX_FETCHED);
        }
    }

    /// Reads up to `fetched` posts below `before`, until `wanted` of them are shown.
    async fn scan(
        &self,
        tx: &mut Tx<'_>,
        before: PostId,
        fetched: usize,
        wanted: usize,
        exclusions: &Exclusions,
    ) -> Result<Scan, Error> {
        let (mut scanned, mut last) = (0, None);
        let mut is_shown = |post, author, is_hidden: bool| {
            scanned += 1;
            last = Some(post);
            !is_hidden && !exclusions.excludes_post(post, author)
        };
        let Listing { page, page_keys, likes, .. } = &self.listing;
        let query: BoundStatement<'_> = (page, &below(page_keys, before, fetched));
        let read = self.listing.read();
        let mut shown = if let Likes::OfLiked(_) = likes {
            let mut posts = tx.all(query.0, query.1, read).await?;
            posts.sort_by_key(|post| Reverse(post.id));
            posts.retain(|post| is_shown(post.id, post.user, post.hidden_reason.is_some()));
            posts
        } else {
            let is_row_shown = |row: &Row<'_, '_>| {
                Ok(is_shown(row.post_id(ID)?, row.user_id(AUTHOR)?, !row.is_null(HIDDEN)?))
            };
            tx.filtered(wanted, query, read, is_row_shown).await?
        };
        self.listing.set_likes(tx, &mut shown).await?;
        Ok(Scan { shown, scanned, last })
    }

    /// The posts below `before` where none is excluded, and whether there are more. `None` for liked posts:
    /// their statement also returns hidden ones.
    async fn select(
        &self,
        tx: &mut Tx<'_>,
        before: PostId,
    ) -> Result<Option<(Vec<Post<UserId>>, bool)>, Error> {
        let Listing { page, page_keys, likes, .. } = &self.listing;
        if let Likes::OfLiked(_) = likes {
            return Ok(None);
        }
        // One row more than the page tells whether there is a next page.
        let query: BoundStatement<'_> = (page, &below(page_keys, before, self.limit.saturating_add(1)));
        let (mut posts, more) = tx.page(self.limit, query, self.listing.read()).await?;
        self.listing.set_likes(tx, &mut posts).await?;
        Ok(Some((posts, more)))
    }
}

/// Sets `is_liked` of posts, which are in their order.
async fn set_liked(tx: &mut Tx<'_>, viewer: UserId, posts: &mut [Post<UserId>]) -> Result<(), Error> {
    if let (Some(newest), Some(oldest)) = (posts.first(), posts.last()) {
        let liked = likes::between(tx, viewer, oldest.id, newest.id).await?;
        for post in posts {
            post.is_liked = liked.binary_search(&post.id).is_ok();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use futures_util::poll;

    use super::*;
    use crate::store::Database;

    #[tokio::test]
    async fn a_large_offset_queues_behind_long_reads_and_other_pages_do_not() {
        let tagged = PostFilter::Tagged("tag".parse().unwrap());
        for filter in [PostFilter::Any, PostFilter::By(UserId(1)), PostFilter::LikedBy(UserId(1)), tagged] {
            assert_only_large_offsets_wait(filter).await;
        }
    }

    async fn assert_only_large_offsets_wait(filter: PostFilter) {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::File(folder.path().join("pinhole.db"));
        let store = Store::open(&database, 1).await.unwrap();
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

        let request = |start| FeedRequest {
            viewer: None,
            filter: filter.clone(),
            start,
            limit: Limit::default(),
            exclusions: Exclusions::default(),
        };
        let far = || request(FeedStart::Offset(MAX_SHORT_OFFSET + 1));
        assert!(store.short_feed(far()).await.unwrap().is_none());
        let mut far = Box::pin(store.long_feed(far()));
        assert!(poll!(&mut far).is_pending());
        for start in [FeedStart::Offset(0), FeedStart::Offset(MAX_SHORT_OFFSET), FeedStart::After(Cursor(9))]
        {
            assert!(store.short_feed(request(start)).await.unwrap().unwrap().posts.is_empty());
        }
        assert!(poll!(&mut far).is_pending(), "the large offset must wait for the long read");
        finish.send(()).unwrap();
        counting.await.unwrap();
        assert!(far.await.unwrap().posts.is_empty());
    }
}
