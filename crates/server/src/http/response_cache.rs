//! Encoded responses: the first pages of the feed, and posts.
//!
//! Entries are encoded for a reader who likes nothing; a reader's own likes are patched in for each request.
//! The app publishes the changes of every commit before it is acknowledged, so no entry is older than that.

use std::sync::Arc;

use app::{App, Change, InvalidatingCache};
use model::{CacheStats, PostId};

use super::post_json::PostJson;

pub(crate) struct ResponseCache {
    pub(crate) posts: InvalidatingCache<PostId, Arc<PostJson>>,
    pub(crate) first_pages: InvalidatingCache<FirstPage, Arc<PostJson>>,
    is_enabled: bool,
}

/// What the bytes of a first page depend on besides its posts.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct FirstPage {
    pub(crate) limit: Option<String>,
    /// The address in its `paging.next`.
    pub(crate) base: String,
}

const POSTS_BYTES: u64 = 64 << 20;
const FIRST_PAGES_BYTES: u64 = 4 << 20;

impl ResponseCache {
    /// A cache that `app` invalidates. It keeps nothing where other nodes write to the same database.
    pub(crate) fn new(app: &App) -> Arc<Self> {
        let cache = Arc::new(if app.has_exact_caches() { Self::enabled() } else { Self::disabled() });
        let invalidated = cache.clone();
        app.subscribe(move |changes| invalidated.invalidate(changes));
        cache
    }

    fn enabled() -> Self {
        Self {
            posts: InvalidatingCache::new("posts", POSTS_BYTES, |json| json.len()),
            // A change of any post may change all of them.
            first_pages: InvalidatingCache::with_shards("first_pages", 1, FIRST_PAGES_BYTES, |json| {
                json.len()
            }),
            is_enabled: true,
        }
    }

    fn disabled() -> Self {
        Self {
            posts: InvalidatingCache::disabled("posts"),
            first_pages: InvalidatingCache::disabled("first_pages"),
            is_enabled: false,
        }
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    fn invalidate(&self, changes: &[Change]) {
        // A like changes the pages that reach down to its post, a post or a user may change all of them.
        let mut newest_liked = None;
        let mut all_pages = false;
        for change in changes {
            match change {
                Change::Post(post) => {
                    self.posts.invalidate(post);
                    all_pages = true;
                }
                Change::Like(_, post) => {
                    self.posts.invalidate(post);
                    newest_liked = newest_liked.max(Some(*post));
                }
                Change::User(_) => {
                    // Which posts are theirs is not known here.
                    self.posts.invalidate_all();
                    all_pages = true;
                }
                Change::Session(_) | Change::Photo(_) => {}
            }
        }
        if all_pages {
            self.first_pages.invalidate_all();
        } else if newest_liked.is_some() {
            self.first_pages
                .invalidate_where(|_, page| page.oldest().is_some_and(|id| Some(id) <= newest_liked));
        }
    }

    pub(crate) fn stats(&self) -> [CacheStats; 2] {
        [self.posts.stats(), self.first_pages.stats()]
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use model::{FeedPage, UserId};

    use super::super::post_json::tests::post;
    use super::*;

    async fn fill(cache: &ResponseCache) {
        for (limit, ids) in [("3", 98..101), ("5", 96..101), ("9", 0..0)] {
            let posts = ids.rev().map(|id| post(PostId(id))).collect();
            let page = Arc::new(PostJson::page(&FeedPage { posts, next: None }, None));
            let fill = async || Ok::<_, Infallible>(page);
            cache.first_pages.get_or_fill(first_page(limit), fill).await.unwrap();
        }
        let fill = async || Ok::<_, Infallible>(Arc::new(PostJson::post(&post(PostId(100)))));
        cache.posts.get_or_fill(PostId(100), fill).await.unwrap();
    }

    fn first_page(limit: &str) -> FirstPage {
        FirstPage { limit: Some(limit.into()), base: "http://localhost".into() }
    }

    #[tokio::test]
    async fn a_change_invalidates_the_responses_that_show_it() {
        let (someone, like) = (UserId(1), |id| Change::Like(UserId(1), PostId(id)));
        // The pages of 3 and of 5 posts, the empty page, and post 100.
        for (changes, kept) in [
            (vec![], [true, true, true, true]),
            (vec![like(95)], [true, true, true, true]),
            (vec![like(96), like(20)], [true, false, true, true]),
            (vec![like(100)], [false, false, true, false]),
            (vec![Change::Post(PostId(1))], [false, false, false, true]),
            (vec![like(20), Change::Post(PostId(101))], [false, false, false, true]),
            (vec![Change::User(someone)], [false, false, false, false]),
        ] {
            let cache = ResponseCache::enabled();
            fill(&cache).await;
            cache.invalidate(&changes);
            let [three, five, none] = ["3", "5", "9"].map(|limit| cache.first_pages.get(&first_page(limit)));
            let found =
                [three.is_some(), five.is_some(), none.is_some(), cache.posts.get(&PostId(100)).is_some()];
            assert_eq!(found, kept, "{changes:?}");
        }
    }
}
