//! What a write holds until it is committed, as far as a write on another node may want it at the same time.
//!
//! On PostgreSQL many nodes write at once, each a group of writes in one transaction. All of them take the writes of a
//! group in the order of what they hold, so that no two groups ever wait for each other in a circle. SQLite has one
//! writer, and does not ask.

use model::{PhotoId, PostId, TokenHash, UserId};

/// The order of these lines is the order in which they are taken. A write that holds several of them names the first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Holds {
    /// Whether somebody likes a post. What that does to its count is written last of all, see [`Tx::add`](crate::tx::Tx::add).
    Like(PostId, UserId),
    /// Nothing that anybody else would write.
    Nothing,
    /// A name that is being taken.
    Name(String),
    /// An upload, by the key its client gave it.
    Key(UserId, String),
    /// A post: its words, or that it is there at all.
    Post(PostId),
    /// What a member shows of themselves.
    User(UserId),
    Session([u8; 32]),
    /// The bytes of a photo, as far as the two lists of them go.
    Photo([u8; 16]),
    /// More than can be named: what is tidied up.
    Leftovers,
}

impl Holds {
    pub(crate) fn is_like(&self) -> bool {
        matches!(self, Self::Like(..))
    }

    /// The post that must not go, or that nobody may like, until this is committed.
    pub(crate) fn post(&self) -> Option<PostId> {
        match self {
            Self::Like(post, _) | Self::Post(post) => Some(*post),
            _ => None,
        }
    }

    /// Whether both come to the same row in the end.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Like(one, _), Self::Like(other, _)) => one == other,
            _ => self == other,
        }
    }
}

impl From<TokenHash> for Holds {
    fn from(token: TokenHash) -> Self {
        Self::Session(token.0)
    }
}

impl From<PhotoId> for Holds {
    fn from(photo: PhotoId) -> Self {
        Self::Photo(*photo.as_bytes())
    }
}
