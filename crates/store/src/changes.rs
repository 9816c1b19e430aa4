//! The changes of a commit, for cache invalidation. The listener is called before any write of the commit is
//! acknowledged. Commits of other nodes to a shared database are not reported.

use model::{PhotoId, PostId, TokenHash, UserId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The session was ended, or its `last_used_at` changed.
    Session(TokenHash),
    /// The user's profile photo was set or removed.
    User(UserId),
    /// The post was created, edited, recounted or deleted.
    Post(PostId),
    /// The user liked or unliked the post.
    Like(UserId, PostId),
    /// The photo was deleted.
    Photo(PhotoId),
}

/// Called on the writer's thread or task, which waits for it: it must not block.
pub type ChangeListener = Box<dyn Fn(&[Change]) + Send + Sync>;
