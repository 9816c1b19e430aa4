//! Keys: what writes change, and what cached values are made from.

use model::{PhotoId, PostId, TokenHash, UserId};

/// What a write changes, and what cached values are made from, as a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(pub(crate) u64);

/// The place of a key in the table of revisions.
pub type Slot = u32;

/// Each like changes two slots: with 65,536 of them, 20,000 likes a second make every cached value miss
/// within a second or two.
pub(crate) const SLOTS: u32 = 1 << 18;

impl Key {
    /// Which posts there are.
    pub const POSTS: Self = Self::of(b"posts", &[]);
    /// Which users are hidden.
    pub const HIDDEN_USERS: Self = Self::of(b"hidden users", &[]);
    /// The settings of the instance.
    pub const INSTANCE: Self = Self::of(b"instance", &[]);

    /// The post without its likes.
    pub fn post(id: PostId) -> Self {
        Self::of(b"post", &id.0.to_be_bytes())
    }

    /// Which posts the user has, and which of them are shown.
    pub fn posts_of(id: UserId) -> Self {
        Self::of(b"posts of", &id.0.to_be_bytes())
    }

    /// Who likes the post.
    pub fn likes_of(id: PostId) -> Self {
        Self::of(b"likes of", &id.0.to_be_bytes())
    }

    /// Which posts the user likes.
    pub fn likes_by(id: UserId) -> Self {
        Self::of(b"likes by", &id.0.to_be_bytes())
    }

    /// The user with their profile.
    pub fn user(id: UserId) -> Self {
        Self::of(b"user", &id.0.to_be_bytes())
    }

    /// Whether the photos of the user are shown.
    pub fn photos_of(id: UserId) -> Self {
        Self::of(b"photos of", &id.0.to_be_bytes())
    }

    /// Whom the user blocks, who blocks the user, and the posts that the user has hidden.
    pub fn relations(id: UserId) -> Self {
        Self::of(b"relations", &id.0.to_be_bytes())
    }

    pub fn session(token: &TokenHash) -> Self {
        Self::of(b"session", &token.0)
    }

    pub fn photo(id: PhotoId) -> Self {
        Self::of(b"photo", id.as_bytes())
    }

    pub fn slot(self) -> Slot {
        self.0 as Slot % SLOTS
    }

    /// FNV-1a with the finalizer of MurmurHash3, without which neighbours would differ in a few bits only. It
    /// is the same on every node and in every version.
    const fn of(noun: &[u8], id: &[u8]) -> Self {
        let (mut hash, mut at) = (0xcbf2_9ce4_8422_2325_u64, 0);
        while at < noun.len() + id.len() {
            let byte = if at < noun.len() { noun[at] } else { id[at - noun.len()] };
            hash = (hash ^ byte as u64).wrapping_mul(0x0100_0000_01b3);
            at += 1;
        }
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        Self(hash ^ (hash >> 33))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn keys_of_neighbours_and_of_other_nouns_are_spread_over_the_slots() {
        let of_posts = (0..1_000).map(|id| Key::post(PostId(id)).slot());
        let of_users = (0..1_000).map(|id| Key::user(UserId(id)).slot());
        let slots: HashSet<Slot> = of_posts.chain(of_users).collect();
        assert!(slots.len() > 1_900, "{} slots of 2,000 keys", slots.len());
    }
}
