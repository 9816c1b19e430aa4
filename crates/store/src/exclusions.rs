//! What a list leaves out: users who are hidden from all, and what its viewer has blocked or hidden.

use std::collections::HashSet;
use std::sync::Arc;

use model::{PostId, UserId};

/// The users who are hidden from all: suspended with their posts, not approved, or being deleted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HiddenUsers(pub HashSet<UserId>);

/// What a user has blocked and hidden, and by whom the user is blocked.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Relations {
    pub blocked: HashSet<UserId>,
    pub blocked_by: HashSet<UserId>,
    pub hidden_posts: HashSet<PostId>,
}

/// What a list leaves out for one viewer.
#[derive(Debug, Clone, Default)]
pub struct Exclusions {
    pub hidden_users: Arc<HiddenUsers>,
    pub relations: Arc<Relations>,
}

impl Exclusions {
    pub fn is_empty(&self) -> bool {
        self.hidden_users.0.is_empty()
            && self.relations.blocked.is_empty()
            && self.relations.hidden_posts.is_empty()
    }

    pub fn excludes_user(&self, user: UserId) -> bool {
        self.hidden_users.0.contains(&user) || self.relations.blocked.contains(&user)
    }

    pub fn excludes_post(&self, post: PostId, author: UserId) -> bool {
        self.excludes_user(author) || self.relations.hidden_posts.contains(&post)
    }
}
