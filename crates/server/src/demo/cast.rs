//! Who lives in the demo and what they do there, as `demo/cast.toml` tells it.

use std::time::Duration;

use serde::Deserialize;

use super::error::DemoError;
use super::photos::Embedded;

const CAST: &str = include_str!("../../../../demo/cast.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cast {
    /// Everybody's.
    pub(super) password: String,
    pub(super) people: Vec<Person>,
    /// Oldest first.
    pub(super) posts: Vec<Post>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Person {
    pub(super) username: String,
    pub(super) photo: Embedded,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Post {
    pub(super) author: String,
    hours_ago: f64,
    pub(super) photo: Embedded,
    pub(super) alt: String,
    #[serde(default)]
    pub(super) message: String,
    pub(super) likes: Vec<String>,
}

/// The account that visitors may log in to.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    pub(crate) username: String,
    pub(crate) password: String,
}

impl Cast {
    pub(super) fn embedded() -> Result<Self, DemoError> {
        let mut cast: Self = toml::from_str(CAST).map_err(|error| DemoError::Cast(error.to_string()))?;
        cast.posts.sort_by(|a, b| b.hours_ago.total_cmp(&a.hours_ago));
        Ok(cast)
    }

    /// How long ago the story begins.
    pub(super) fn span(&self) -> Duration {
        self.posts.iter().map(Post::age).max().unwrap_or_default()
    }

    pub(super) fn guest(&self) -> Result<Guest, DemoError> {
        let first = self.people.first().ok_or_else(|| DemoError::Cast("nobody is in it".into()))?;
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
    fn everybody_has_a_face_and_every_photo_is_described_and_shown_once() {
        let cast = Cast::embedded().unwrap();
        let faces = cast.people.iter().map(|person| person.photo.name);
        let shown = cast.posts.iter().map(|post| post.photo.name);
        let used: Vec<_> = faces.chain(shown).collect();
        assert_eq!(used.len(), photos::ALL.len());
        assert_eq!(used.into_iter().collect::<BTreeSet<_>>(), photos::ALL.iter().map(|p| p.name).collect());
        assert!(cast.posts.iter().all(|post| post.alt.ends_with('.')));
    }

    #[test]
    fn only_people_of_the_cast_post_and_like_and_nobody_likes_twice() {
        let cast = Cast::embedded().unwrap();
        let people: BTreeSet<_> = cast.people.iter().map(|person| &person.username).collect();
        for post in &cast.posts {
            assert!(people.contains(&post.author), "{post:?}");
            let likes: BTreeSet<_> = post.likes.iter().collect();
            assert!(likes.is_subset(&people) && likes.len() == post.likes.len(), "{post:?}");
        }
        let counts: BTreeSet<_> = cast.posts.iter().map(|post| post.likes.len()).collect();
        assert_eq!(counts, (0..=people.len()).collect());
    }
}
