//! The response cache: encoded first pages of the feed, encoded posts, and rendered pages.
//!
//! Posts are encoded with `is_liked` false, and pages with slots; each request patches in what is its
//! caller's.

use std::sync::Arc;

use app::{App, Memo};
use model::{CacheStats, PostId, UserId};

use super::pages::shared::{PageKey, SharedPage};
use super::post_json::PostJson;

pub(crate) struct ResponseCache {
    pub(crate) posts: Memo<PostId, Arc<PostJson>>,
    pub(crate) first_pages: Memo<FirstPageKey, Arc<PostJson>>,
    pub(crate) pages: Memo<PageKey, Arc<SharedPage>>,
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

const POSTS_BYTES: u64 = 48 << 20;
const FIRST_PAGES_BYTES: u64 = 4 << 20;
const PAGES_BYTES: u64 = 16 << 20;

impl ResponseCache {
    pub(crate) fn new(app: &App) -> Self {
        let revisions = app.revisions();
        Self {
            posts: Memo::new("posts", revisions, POSTS_BYTES, |_, json| json.len()),
            // One shard: a page may be large.
            first_pages: Memo::with_shards("first_pages", revisions, 1, FIRST_PAGES_BYTES, |key, json| {
                key.len() + json.len()
            }),
            pages: Memo::with_shards("pages", revisions, 4, PAGES_BYTES, |key, page| key.len() + page.len()),
        }
    }

    pub(crate) fn stats(&self) -> [CacheStats; 3] {
        [self.posts.stats(), self.first_pages.stats(), self.pages.stats()]
    }
}
