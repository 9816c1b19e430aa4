//! What the service is about: its nouns, and the rules a value must pass to be one.
//!
//! Everything here is plain data. Nothing reads a file, a socket or a clock it was not handed.

mod anchor;
mod cache;
mod clock;
mod error_chain;
mod feed;
mod ids;
mod photo;
mod post;
mod session;
mod size;
mod text;
mod timestamp;
mod user;

pub use anchor::Anchor;
pub use cache::{CacheCounters, CacheStats};
pub use clock::Clock;
pub use error_chain::error_chain;
pub use feed::{FeedPage, FeedStart, Limit, Whose};
pub use ids::PhotoId;
pub use photo::{Photo, Placeholder, master_for, master_sides};
pub use post::{Post, PostContent, PostEdit, PostId};
pub use session::{Token, TokenHash};
pub use size::Size;
pub use text::*;
pub use timestamp::Timestamp;
pub use user::{User, UserId, Username};

/// A value that breaks its rule, in words meant for the person who sent it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(pub String);
