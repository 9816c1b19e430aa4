//! View models of posts and users for the page templates.

use askama::Template;
use model::{Post, User, fit_dimensions};

use super::locale::{Locale, interpolate};
use super::message::{self, Segment};
use super::placeholder;

/// The widths in `srcset`. A short list limits how many variants are rendered and lets caches share them.
const SRCSET_WIDTHS: [u32; 8] = [160, 320, 480, 640, 800, 1080, 1280, 2048];

/// The longest sides in the `srcset` of the whole photo.
const FIT_SIDES: [u32; 5] = [480, 800, 1280, 2048, 3072];

/// The longest title and description that are taken from a message, in characters.
const TITLE_CHARS: usize = 70;
const DESCRIPTION_CHARS: usize = 200;

/// A message that fits into the six lines of a card on a narrow screen.
const LONG_CHARS: usize = 200;
const LONG_LINES: usize = 6;

/// A user's name and avatar: the profile photo, or the initial of the name.
#[derive(Debug, Clone, Template)]
#[template(source = "{% let avatar = self %}{% include \"partials/avatar.html\" %}", ext = "html")]
pub(super) struct Avatar {
    pub(super) name: String,
    pub(super) url: String,
    pub(super) photo: Option<String>,
    pub(super) initial: String,
    /// Which of the hues has the letter's background; `avatar.js` computes the same.
    pub(super) hue: u32,
}

/// The hues of letter avatars in the style sheet.
const HUES: u32 = 8;

impl Avatar {
    pub(super) fn of(user: &User) -> Self {
        let name = user.username.to_string();
        Self {
            url: format!("/@{name}"),
            photo: user.photo.as_ref().map(|photo| photo.id.to_string()),
            initial: name.chars().take(1).collect(),
            hue: name.chars().map(u32::from).sum::<u32>() % HUES,
            name,
        }
    }
}

/// A post as a card of the feed, a tile of a profile, or a page of its own.
#[derive(Debug, Clone)]
pub(super) struct Card {
    pub(super) id: String,
    pub(super) url: String,
    pub(super) author: Avatar,
    pub(super) photo: String,
    pub(super) width: u32,
    pub(super) height: u32,
    /// Whether everyone may download the original.
    pub(super) share_original: bool,
    /// The thumbhash rendered as a data URL.
    pub(super) placeholder: String,
    pub(super) alt: String,
    pub(super) message: String,
    pub(super) time: String,
    pub(super) date: String,
    /// Whether the reader likes the post, or the marker of a page that several readers share.
    pub(super) liked: String,
    pub(super) likes: i64,
    /// Loads the image eagerly: it is above the fold. All others load lazily.
    pub(super) eager: bool,
}

impl Card {
    pub(super) fn new(post: &Post, locale: &Locale, eager: bool) -> Self {
        let author = Avatar::of(&post.user);
        let time = post.created_at.to_string();
        let alt = post.photo.alt.as_ref().map(ToString::to_string);
        Self {
            id: post.id.to_string(),
            url: format!("/p/{}", post.id),
            photo: post.photo.id.to_string(),
            width: post.photo.width,
            height: post.photo.height,
            share_original: post.share_original,
            placeholder: placeholder::data_url(&post.photo.placeholder),
            alt: alt.unwrap_or_else(|| interpolate(&locale.page.photo_by, "name", &author.name)),
            message: post.message.as_ref().map(ToString::to_string).unwrap_or_default(),
            date: time.chars().take("2026-11-14".len()).collect(),
            time,
            liked: post.is_liked.to_string(),
            likes: post.like_count,
            author,
            eager,
        }
    }

    /// The cards of a page, or of a part that is added to one.
    pub(super) fn list(posts: &[Post], locale: &Locale, is_part: bool) -> Vec<Self> {
        let card = |(index, post)| Self::new(post, locale, index == 0 && !is_part);
        posts.iter().enumerate().map(card).collect()
    }

    pub(super) fn src(&self, side: u32) -> String {
        format!("/photos/{}/{side}x{side}", self.photo)
    }

    pub(super) fn srcset(&self) -> String {
        SRCSET_WIDTHS.map(|side| format!("{} {side}w", self.src(side))).join(", ")
    }

    /// The whole photo.
    pub(super) fn fit(&self, longest: u32) -> String {
        format!("/photos/{}/fit/{longest}", self.photo)
    }

    pub(super) fn fit_size(&self, longest: u32) -> (u32, u32) {
        fit_dimensions(self.width, self.height, longest)
    }

    pub(super) fn fit_srcset(&self) -> String {
        let long_side = self.width.max(self.height);
        // The first one that is at least as large as the photo is the last that differs.
        let last = FIT_SIDES.iter().position(|side| *side >= long_side).unwrap_or(FIT_SIDES.len() - 1);
        let sides = FIT_SIDES[..=last].iter();
        sides
            .map(|side| format!("{} {}w", self.fit(*side), self.fit_size(*side).0))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// The message with its links.
    pub(super) fn segments(&self) -> Vec<Segment> {
        message::segments(&self.message)
    }

    /// Whether a list may cut the message. Scripts find out whether it does.
    pub(super) fn is_long(&self) -> bool {
        self.message.chars().count() > LONG_CHARS || self.message.lines().count() > LONG_LINES
    }

    /// The title and the description of the post's own page, also for link previews.
    pub(super) fn title_and_description(&self, locale: &Locale) -> (String, String) {
        let photo_by = interpolate(&locale.page.photo_by, "name", &self.author.name);
        match self.message.trim() {
            "" => (
                photo_by.clone(),
                if self.alt == photo_by { photo_by } else { format!("{photo_by}: {}", self.alt) },
            ),
            message => {
                // They would turn what stands beside the title, where no element isolates it.
                let message =
                    message.replace(['\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}'], "");
                let message = message.trim();
                let title = truncate(message.lines().next().unwrap_or_default(), TITLE_CHARS);
                (format!("{title} · {}", self.author.name), truncate(message, DESCRIPTION_CHARS))
            }
        }
    }
}

/// Cuts to at most `max` characters, at a word boundary if there is one in the second half.
fn truncate(text: &str, max: usize) -> String {
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
    fn long_texts_are_truncated_at_a_word_boundary() {
        assert_eq!(truncate("short", 10), "short");
        assert_eq!(truncate("one two three four", 10), "one two…");
        assert_eq!(truncate(&"ä".repeat(20), 10), format!("{}…", "ä".repeat(10)));
    }
}
