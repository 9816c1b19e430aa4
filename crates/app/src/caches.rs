//! The object caches.
//!
//! The store publishes the keys of what a write has changed: on SQLite before the write is acknowledged, on
//! PostgreSQL, where other nodes write as well, by the read barrier that each request waits for. So no
//! response is older than the last write that was acknowledged before its request.

use std::sync::Arc;

use bytes::Bytes;
use model::{CacheStats, PhotoId, PostId, Profile, Size, TokenHash, User, UserId};
use parking_lot::RwLock;
use store::{HiddenUsers, Relations, Revisions, Session};

use crate::instance_settings::Instance;
use crate::memo::Memo;

#[derive(Debug)]
pub(crate) struct Caches {
    pub(crate) sessions: Memo<TokenHash, Session>,
    /// The width and height of photos that are shown.
    pub(crate) photos: Memo<PhotoId, (u32, u32)>,
    /// The authors of posts.
    pub(crate) users: Memo<UserId, Arc<User>>,
    pub(crate) likes: Memo<UserId, Arc<LikedSet>>,
    pub(crate) hidden_users: Memo<(), Arc<HiddenUsers>>,
    pub(crate) relations: Memo<UserId, Arc<Relations>>,
    /// Filled only while a like has to be checked against hidden users or blocks.
    pub(crate) post_authors: Memo<PostId, UserId>,
    /// How many posts of a user lists show.
    pub(crate) post_counts: Memo<UserId, u64>,
    pub(crate) instance: Memo<(), Arc<Instance>>,
    /// The instance as it was last read.
    pub(crate) last_instance: RwLock<Option<Arc<Instance>>>,
    /// The logo as PNG, by its side and whether it is maskable.
    pub(crate) icons: Memo<(Size, bool), Bytes>,
}

const SESSIONS_BYTES: u64 = 24 << 20;
const PHOTOS_BYTES: u64 = 8 << 20;
const USERS_BYTES: u64 = 12 << 20;
const LIKES_BYTES: u64 = 32 << 20;
const RELATIONS_BYTES: u64 = 8 << 20;
const POST_AUTHORS_BYTES: u64 = 8 << 20;
const POST_COUNTS_BYTES: u64 = 2 << 20;
const ICONS_BYTES: u64 = 4 << 20;

/// A cache of one value.
const SINGLE_BYTES: u64 = 16 << 20;

/// The estimated size of an id in a hash set.
const ID_BYTES: u64 = 16;

/// The estimated size of a user with a profile photo, without texts.
const USER_BYTES: u64 = 256;

fn user_bytes(user: &User) -> u64 {
    let profile = user.profile.as_deref().map_or(0, |Profile { display_name, bio, link }| {
        let name = display_name.as_ref().map_or(0, |text| text.as_str().len());
        let bio = bio.as_ref().map_or(0, |text| text.as_str().len());
        name + bio + link.as_ref().map_or(0, |text| text.as_str().len()) + size_of::<Profile>()
    });
    let alt = user.photo.as_ref().and_then(|photo| photo.alt.as_ref());
    USER_BYTES + (profile + alt.map_or(0, |text| text.as_str().len())) as u64
}

impl Caches {
    pub(crate) fn new(revisions: &Arc<Revisions>) -> Self {
        Self {
            sessions: Memo::new("sessions", revisions, SESSIONS_BYTES, |_, session| {
                user_bytes(&session.user)
            }),
            photos: Memo::new("photos", revisions, PHOTOS_BYTES, |_, _| 0),
            users: Memo::new("users", revisions, USERS_BYTES, |_, user| user_bytes(user)),
            likes: Memo::new("likes", revisions, LIKES_BYTES, |_, liked| liked.bytes()),
            hidden_users: Memo::with_shards("hidden_users", revisions, 1, SINGLE_BYTES, |(), hidden| {
                hidden.0.len() as u64 * ID_BYTES
            }),
            relations: Memo::new("relations", revisions, RELATIONS_BYTES, |_, relations| {
                let Relations { blocked, blocked_by, hidden_posts } = &**relations;
                (blocked.len() + blocked_by.len() + hidden_posts.len()) as u64 * ID_BYTES
            }),
            post_authors: Memo::new("post_authors", revisions, POST_AUTHORS_BYTES, |_, _| 0),
            post_counts: Memo::new("post_counts", revisions, POST_COUNTS_BYTES, |_, _| 0),
            instance: Memo::with_shards("instance", revisions, 1, SINGLE_BYTES, |(), _| 0),
            last_instance: RwLock::default(),
            icons: Memo::with_shards("icons", revisions, 1, ICONS_BYTES, |_, icon| icon.len() as u64),
        }
    }

    pub(crate) fn stats(&self) -> Vec<CacheStats> {
        let Self { sessions, photos, users, likes, relations, .. } = self;
        vec![sessions.stats(), photos.stats(), users.stats(), likes.stats(), relations.stats()]
    }
}

/// The posts that a user has liked, among `since` and all newer ones.
#[derive(Debug)]
pub struct LikedSet {
    since: PostId,
    /// Oldest first.
    posts: Vec<PostId>,
}

impl LikedSet {
    /// From the newest liked posts, newest first, at most `limit`.
    pub(crate) fn newest(mut posts: Vec<PostId>, limit: u32) -> Self {
        let is_full = posts.len() >= limit as usize;
        let since = posts.last().copied().filter(|_| is_full).unwrap_or(PostId(i64::MIN));
        posts.reverse();
        Self { since, posts }
    }

    /// From all liked posts since `since`, oldest first.
    pub(crate) fn since(since: PostId, posts: Vec<PostId>) -> Self {
        Self { since, posts }
    }

    /// Whether the set is complete for this post and all newer ones.
    pub(crate) fn covers(&self, post: PostId) -> bool {
        self.since <= post
    }

    pub fn contains(&self, post: PostId) -> bool {
        self.posts.binary_search(&post).is_ok()
    }

    fn bytes(&self) -> u64 {
        size_of_val(&*self.posts) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_covers_posts_back_to_its_oldest_like_or_all_if_it_is_complete() {
        let all = LikedSet::newest(vec![PostId(9), PostId(4)], 3);
        assert!(all.covers(PostId(1)) && all.contains(PostId(4)) && !all.contains(PostId(5)));
        let limited = LikedSet::newest(vec![PostId(9), PostId(4)], 2);
        assert!(limited.covers(PostId(4)) && !limited.covers(PostId(3)) && limited.contains(PostId(9)));
        assert!(LikedSet::newest(Vec::new(), 2).covers(PostId(1)));
    }
}
