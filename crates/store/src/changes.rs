//! What a commit changed: told before anybody in it is answered. Whoever keeps copies of facts forgets them here, so
//! that no answer is older than the last acknowledged write. Of what other nodes commit to a shared database nothing is
//! told.

use model::{PhotoId, PostId, TokenHash, UserId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Ended, or used.
    Session(TokenHash),
    /// Shows another photo, or none.
    User(UserId),
    /// Made, edited or deleted.
    Post(PostId),
    /// Somebody likes a post, or likes it no more.
    Like(UserId, PostId),
    /// Deleted.
    Photo(PhotoId),
}

/// Who is told. Called by whoever writes: it must be quick.
pub type Listener = Box<dyn Fn(&[Change]) + Send + Sync>;
