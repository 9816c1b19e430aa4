//! The first page of the feed, written once for everybody: what most requests ask for. It is written anew when
//! anything on it may have changed; who likes what is filled in for each reader.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use app::Liked;
use bytes::Bytes;
use model::PostId;
use parking_lot::Mutex;

use crate::http::written;

/// So many forms of it are kept: by the length asked for and by the address in its link.
const FORMS: usize = 32;

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
        let pages = self.pages.lock();
        let found = pages.iter().find(|page| page.version == version && will_do(&page.form)).cloned();
        let count = if found.is_some() { &self.hits } else { &self.misses };
        count.fetch_add(1, Ordering::Relaxed);
        found
    }

    pub(crate) fn keep(&self, page: &Arc<Written>) {
        let mut pages = self.pages.lock();
        pages.retain(|other| other.form != page.form);
        if pages.len() >= FORMS {
            pages.remove(0);
        }
        pages.push(page.clone());
    }

    pub(crate) fn figures(&self) -> app::Facts {
        let entries = self.pages.lock().len() as u64;
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        app::Facts { kind: "feed", entries, hits: of(&self.hits), misses: of(&self.misses) }
    }
}

impl Written {
    /// A page that was read after `version` was noted.
    pub(crate) fn new(form: Form, version: u64, json: Bytes, ids: &[PostId]) -> Self {
        let posts = written::unliked(&json).zip(ids.iter().copied()).collect();
        Self { form, version, json, posts }
    }

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
        let places = self.posts.iter().filter(|(_, id)| liked.contains(*id)).map(|(at, _)| *at);
        written::liked(&self.json, places)
    }
}
