//! Pages that are rendered once for many readers: for guests as they are sent, and for members with slots for
//! what is each reader's own.

use std::fmt;

use bytes::Bytes;
use model::{Cursor, Limit, PostId};

use super::cards::Avatar;
use super::preferences::View;
use super::response::{Coding, render};
use crate::http::error::ApiError;

/// What the bytes of a shared page depend on beside what it is made from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct PageKey {
    pub(super) path: String,
    pub(super) base_url: String,
    pub(super) after: Option<Cursor>,
    pub(super) part: Option<Part>,
    pub(super) locale: &'static str,
    pub(super) theme: Option<&'static str>,
    pub(super) view: View,
    pub(super) is_introduced: bool,
    pub(super) audience: Audience,
}

impl PageKey {
    /// The bytes that a client has sent.
    pub(crate) fn len(&self) -> u64 {
        (self.path.len() + self.base_url.len()) as u64
    }
}

/// A part of a page, as the page has it, for scripts: the parameter `part`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// This many posts of a list, or a post as a list has it.
    Posts(Limit),
    /// The post as its own page has it.
    Post,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Audience {
    /// They get the same bytes, which are kept as they are sent.
    Guests(Coding),
    Members {
        are_moderators: bool,
    },
}

/// A rendered page.
#[derive(Debug)]
pub(crate) struct SharedPage {
    coding: Coding,
    body: Bytes,
    /// Where in the body what is the reader's own belongs, in its order.
    slots: Vec<(usize, Slot)>,
}

/// What is the reader's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    Name,
    /// The path of the reader's profile.
    Url,
    Avatar,
    /// Whether the reader likes the post: the value of `aria-pressed`.
    Like(PostId),
}

/// Stands in rendered HTML where a slot is. It is random, so that no text of a user contains it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marker(u128);

impl Marker {
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self(u128::from_ne_bytes(bytes)))
    }

    /// The text for a slot in a template.
    pub(super) fn at(self, slot: Slot) -> String {
        match slot {
            Slot::Name => format!("{self}name;"),
            Slot::Url => format!("{self}url;"),
            Slot::Avatar => format!("{self}avatar;"),
            Slot::Like(post) => format!("{self}{post};"),
        }
    }
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl Slot {
    fn named(name: &str) -> Option<Self> {
        match name {
            "name" => Some(Self::Name),
            "url" => Some(Self::Url),
            "avatar" => Some(Self::Avatar),
            post => post.parse().ok().map(Self::Like),
        }
    }
}

impl SharedPage {
    /// A page without slots, as it is sent.
    pub(super) fn of_guests((coding, body): (Coding, Bytes)) -> Self {
        Self { coding, body, slots: Vec::new() }
    }

    /// A page whose slots are marked.
    pub(super) fn of_members(html: &str, marker: Marker) -> Self {
        let marker = marker.to_string();
        let mut pieces = html.split(&marker);
        let (mut body, mut slots) = (String::with_capacity(html.len()), Vec::new());
        body.push_str(pieces.next().unwrap_or_default());
        for piece in pieces {
            let (name, rest) = piece.split_once(';').unwrap_or((piece, ""));
            slots.extend(Slot::named(name).map(|slot| (body.len(), slot)));
            body.push_str(rest);
        }
        Self { coding: Coding::Identity, body: body.into(), slots }
    }

    pub(crate) fn len(&self) -> u64 {
        (self.body.len() + size_of_val(&*self.slots)) as u64
    }

    pub(super) fn encoded(&self) -> (Coding, Bytes) {
        (self.coding, self.body.clone())
    }

    /// The oldest post whose like is the reader's own.
    pub(super) fn oldest(&self) -> Option<PostId> {
        let posts = self.slots.iter().filter_map(|(_, slot)| match slot {
            Slot::Like(post) => Some(*post),
            _ => None,
        });
        posts.min()
    }

    /// The page of a reader. The characters of a username need no escape.
    pub(super) fn of_reader(
        &self,
        reader: &Avatar,
        likes: impl Fn(PostId) -> bool,
    ) -> Result<Vec<u8>, ApiError> {
        let avatar = render(reader)?;
        let mut page = Vec::with_capacity(self.body.len() + 512);
        let mut copied = 0;
        for (offset, slot) in &self.slots {
            page.extend_from_slice(&self.body[copied..*offset]);
            copied = *offset;
            page.extend_from_slice(match slot {
                Slot::Name => reader.name.as_bytes(),
                Slot::Url => reader.url.as_bytes(),
                Slot::Avatar => avatar.as_bytes(),
                Slot::Like(post) if likes(*post) => b"true",
                Slot::Like(_) => b"false",
            });
        }
        page.extend_from_slice(&self.body[copied..]);
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_filled_with_what_is_the_readers() {
        let marker = Marker::random().unwrap();
        let [name, url, avatar] = [Slot::Name, Slot::Url, Slot::Avatar].map(|slot| marker.at(slot));
        let likes = [7, 3].map(|post| marker.at(Slot::Like(PostId(post))));
        let html = format!("<{name}><{url}>{avatar}<{}><{}> name; 7;", likes[0], likes[1]);
        let page = SharedPage::of_members(&html, marker);
        assert_eq!((page.oldest(), page.slots.len()), (Some(PostId(3)), 5));
        let reader =
            Avatar { name: "ada".into(), url: "/@ada".into(), photo: None, initial: "a".into(), hue: 2 };
        let text = String::from_utf8(page.of_reader(&reader, |post| post == PostId(3)).unwrap()).unwrap();
        assert_eq!(text, format!("<ada></@ada>{}<false><true> name; 7;", render(&reader).unwrap()));
        assert!(render(&reader).unwrap().contains("data-hue=\"2\""));
    }
}
