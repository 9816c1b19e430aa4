//! What is asked so often that it is kept in memory, and how it stays true.
//!
//! We hear of every change that is made through us. Where other nodes make changes as well, nothing is kept: no answer
//! may be older than the last write that anybody was told of. Only that a photo is there is believed for a moment, as
//! long as an image may outlive its photo on other nodes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use model::{PhotoId, Post, PostId, TokenHash, User, UserId};
use store::{Change, Session};

use crate::Facts;
use crate::known::Known;

#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) sessions: Known<TokenHash, Session>,
    /// The short side of photos that exist.
    pub(crate) photos: Known<PhotoId, u32>,
    /// Posts as somebody sees them who likes none, without their authors.
    pub(crate) posts: Known<PostId, Arc<Post<UserId>>>,
    /// Whoever wrote the posts that are read.
    pub(crate) users: Known<UserId, Arc<User>>,
    pub(crate) likes: Known<UserId, Arc<Liked>>,
    feed: AtomicU64,
    is_shared: bool,
}

/// An image must be gone within five seconds of its photo, on every node. This leaves time for the answer to arrive.
const BELIEF: Duration = Duration::from_secs(3);

/// The posts somebody likes, among `since` and all newer ones, oldest first.
#[derive(Debug)]
pub struct Liked {
    pub(crate) since: PostId,
    pub(crate) posts: Vec<PostId>,
}

impl Liked {
    pub fn contains(&self, post: PostId) -> bool {
        self.posts.binary_search(&post).is_ok()
    }
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self {
            sessions: Known::new("sessions", 16_384),
            photos: Known::new("photos", 65_536),
            // Few, because a message may be long.
            posts: Known::new("posts", 2_048),
            users: Known::new("users", 32_768),
            likes: Known::new("likes", 16_384),
            feed: AtomicU64::new(0),
            is_shared: false,
        }
    }

    /// Of facts that others change without our hearing of it.
    pub(crate) fn of_shared_facts() -> Self {
        Self {
            sessions: Known::nothing("sessions"),
            photos: Known::for_a_while("photos", 65_536, BELIEF),
            posts: Known::nothing("posts"),
            users: Known::nothing("users"),
            likes: Known::nothing("likes"),
            feed: AtomicU64::new(0),
            is_shared: true,
        }
    }

    /// Changes whenever a post looks different to anybody, or a new one comes; `None` where that cannot be known.
    pub(crate) fn feed_version(&self) -> Option<u64> {
        (!self.is_shared).then(|| self.feed.load(Ordering::Acquire))
    }

    /// Forgets what is not true any more.
    pub(crate) fn hear(&self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Session(token) => self.sessions.forget(token),
                Change::User(user) => {
                    self.users.forget(user);
                    // Which sessions are theirs is not known here, and it is rare.
                    self.sessions.forget_all();
                }
                Change::Like(user, post) => {
                    self.likes.forget(user);
                    self.posts.forget(post);
                }
                Change::Photo(photo) => self.photos.forget(photo),
                Change::Post(post) => self.posts.forget(post),
            }
        }
        let seen = |change: &Change| matches!(change, Change::User(_) | Change::Post(_) | Change::Like(..));
        if changes.iter().any(seen) {
            self.feed.fetch_add(1, Ordering::Release);
        }
    }

    pub(crate) fn figures(&self) -> Vec<Facts> {
        let Self { sessions, photos, posts, users, likes, feed: _, is_shared: _ } = self;
        vec![sessions.figures(), photos.figures(), posts.figures(), users.figures(), likes.figures()]
    }
}
