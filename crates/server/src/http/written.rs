//! Posts as JSON, written straight down. Most of what the service sends is pages of posts, and a serializer that looks
//! into every word for what to escape took a fifth of their time; only what people wrote can have any.
//!
//! What it says is what the shapes in [`super::dto`] say: a test holds the one against the other.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use memchr::memmem;
use model::{Alt, FeedPage, Message, Photo, Post, Timestamp, User};

/// What most posts take.
const ROOM: usize = 512;

/// How a post that the reader does not like says so. It cannot be part of a text, where quotes are escaped.
const UNLIKED: &str = r#""is_liked":false"#;
const FALSE: &str = "false";

/// One post.
pub(crate) fn post(post: &Post) -> Vec<u8> {
    let mut json = Json(Vec::with_capacity(ROOM));
    json.post(post);
    json.0
}

/// Where posts say that the reader does not like them, one after another.
pub(crate) fn unliked(json: &[u8]) -> impl Iterator<Item = usize> {
    memmem::find_iter(json, UNLIKED).map(|at| at + UNLIKED.len() - FALSE.len())
}

/// The same posts for somebody who likes those that say otherwise at these places.
pub(crate) fn liked(written: &Bytes, places: impl IntoIterator<Item = usize>) -> Bytes {
    let mut places = places.into_iter().peekable();
    if places.peek().is_none() {
        return written.clone();
    }
    let mut json = Vec::with_capacity(written.len());
    let mut done = 0;
    for at in places {
        json.extend_from_slice(&written[done..at]);
        json.extend_from_slice(b"true");
        done = at + FALSE.len();
    }
    json.extend_from_slice(&written[done..]);
    json.into()
}

