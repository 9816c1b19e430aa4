//! The response cache: encoded first pages of the feed, and encoded posts.
//!
//! Entries are encoded with `is_liked` false; each request patches in the likes of its caller. The app
//! publishes every change, and changes invalidate entries here, so that no entry is older than the last
//! acknowledged write.

use std::sync::Arc;

use app::{App, Change, InvalidatingCache};
use model::{CacheStats, PostId, UserId};

use super::post_json::PostJson;

pub(crate) struct ResponseCache {
    pub(crate) posts: InvalidatingCache<PostId, Arc<PostJson>>,
    pub(crate) first_pages: InvalidatingCache<FirstPageKey, Arc<PostJson>>,
}

/// The parts of a request that the bytes of a first page depend on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FirstPageKey {
    /// The `limit` as the client sent it: `paging.next` repeats it.
    pub(crate) limit: Option<String>,
    /// The scheme and host in `paging.next`.
    pub(crate) base_url: String,
    /// The viewer of a page that differs from that of others, because of blocked users or hidden posts.
    pub(crate) viewer: Option<UserId>,
}

impl FirstPageKey {
    /// The bytes that a client has sent.
    fn len(&self) -> u64 {
        (self.limit.as_ref().map_or(0, String::len) + self.base_url.len()) as u64
    }
}

/// How often a response is composed of cached values before it is read by one query: the values are not of
/// one moment if a change was published meanwhile.
pub(crate) const CACHE_ATTEMPTS: usize = 3;

const POSTS_BYTES: u64 = 64 << 20;
const FIRST_PAGES_BYTES: u64 = 4 << 20;

impl ResponseCache {
    /// A cache that `app` invalidates.
    pub(crate) fn new(app: &App) -> Arc<Self> {
        let cache = Arc::new(Self::empty());
        let subscriber = cache.clone();
        app.subscribe(move |changes| subscriber.invalidate(changes));
        cache
    }

    fn empty() -> Self {
        Self {
            posts: InvalidatingCache::new("posts", POSTS_BYTES, |_, json| json.len()),
            // One shard: a change of any post may invalidate all of them.
            first_pages: InvalidatingCache::with_shards("first_pages", 1, FIRST_PAGES_BYTES, |key, json| {
                key.len() + json.len()
            }),
        }
    }

    fn invalidate(&self, changes: &[Change]) {
        // A like invalidates the pages that reach down to its post; a change of a post or a user invalidates
        // all.
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
                // The cache has no index of posts by user.
                Change::User(_) | Change::Visibility(_) | Change::Everything => {
                    self.posts.invalidate_all();
                    all_pages = true;
                }
                Change::Relations(user) => {
                    self.first_pages.invalidate_where(|key, _| key.viewer == Some(*user));
                }
                Change::Session(_) | Change::Photo(_) | Change::Login(_) | Change::Instance => {}
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

    use model::FeedPage;

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

    fn first_page(limit: &str) -> FirstPageKey {
        FirstPageKey { limit: Some(limit.into()), base_url: "http://localhost".into(), viewer: None }
    }

    #[tokio::test]
    async fn what_a_client_has_sent_counts_to_the_size() {
        let cache = ResponseCache::empty();
        for number in 0..1_000 {
            let page = Arc::new(PostJson::page(&FeedPage { posts: vec![], next: None }, None));
            let key = first_page(&format!("{number:060000}"));
            cache.first_pages.get_or_fill(key, async || Ok::<_, Infallible>(page)).await.unwrap();
        }
        let CacheStats { entries, bytes, .. } = cache.first_pages.stats();
        assert!(
            (10..100).contains(&entries) && bytes <= FIRST_PAGES_BYTES,
            "{entries} entries, {bytes} bytes"
        );
    }

    #[tokio::test]
    async fn a_change_invalidates_the_responses_that_contain_it() {
        let (user, like) = (UserId(1), |id| Change::Like(UserId(1), PostId(id)));
        // The pages of 3 and of 5 posts, the empty page, and post 100.
        for (changes, cached) in [
            (vec![], [true, true, true, true]),
            (vec![like(95)], [true, true, true, true]),
            (vec![like(96), like(20)], [true, false, true, true]),
            (vec![like(100)], [false, false, true, false]),
            (vec![Change::Post(PostId(1))], [false, false, false, true]),
            (vec![like(20), Change::Post(PostId(101))], [false, false, false, true]),
            (vec![Change::User(user)], [false, false, false, false]),
            (vec![Change::Everything], [false, false, false, false]),
        ] {
            let cache = ResponseCache::empty();
            fill(&cache).await;
            cache.invalidate(&changes);
            let [three, five, none] = ["3", "5", "9"].map(|limit| cache.first_pages.get(&first_page(limit)));
            let still_cached =
                [three.is_some(), five.is_some(), none.is_some(), cache.posts.get(&PostId(100)).is_some()];
            assert_eq!(still_cached, cached, "{changes:?}");
        }
    }
}
