//! What a write locks until it is committed, as far as writes of other nodes may want it at the same time.
//!
//! On PostgreSQL many nodes write at once, each a batch of writes in one transaction. Every batch takes its
//! locks in the order of these keys, so that no two batches deadlock. SQLite has one writer and ignores them.

use model::{PhotoId, PostId, TokenHash, UserId};

/// The order of the variants is the locking order. A write that locks several things names the first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum LockKey {
    /// Whether a user likes a post. The post's count is written last of all, see `Tx::add`.
    Like(PostId, UserId),
    /// Nothing that another write would want.
    Unshared,
    /// A username that is being taken.
    Username(String),
    /// An upload, by its idempotency key.
    IdempotencyKey(UserId, String),
    /// A post: its text, or its existence.
    Post(PostId),
    /// A user's profile.
    User(UserId),
    Session([u8; 32]),
    /// A photo's rows in `uploads` and `removals`.
    Photo([u8; 16]),
    /// More rows than can be named: what maintenance sweeps.
    Maintenance,
}

impl LockKey {
    pub(crate) fn is_like(&self) -> bool {
        matches!(self, Self::Like(..))
    }

    /// The post whose advisory lock the write takes first.
    pub(crate) fn post(&self) -> Option<PostId> {
        match self {
            Self::Like(post, _) | Self::Post(post) => Some(*post),
            _ => None,
        }
    }

    /// Whether both writes update the same row in the end.
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
