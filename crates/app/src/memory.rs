//! What is asked so often that it is kept in memory, and how it stays true.
//!
//! We hear of every change that is made through us. Where other nodes make changes as well, nothing is kept: no answer
//! may be older than the last write that anybody was told of. Only that a photo is there is believed for a moment, as
//! long as an image may outlive its photo on other nodes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use model::{PhotoId, PostId, TokenHash, User, UserId};
use parking_lot::Mutex;
use store::{Change, Session};

use crate::Facts;
use crate::known::Known;

#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) sessions: Known<TokenHash, Session>,
    /// The short side of photos that exist.
    pub(crate) photos: Known<PhotoId, u32>,
    /// Posts as somebody sees them who likes none, the way they are sent.
    pub(crate) posts: Known<PostId, Bytes>,
    /// Whoever wrote the posts that are read.
    pub(crate) users: Known<UserId, Arc<User>>,
    pub(crate) likes: Known<UserId, Arc<Liked>>,
    feed: AtomicU64,
    /// Likes on this post and newer ones change the feed.
    watched: Mutex<PostId>,
    is_shared: bool,
}

/// An image must be gone within five seconds of its photo, on every node. This leaves time for the answer to arrive.
const BELIEF: Duration = Duration::from_secs(3);

/// What posts and likes may take, and what each takes besides its own bytes.
const POSTS: u64 = 64 << 20;
const LIKES: u64 = 32 << 20;
const ENTRY: u64 = 128;

/// So far below the oldest post that is kept by anybody likes are watched, so that pages of different lengths get by
/// with the same mark; and so much further it may be from there before it is moved up.
const MARGIN: i64 = 256;
const SLACK: i64 = 1024;

/// The posts somebody likes, among `since` and all newer ones, oldest first.
#[derive(Debug)]
pub struct Liked {
    pub(crate) since: PostId,
    posts: Vec<PostId>,
    /// How many were asked for when these were read.
    pub(crate) limit: u32,
    /// How often older posts were asked for.
    too_short: AtomicU32,
}

/// So often somebody looks at older posts one by one before it is worth to read more of their likes.
const PATIENCE: u32 = 64;

impl Liked {
    /// Of the newest posts somebody likes, newest first, and no more than `limit`.
    pub(crate) fn newest(mut posts: Vec<PostId>, limit: u32) -> Self {
        let full = posts.len() >= limit as usize;
        let since = posts.last().copied().filter(|_| full).unwrap_or(PostId(i64::MIN));
        posts.reverse();
        Self { limit, ..Self::all_since(since, posts) }
    }

    /// Of all such posts, oldest first.
    pub(crate) fn all_since(since: PostId, posts: Vec<PostId>) -> Self {
        Self { since, posts, limit: 0, too_short: AtomicU32::new(0) }
    }

    /// Whether it reaches back to a post, or more need not be read for once.
    pub(crate) fn will_do(&self, post: PostId) -> bool {
        self.since <= post || self.too_short.fetch_add(1, Ordering::Relaxed) < PATIENCE
    }

    fn weight(&self) -> u64 {
        size_of_val(&*self.posts) as u64 + ENTRY
    }

