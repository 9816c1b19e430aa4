//! The requests that the fast path handles, as the rows of the route table parse them.

use model::{PhotoId, PostId, Size};

use crate::http::handlers::likes::Change;

/// Parses the parameters of a path, in their order.
pub(crate) type ParseFast = fn([&str; 2]) -> Option<FastRoute>;

/// A request on the fast path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FastRoute {
    Feed,
    Post(PostId),
    Image(PhotoId, Size),
    Like(PostId, Change),
}

impl FastRoute {
    pub(crate) fn feed(_: [&str; 2]) -> Option<Self> {
        Some(Self::Feed)
    }

    pub(crate) fn post([id, _]: [&str; 2]) -> Option<Self> {
        Some(Self::Post(id.parse().ok()?))
    }

    pub(crate) fn image([id, size]: [&str; 2]) -> Option<Self> {
        Some(Self::Image(id.parse().ok()?, size.parse().ok()?))
    }

    pub(crate) fn like([id, _]: [&str; 2]) -> Option<Self> {
        Some(Self::Like(id.parse().ok()?, Change::Like))
    }

    pub(crate) fn unlike([id, _]: [&str; 2]) -> Option<Self> {
        Some(Self::Like(id.parse().ok()?, Change::Unlike))
    }
}
