//! What a commit changed. The listener hears of it before any write of the commit is acknowledged, so that
//! caches are invalidated first. Commits of other nodes to a shared database are not reported.

use model::{PhotoId, PostId, TokenHash, UserId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Ended, or used.
    Session(TokenHash),
    /// Has another profile photo, or none.
    User(UserId),
    /// Created, edited or deleted.
    Post(PostId),
    /// A user likes a post, or no longer does.
    Like(UserId, PostId),
    /// Deleted.
    Photo(PhotoId),
}

/// Called on the writer's own thread or task: it must be quick.
pub type Listener = Box<dyn Fn(&[Change]) + Send + Sync>;
