//! The lock that a write takes and that concurrent writes of other nodes may need too.
//!
//! On PostgreSQL several nodes write concurrently, each a batch of writes in one transaction. Every batch
//! takes its locks in the order of these keys, so that no two batches deadlock. SQLite has one writer and
//! ignores them.

use model::{PhotoId, PostId, TokenHash, UserId};

/// The order of the variants is the locking order. A write that takes several locks has the key of the first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum LockKey {
    /// A row of `likes`, and the `like_count` of its post.
    Like(PostId, UserId),
    /// No lock that another write would need.
    Unshared,
    /// A username, which a new user takes.
    Username(String),
    /// A post that is edited or deleted.
    Post(PostId),
    /// A user whose profile changes, or whose posts, blocks, reports or invitations are counted.
    User(UserId),
    Session([u8; 32]),
    /// A photo's rows in `uploads` and `removals`, and a resumable upload.
    Photo([u8; 16]),
    /// An unknown set of rows, as maintenance sweeps them.
    Maintenance,
}

impl LockKey {
    /// The post whose advisory lock the write takes first.
    pub(crate) fn post(&self) -> Option<PostId> {
        match self {
            Self::Like(post, _) | Self::Post(post) => Some(*post),
            _ => None,
        }
    }

    /// The user whose advisory lock the write takes first, so that it counts what concurrent writes have
    /// added.
    pub(crate) fn user(&self) -> Option<UserId> {
        match self {
            Self::User(user) => Some(*user),
            _ => None,
        }
    }

    /// Whether both writes update the same row. Two likes of one post update its `like_count`.
    pub(crate) fn conflicts_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Like(one, _), Self::Like(other, _)) => one == other,
            _ => self == other,
        }
    }
}

impl From<TokenHash> for LockKey {
    fn from(token: TokenHash) -> Self {
        Self::Session(token.0)
    }
}

impl From<PhotoId> for LockKey {
    fn from(photo: PhotoId) -> Self {
        Self::Photo(*photo.as_bytes())
    }
}