/// A page of posts, and where the next one is.
pub(crate) fn page(page: &FeedPage, next: Option<&str>) -> Bytes {
    let mut json = Json(Vec::with_capacity((page.posts.len() + 1) * ROOM));
    json.plain(r#"{"data":["#);
    for (place, post) in page.posts.iter().enumerate() {
        json.plain(if place > 0 { "," } else { "" });
        json.post(post);
    }
    json.plain(r#"],"paging":{"#);
    if let Some(next) = next {
        json.plain(r#""next":"#);
        json.words(next);
    }
    json.plain("}}");
    json.0.into()
}

struct Json(Vec<u8>);

impl Json {
    fn post(&mut self, post: &Post) {
        self.plain(r#"{"id":"#);
        self.number(post.id.0);
        self.plain(r#","photo":"#);
        self.photo(&post.photo);
        if let Some(message) = &post.message {
            self.plain(r#","message":"#);
            self.words(Message::as_str(message));
        }
        self.plain(r#","user":"#);
        self.user(&post.user);
        self.plain(r#","created_at":""#);
        self.moment(post.created_at);
        self.plain(if post.is_liked { r#"","is_liked":true,"# } else { r#"","is_liked":false,"# });
        self.plain(r#""like_count":"#);
        self.number(post.like_count);
        self.plain("}");
    }

    fn photo(&mut self, photo: &Photo) {
        self.plain(r#"{"id":""#);
        self.plain(photo.id.written(&mut [0; 36]));
        self.plain(r#"","width":"#);
        self.number(photo.width);
        self.plain(r#","height":"#);
        self.number(photo.height);
        self.plain(r#","placeholder":""#);
        let place = self.0.len();
        self.0.resize(place + photo.placeholder.len().div_ceil(3) * 4, b'=');
        // It has exactly the room it needs.
        STANDARD.encode_slice(&photo.placeholder, &mut self.0[place..]).expect("base64 is as long as it is");
        self.plain("\"");
        if let Some(alt) = &photo.alt {
            self.plain(r#","alt":"#);
            self.words(Alt::as_str(alt));
        }
        self.plain("}");
    }

    fn user(&mut self, user: &User) {
        self.plain(r#"{"id":"#);
        self.number(user.id.0);
        // Usernames are made of what needs no escape.
        self.plain(r#","username":""#);
        self.plain(user.username.as_str());
        self.plain(r#"","photo":"#);
        match &user.photo {
            Some(photo) => self.photo(photo),
            None => self.plain("null"),
        }
        self.plain(r#","created_at":""#);
        self.moment(user.created_at);
        self.plain("\"}");
    }

    /// What people wrote. Little of it has anything to escape, and that is seen at a glance: many bytes at once.
    fn words(&mut self, text: &str) {
        let escapes = |found: bool, byte: u8| found | (byte < b' ') | (byte == b'"') | (byte == b'\\');
        if text.bytes().fold(false, escapes) {
            // Text is JSON whatever it says, and memory takes it.
            serde_json::to_writer(&mut self.0, text).expect("text can be written");
        } else {
            self.plain("\"");
            self.plain(text);
            self.plain("\"");
        }
    }

    /// What needs no escape.
    fn plain(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    fn number(&mut self, number: impl itoa::Integer) {
        self.plain(itoa::Buffer::new().format(number));
    }

    fn moment(&mut self, moment: Timestamp) {
        self.0.extend_from_slice(&moment.written());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use model::{Anchor, PhotoId, PostId, UserId, Username};

    use super::*;
    use crate::http::dto;

    fn photo(alt: Option<&str>, placeholder: &[u8]) -> Photo {
        Photo {
            id: PhotoId::from_bytes([0xa7; 16]),
            width: 4032,
            height: 1,
            placeholder: placeholder.into(),
            alt: alt.map(|alt| Alt::stored(alt.into())),
        }
    }

    fn by(face: Option<Photo>) -> Arc<User> {
        let username = Username::stored("Ada.Lovelace_1815+x@y-z".into());
        Arc::new(User {
            id: UserId(7),
            username,
            photo: face.map(Box::new),
            created_at: Timestamp::from_micros(0),
        })
    }

    #[test]
    fn whatever_needs_an_escape_is_found_wherever_it_is() {
        let plain =
            "a line of forty bytes, ä 漢 🦀 \u{7f} and more of it, long enough for a few steps".repeat(2);
        let places = plain.char_indices().map(|(at, _)| at);
        for (at, nasty) in places.flat_map(|at| ['"', '\\', '\n', '\0', '\u{1f}'].map(|nasty| (at, nasty))) {
            let mut text = plain.clone();
            text.insert(at, nasty);
            let mut json = Json(Vec::new());
            json.words(&text);
            assert_eq!(json.0, serde_json::to_vec(&text).unwrap());
        }
        let mut json = Json(Vec::new());
        json.words(&plain);
        assert_eq!(json.0, serde_json::to_vec(&plain).unwrap());
    }

    #[test]
    fn says_what_the_shapes_say() {
        let nasty = "quote \" slash \\ / line \n tab \t bell \u{7} del \u{7f} <script> ä 漢 🦀 \u{2028}";
        let posts: Vec<Post> = [
            (None, photo(None, b""), by(None)),
            (Some(nasty), photo(Some(nasty), b"1"), by(Some(photo(Some(nasty), b"12")))),
            (Some("plain"), photo(None, &[0; 25]), by(Some(photo(None, b"123")))),
        ]
        .into_iter()
        .zip(0..)
        .map(|((message, photo, user), number)| Post {
            id: PostId(i64::MAX - number),
            photo,
            message: message.map(|text| Message::stored(text.into())),
            user,
            created_at: Timestamp::from_micros(1_794_648_600_123_456),
            is_liked: number % 2 == 1,
            like_count: number * 1_000_000_007,
        })
        .collect();
        for one in &posts {
            assert_eq!(post(one), serde_json::to_vec(&dto::Post::from(one)).unwrap());
        }
        for (posts, next) in [(posts, Some("http://[::1]/feed?limit=1&after=x")), (Vec::new(), None)] {
            let whole = FeedPage { posts, next: next.map(|_| Anchor(PostId(1))) };
            let data = whole.posts.iter().map(dto::Post::from).collect();
            let paging = dto::Paging { next: next.map(str::to_owned) };
            assert_eq!(page(&whole, next), serde_json::to_vec(&dto::FeedPage { data, paging }).unwrap());
        }
    }
}
