//! The object caches, and the invalidations that keep them exact.
//!
//! The store publishes every change: on SQLite before its write is acknowledged, on PostgreSQL, where other
//! nodes write as well, by the read barrier that each request waits for. So no response is older than the
//! last write that was acknowledged before its request.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use model::{CacheStats, PhotoId, PostId, Profile, Size, TokenHash, User, UserId};
use parking_lot::RwLock;
use store::{Change, HiddenUsers, Relations, Session};

use crate::instance_settings::Instance;
use crate::invalidating_cache::InvalidatingCache;

#[derive(Debug)]
pub(crate) struct Caches {
    pub(crate) sessions: InvalidatingCache<TokenHash, Session>,
    /// The width and height of photos that are shown.
    pub(crate) photos: InvalidatingCache<PhotoId, (u32, u32)>,
    /// The authors of posts.
    pub(crate) users: InvalidatingCache<UserId, Arc<User>>,
    pub(crate) likes: InvalidatingCache<UserId, Arc<LikedSet>>,
    pub(crate) hidden_users: InvalidatingCache<(), Arc<HiddenUsers>>,
    pub(crate) relations: InvalidatingCache<UserId, Arc<Relations>>,
    /// Filled only while a like has to be checked against hidden users or blocks.
    pub(crate) post_authors: InvalidatingCache<PostId, UserId>,
    pub(crate) instance: InvalidatingCache<(), Arc<Instance>>,
    /// The instance as it was last read.
    pub(crate) last_instance: RwLock<Option<Arc<Instance>>>,
    /// The logo as PNG, by its side and whether it is maskable.
    pub(crate) icons: InvalidatingCache<(Size, bool), Bytes>,
    subscribers: RwLock<Vec<Subscriber>>,
    /// The number of publications that have begun or ended: odd while one is applied.
    publications: AtomicU64,
}

struct Subscriber(store::ChangeListener);

impl fmt::Debug for Subscriber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Subscriber")
    }
}

const SESSIONS_BYTES: u64 = 24 << 20;
const PHOTOS_BYTES: u64 = 8 << 20;
const USERS_BYTES: u64 = 12 << 20;
const LIKES_BYTES: u64 = 32 << 20;
const RELATIONS_BYTES: u64 = 8 << 20;
const POST_AUTHORS_BYTES: u64 = 8 << 20;
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
    pub(crate) fn new() -> Self {
        Self {
            sessions: InvalidatingCache::new("sessions", SESSIONS_BYTES, |_, session| {
                user_bytes(&session.user)
            }),
            photos: InvalidatingCache::new("photos", PHOTOS_BYTES, |_, _| 0),
            users: InvalidatingCache::new("users", USERS_BYTES, |_, user| user_bytes(user)),
            likes: InvalidatingCache::new("likes", LIKES_BYTES, |_, liked| liked.bytes()),
            hidden_users: InvalidatingCache::with_shards("hidden_users", 1, SINGLE_BYTES, |(), hidden| {
                hidden.0.len() as u64 * ID_BYTES
            }),
            relations: InvalidatingCache::new("relations", RELATIONS_BYTES, |_, relations| {
                let Relations { blocked, blocked_by, hidden_posts } = &**relations;
                (blocked.len() + blocked_by.len() + hidden_posts.len()) as u64 * ID_BYTES
            }),
            post_authors: InvalidatingCache::new("post_authors", POST_AUTHORS_BYTES, |_, _| 0),
            instance: InvalidatingCache::with_shards("instance", 1, SINGLE_BYTES, |(), _| 0),
            last_instance: RwLock::default(),
            icons: InvalidatingCache::with_shards("icons", 1, ICONS_BYTES, |_, icon| icon.len() as u64),
            subscribers: RwLock::default(),
            publications: AtomicU64::new(0),
        }
    }

    pub(crate) fn subscribe(&self, subscriber: impl Fn(&[Change]) + Send + Sync + 'static) {
        let mut subscribers = self.subscribers.write();
        subscribers.push(Subscriber(Box::new(subscriber)));
    }

    /// Invalidates the entries that a commit affects, and notifies the subscribers.
    pub(crate) fn invalidate(&self, changes: &[Change]) {
        self.publications.fetch_add(1, Ordering::AcqRel);
        for change in changes {
            match change {
                Change::Everything => self.invalidate_all(),
                Change::Session(token) => self.sessions.invalidate(token),
                Change::User(user) => {
                    self.users.invalidate(user);
                    // Sessions contain their user and are not indexed by it.
                    self.sessions.invalidate_all();
                }
                Change::Like(user, _) => self.likes.invalidate(user),
                Change::Photo(photo) => self.photos.invalidate(photo),
                Change::Visibility(user) => {
                    self.users.invalidate(user);
                    self.sessions.invalidate_all();
                    self.hidden_users.invalidate_all();
                    // Photos are not indexed by their owner.
                    self.photos.invalidate_all();
                }
                Change::Relations(user) => self.relations.invalidate(user),
                Change::Instance => {
                    self.instance.invalidate_all();
                    self.icons.invalidate_all();
                }
                Change::Post(post) => self.post_authors.invalidate(post),
                Change::Login(_) => {}
            }
        }
        for subscriber in &*self.subscribers.read() {
            (subscriber.0)(changes);
        }
        self.publications.fetch_add(1, Ordering::AcqRel);
    }

    /// See [`crate::App::cache_version`].
    pub(crate) fn version(&self) -> Option<u64> {
        Some(self.publications.load(Ordering::Acquire)).filter(|publications| publications % 2 == 0)
    }

    fn invalidate_all(&self) {
        let Self {
            sessions,
            photos,
            users,
            likes,
            hidden_users,
            relations,
            post_authors,
            instance,
            last_instance: _,
            icons,
            subscribers: _,
            publications: _,
        } = self;
        sessions.invalidate_all();
        photos.invalidate_all();
        users.invalidate_all();
        likes.invalidate_all();
        hidden_users.invalidate_all();
        relations.invalidate_all();
        post_authors.invalidate_all();
        instance.invalidate_all();
        icons.invalidate_all();
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
