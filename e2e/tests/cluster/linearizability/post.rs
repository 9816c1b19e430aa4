//! The sequential specification: one post, and the response of each action in each of its states.

/// What the service stores of one post. Users are numbers below eight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Post {
    /// Not created yet.
    Absent,
    /// `likers` has a bit for each user.
    Present {
        message: u32,
        likers: u8,
    },
    Deleted,
}

/// A request about one post. A list and an image show whether the post exists, like the post itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// With an idempotency key, so that it may be sent again. Messages are numbers, each sent once.
    Create(u32),
    Edit(u32),
    Delete,
    Like,
    Unlike,
    Read,
    ReadFeed,
    ReadPostsOfAuthor,
    ReadImage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// 200 or 201 without the post in the response.
    Succeeded,
    /// The post as the response shows it.
    Post(PostView),
    /// 404, or a list without the post.
    NotFound,
    /// 409.
    Conflict,
    /// No response, or a 503: executed at any time after the call, or never.
    Unknown,
}

/// A post as one user sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PostView {
    pub(super) message: u32,
    pub(super) is_liked: bool,
    pub(super) like_count: u32,
}

impl Action {
    pub(super) fn is_read(self) -> bool {
        matches!(self, Self::Read | Self::ReadFeed | Self::ReadPostsOfAuthor | Self::ReadImage)
    }
}

impl Post {
    /// The state after an action of this user, and the outcome that its response shows.
    pub(super) fn execute(self, user: usize, action: Action) -> (Self, Outcome) {
        let user_bit = 1 << user;
        let present = |message, likers: u8| {
            let (is_liked, like_count) = (likers & user_bit != 0, likers.count_ones());
            let view = PostView { message, is_liked, like_count };
            (Self::Present { message, likers }, Outcome::Post(view))
        };
        let (message, likers) = match (self, action) {
            (Self::Absent, Action::Create(message)) => return present(message, 0),
            (Self::Deleted, Action::Create(_)) => return (self, Outcome::Conflict),
            (Self::Absent | Self::Deleted, _) => return (self, Outcome::NotFound),
            (Self::Present { message, likers }, _) => (message, likers),
        };
        match action {
            Action::Create(_) | Action::Read | Action::ReadFeed | Action::ReadPostsOfAuthor => {
                present(message, likers)
            }
            Action::ReadImage => (self, Outcome::Succeeded),
            Action::Edit(message) => present(message, likers),
            Action::Delete => (Self::Deleted, Outcome::Succeeded),
            Action::Like if likers & user_bit != 0 => (self, Outcome::Conflict),
            Action::Unlike if likers & user_bit == 0 => (self, Outcome::Conflict),
            Action::Like | Action::Unlike => {
                (Self::Present { message, likers: likers ^ user_bit }, Outcome::Succeeded)
            }
        }
    }
}

impl std::fmt::Display for Post {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Absent => write!(f, "not created"),
            Self::Deleted => write!(f, "deleted"),
            Self::Present { message, likers } => {
                let likers: Vec<usize> = (0..8).filter(|user| likers & (1 << user) != 0).collect();
                write!(f, "message {message}, liked by users {likers:?}")
            }
        }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Succeeded => write!(f, "succeeded"),
            Self::NotFound => write!(f, "not found"),
            Self::Conflict => write!(f, "conflict"),
            Self::Unknown => write!(f, "unknown"),
            Self::Post(PostView { message, is_liked, like_count }) => {
                write!(f, "message {message}, is_liked {is_liked}, like_count {like_count}")
            }
        }
    }
}
