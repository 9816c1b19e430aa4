//! The routes of the fast path, as the rows of the route table parse them from a path.

use model::{ImageSize, PhotoId, PostId};

use crate::http::handlers::likes::LikeAction;

/// Parses the parameters of a path, in their order; `None` leaves the request to the router.
pub(crate) type ParseFastRoute = fn([&str; 2]) -> Option<FastRoute>;

/// A matched route of the fast path, with its parsed parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FastRoute {
    Feed,
    Post(PostId),
    Image(PhotoId, ImageSize),
    Like(PostId, LikeAction),
}

impl FastRoute {
    pub(crate) fn feed(_: [&str; 2]) -> Option<Self> {
        Some(Self::Feed)
    }

    pub(crate) fn post([id, _]: [&str; 2]) -> Option<Self> {
        Some(Self::Post(id.parse().ok()?))
    }

    pub(crate) fn image([id, size]: [&str; 2]) -> Option<Self> {
        Some(Self::Image(id.parse().ok()?, ImageSize::Square(size.parse().ok()?)))
    }

    pub(crate) fn fit([id, longest]: [&str; 2]) -> Option<Self> {
        Some(Self::Image(id.parse().ok()?, ImageSize::Fit(longest.parse().ok()?)))
    }

    pub(crate) fn like([id, _]: [&str; 2]) -> Option<Self> {
        Some(Self::Like(id.parse().ok()?, LikeAction::Like))
    }

    pub(crate) fn unlike([id, _]: [&str; 2]) -> Option<Self> {
        Some(Self::Like(id.parse().ok()?, LikeAction::Unlike))
    }
}
