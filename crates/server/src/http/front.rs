//! The first page of the feed, written once for everybody: what most requests ask for. It is written anew when
//! anything on it may have changed; who likes what is filled in for each reader.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use app::Liked;
use bytes::Bytes;
use memchr::memmem;
use model::PostId;

/// So many forms of it are kept: by the length asked for and by the address in its link.
const FORMS: usize = 32;

/// How a post that the reader does not like says so. It cannot be part of a text, where quotes are escaped.
const UNLIKED: &[u8] = b"\"is_liked\":false";
const FALSE: &[u8] = b"false";

#[derive(Default)]
pub(crate) struct Front {
    pages: Mutex<Vec<Arc<Written>>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// A page as somebody sees it who likes nothing.
pub(crate) struct Written {
    form: Form,
    version: u64,
    json: Bytes,
    /// Where each post says `false`.
    posts: Vec<(usize, PostId)>,
}

/// What the bytes depend on besides the posts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) limit: Option<String>,
    pub(crate) base: String,
}

impl Front {
    /// The page of a form that will do, if it is as new as `version`.
    pub(crate) fn find(&self, version: u64, will_do: impl Fn(&Form) -> bool) -> Option<Arc<Written>> {
        let pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let found = pages.iter().find(|page| page.version == version && will_do(&page.form)).cloned();
        let count = if found.is_some() { &self.hits } else { &self.misses };
        count.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Keeps a page that was read after `version` was noted.
    pub(crate) fn keep(&self, form: Form, version: u64, json: Bytes, ids: &[PostId]) -> Arc<Written> {
        let places = memmem::find_iter(&json, UNLIKED).map(|at| at + UNLIKED.len() - FALSE.len());
        let posts = places.zip(ids.iter().copied()).collect();
        let page = Arc::new(Written { form, version, json, posts });
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|other| other.form != page.form);
        if pages.len() >= FORMS {
            pages.remove(0);
        }
        pages.push(page.clone());
        page
    }

    pub(crate) fn figures(&self) -> app::Facts {
        let entries = self.pages.lock().unwrap_or_else(PoisonError::into_inner).len() as u64;
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        app::Facts { kind: "feed", entries, hits: of(&self.hits), misses: of(&self.misses) }
    }
}

impl Written {
    /// The oldest post on it.
    pub(crate) fn oldest(&self) -> Option<PostId> {
        self.posts.last().map(|(_, id)| *id)
    }

    /// As a stranger sees it.
    pub(crate) fn plain(&self) -> Bytes {
        self.json.clone()
    }

    /// As somebody sees it who likes these.
    pub(crate) fn seen_by(&self, liked: &Liked) -> Bytes {
        let mut places =
            self.posts.iter().filter(|(_, id)| liked.contains(*id)).map(|(at, _)| *at).peekable();
        if places.peek().is_none() {
            return self.json.clone();
        }
        let mut json = Vec::with_capacity(self.json.len());
        let mut done = 0;
        for at in places {
            json.extend_from_slice(&self.json[done..at]);
            json.extend_from_slice(b"true");
            done = at + FALSE.len();
        }
        json.extend_from_slice(&self.json[done..]);
        json.into()
    }
}