    pub fn contains(&self, post: PostId) -> bool {
        self.posts.binary_search(&post).is_ok()
    }
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self {
            sessions: Known::new("sessions", 65_536),
            photos: Known::new("photos", 65_536),
            posts: Known::weighed("posts", POSTS, |json| json.len() as u64 + ENTRY),
            users: Known::new("users", 32_768),
            likes: Known::weighed("likes", LIKES, |liked| liked.weight()),
            feed: AtomicU64::new(0),
            watched: Mutex::new(PostId(i64::MAX)),
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
            watched: Mutex::new(PostId(i64::MAX)),
            is_shared: true,
        }
    }

    /// Changes whenever a page of the newest posts may look different; `None` where that cannot be known. Likes count
    /// only on posts that are watched.
    pub(crate) fn feed_version(&self) -> Option<u64> {
        (!self.is_shared).then(|| self.feed.load(Ordering::Acquire))
    }

    /// Whether likes on this post and newer ones have been watched. If not they are from now on; and whatever was read
    /// before is older than the version that begins with that.
    pub(crate) fn watch(&self, oldest: PostId) -> bool {
        let mut watched = self.watched.lock();
        if (watched.0..watched.0.saturating_add(MARGIN + SLACK)).contains(&oldest.0) {
            return true;
        }
        *watched = PostId(oldest.0.saturating_sub(MARGIN));
        self.feed.fetch_add(1, Ordering::Release);
        false
    }

    /// Forgets what is not true any more.
    pub(crate) fn hear(&self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Session(token) => self.sessions.forget(token),
                Change::User(user) => {
                    self.users.forget(user);
                    // Which sessions and posts are theirs is not known here, and it is rare.
                    self.sessions.forget_all();
                    self.posts.forget_all();
                }
                Change::Like(user, post) => {
                    self.likes.forget(user);
                    self.posts.forget(post);
                }
                Change::Photo(photo) => self.photos.forget(photo),
                Change::Post(post) => self.posts.forget(post),
            }
        }
        // Held until the version has changed: who moves the mark meanwhile either sees what was committed or is seen here.
        let watched = self.watched.lock();
        let shows = |change: &Change| match change {
            Change::User(_) | Change::Post(_) => true,
            Change::Like(_, post) => *post >= *watched,
            Change::Session(_) | Change::Photo(_) => false,
        };
        if changes.iter().any(shows) {
            self.feed.fetch_add(1, Ordering::Release);
        }
    }

    pub(crate) fn figures(&self) -> Vec<Facts> {
        let Self { sessions, photos, posts, users, likes, feed: _, watched: _, is_shared: _ } = self;
        vec![sessions.figures(), photos.figures(), posts.figures(), users.figures(), likes.figures()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(post: i64) -> [Change; 1] {
        [Change::Like(UserId(1), PostId(post))]
    }

    #[test]
    fn likes_change_the_feed_where_a_page_may_be_kept() {
        let memory = Memory::new();
        let changes = |change: &dyn Fn()| {
            let before = memory.feed_version().unwrap();
            change();
            memory.feed_version().unwrap() != before
        };
        assert!(!changes(&|| memory.hear(&like(10_000))), "nobody watches");
        assert!(changes(&|| assert!(!memory.watch(PostId(10_000)))), "what was read before is old");
        assert!(!changes(&|| assert!(memory.watch(PostId(10_000)))));
        assert!(changes(&|| memory.hear(&like(10_000))));
        assert!(changes(&|| memory.hear(&like(10_001))));
        assert!(!changes(&|| memory.hear(&like(10_000 - MARGIN - 1))), "on no page");

        // A longer page, and one that lies beyond the margin.
        assert!(!changes(&|| assert!(memory.watch(PostId(10_000 - MARGIN)))));
        assert!(changes(&|| memory.hear(&like(10_000 - MARGIN))));
        let far = 10_000 - MARGIN - 1;
        assert!(changes(&|| assert!(!memory.watch(PostId(far)))));
        assert!(memory.watch(PostId(far)) && changes(&|| memory.hear(&like(far))));

        // The mark follows the newest posts, and pages from before it moved are old.
        let new = far + SLACK + MARGIN;
        assert!(changes(&|| assert!(!memory.watch(PostId(new)))));
        assert!(memory.watch(PostId(new)) && !changes(&|| memory.hear(&like(far))));
        for change in [Change::Post(PostId(1)), Change::User(UserId(1))] {
            assert!(changes(&|| memory.hear(&[change])), "any post, any member");
        }
    }

    #[test]
    fn the_newest_likes_say_how_far_back_they_go() {
        let some = Liked::newest(vec![PostId(9), PostId(4)], 3);
        assert!(some.since < PostId(1) && some.contains(PostId(4)) && !some.contains(PostId(5)));
        let all_there_was_room_for = Liked::newest(vec![PostId(9), PostId(4)], 2);
        assert_eq!(all_there_was_room_for.since, PostId(4));
        assert!(all_there_was_room_for.contains(PostId(9)));
        assert!(Liked::newest(Vec::new(), 2).since < PostId(1));

        let patient = (0..1_000).take_while(|_| all_there_was_room_for.will_do(PostId(3))).count();
        assert_eq!(patient, PATIENCE as usize, "then more is read");
        assert!(all_there_was_room_for.will_do(PostId(4)) && some.will_do(PostId(3)));
    }
}
