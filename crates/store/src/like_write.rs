//! A like to write, and what becomes of it.

use model::{PostId, Timestamp, UserId};

/// A like to set or to remove.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LikeWrite {
    pub(crate) user: UserId,
    pub(crate) post: PostId,
    /// `None` removes the like.
    pub(crate) liked_at: Option<Timestamp>,
}

/// The result of liking or unliking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LikeOutcome {
    Changed,
    /// The post was liked, or not liked, already.
    Unchanged,
    NoSuchPost,
}
