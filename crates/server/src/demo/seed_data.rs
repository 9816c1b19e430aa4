//! The seed data of the demo: users, posts and likes, from `demo/cast.toml`.

use std::time::Duration;

use serde::Deserialize;

use super::error::DemoError;
use super::photos::EmbeddedPhoto;

const SEED_DATA: &str = include_str!("../../../../demo/cast.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SeedData {
    /// The password of every account.
    pub(super) password: String,
    pub(super) people: Vec<Person>,
    /// Oldest first.
    pub(super) posts: Vec<Post>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Person {
    pub(super) username: String,
    pub(super) photo: EmbeddedPhoto,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Post {
    pub(super) author: String,
    hours_ago: f64,
    pub(super) photo: EmbeddedPhoto,
    pub(super) alt: String,
    #[serde(default)]
    pub(super) message: String,
    pub(super) likes: Vec<String>,
}

/// The account for visitors of the demo: the first of `people`.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    pub(crate) username: String,
    pub(crate) password: String,
}

impl SeedData {
    pub(super) fn embedded() -> Result<Self, DemoError> {
        let mut data: Self =
            toml::from_str(SEED_DATA).map_err(|error| DemoError::SeedData(error.to_string()))?;
        data.posts.sort_by(|a, b| b.hours_ago.total_cmp(&a.hours_ago));
        Ok(data)
    }

    /// The age of the oldest post.
    pub(super) fn oldest_age(&self) -> Duration {
        self.posts.iter().map(Post::age).max().unwrap_or_default()
    }

    pub(super) fn guest(&self) -> Result<Guest, DemoError> {
        let first = self.people.first().ok_or_else(|| DemoError::SeedData("`people` is empty".into()))?;
        Ok(Guest { username: first.username.clone(), password: self.password.clone() })
    }
}

impl Post {
    pub(super) fn age(&self) -> Duration {
        Duration::from_secs((self.hours_ago * 3600.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::photos;
    use super::*;

    #[test]
    fn every_embedded_photo_is_used_once_and_every_post_has_alt_text() {
        let data = SeedData::embedded().unwrap();
        let profile_photos = data.people.iter().map(|person| person.photo.name);
        let post_photos = data.posts.iter().map(|post| post.photo.name);
        let used: Vec<_> = profile_photos.chain(post_photos).collect();
        assert_eq!(used.len(), photos::ALL.len());
        assert_eq!(used.into_iter().collect::<BTreeSet<_>>(), photos::ALL.iter().map(|p| p.name).collect());
        assert!(data.posts.iter().all(|post| post.alt.ends_with('.')));
    }

    #[test]
    fn posts_and_likes_are_of_known_people_and_no_like_is_repeated() {
        let data = SeedData::embedded().unwrap();
        let people: BTreeSet<_> = data.people.iter().map(|person| &person.username).collect();
        for post in &data.posts {
            assert!(people.contains(&post.author), "{post:?}");
            let likes: BTreeSet<_> = post.likes.iter().collect();
            assert!(likes.is_subset(&people) && likes.len() == post.likes.len(), "{post:?}");
        }
        let counts: BTreeSet<_> = data.posts.iter().map(|post| post.likes.len()).collect();
        assert_eq!(counts, (0..=people.len()).collect());
    }
}
