//! Posts and people as the pages show them.

use model::{Post, User};

use super::locale::{Words, fill};
use super::placeholder;

/// The widths a browser may choose from. One URL each for everybody, so that few images are made and many are
/// shared.
const WIDTHS: [u32; 7] = [160, 320, 480, 640, 960, 1280, 2048];

/// Characters of a message that make a title, and a description.
const TITLE: usize = 70;
const DESCRIPTION: usize = 200;

/// A person in small.
#[derive(Debug, Clone)]
pub(super) struct Avatar {
    pub(super) name: String,
    pub(super) url: String,
    pub(super) photo: Option<String>,
    pub(super) initial: String,
}

impl Avatar {
    pub(super) fn of(user: &User) -> Self {
        let name = user.username.to_string();
        Self {
            url: format!("/@{name}"),
            photo: user.photo.as_ref().map(|photo| photo.id.to_string()),
            initial: name.chars().take(1).collect(),
            name,
        }
    }
}

/// A post.
#[derive(Debug, Clone)]
pub(super) struct Card {
    pub(super) id: String,
    pub(super) url: String,
    pub(super) by: Avatar,
    pub(super) photo: String,
    pub(super) placeholder: String,
    pub(super) alt: String,
    pub(super) message: String,
    pub(super) time: String,
    pub(super) date: String,
    pub(super) liked: bool,
    pub(super) likes: i64,
    /// In sight when the page opens, so it must not wait.
    pub(super) first: bool,
}

impl Card {
    pub(super) fn new(post: &Post, words: &Words, first: bool) -> Self {
        let by = Avatar::of(&post.user);
        let time = post.created_at.to_string();
        let alt = post.photo.alt.as_ref().map(ToString::to_string);
        Self {
            id: post.id.to_string(),
            url: format!("/p/{}", post.id),
            photo: post.photo.id.to_string(),
            placeholder: placeholder::data_url(&post.photo.placeholder),
            alt: alt.unwrap_or_else(|| fill(&words.page.photo_by, "name", &by.name)),
            message: post.message.as_ref().map(ToString::to_string).unwrap_or_default(),
            date: time.chars().take("2026-11-14".len()).collect(),
            time,
            liked: post.is_liked,
            likes: post.like_count,
            by,
            first,
        }
    }

    pub(super) fn list(posts: &[Post], words: &Words) -> Vec<Self> {
        posts.iter().enumerate().map(|(place, post)| Self::new(post, words, place == 0)).collect()
    }

    /// What scripts fill in for posts that come later.
    pub(super) fn blank() -> Self {
        let by = Avatar { name: String::new(), url: String::new(), photo: None, initial: String::new() };
        let empty = String::new;
        Self {
            id: empty(),
            url: empty(),
            by,
            photo: empty(),
            placeholder: empty(),
            alt: empty(),
            message: empty(),
            time: empty(),
            date: empty(),
            liked: false,
            likes: 0,
            first: false,
        }
    }

    pub(super) fn src(&self, side: u32) -> String {
        format!("/photos/{}/{side}x{side}", self.photo)
    }

    pub(super) fn srcset(&self) -> String {
        WIDTHS.map(|side| format!("{} {side}w", self.src(side))).join(", ")
    }

    /// The title and the description of a page about this post.
    pub(super) fn introduction(&self, words: &Words) -> (String, String) {
        let by = fill(&words.page.photo_by, "name", &self.by.name);
        match self.message.trim() {
            "" => (by.clone(), if self.alt == by { by } else { format!("{by}: {}", self.alt) }),
            message => {
                let title = shorten(message.lines().next().unwrap_or_default(), TITLE);
                (format!("{title} · {}", self.by.name), shorten(message, DESCRIPTION))
            }
        }
    }
}

/// Cuts at a word where there is one.
fn shorten(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let cut: String = text.chars().take(max).collect();
    let end = cut.rfind(char::is_whitespace).filter(|end| *end > max / 2).unwrap_or(cut.len());
    format!("{}…", cut[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_end_at_a_word() {
        assert_eq!(shorten("short", 10), "short");
        assert_eq!(shorten("one two three four", 10), "one two…");
        assert_eq!(shorten(&"ä".repeat(20), 10), format!("{}…", "ä".repeat(10)));
    }
}
