//! The JSON encoder of posts and of pages of posts. It is written by hand: pages of posts are most of the
//! bytes that the service sends, and serde's check of every string for escapes took a fifth of their time.
//!
//! The output equals serde's encoding of the DTOs [`PostDto`] and [`FeedPageDto`], which the OpenAPI document
//! describes; a test compares the two.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use model::{Alt, FeedPage, Focus, Message, Photo, Post, PostId, Reason, Text, TextRule, Timestamp, User};
use serde::Serialize;
use smallvec::SmallVec;
use utoipa::ToSchema;

use super::dto::{self, AsDisplay};

/// The capacity to reserve for an encoded post; most are shorter.
const POST_BYTES: usize = 512;

/// One or several encoded posts.
#[derive(Debug)]
pub(crate) struct PostJson {
    bytes: Bytes,
    likes: SmallVec<[LikeOffset; 1]>,
}

/// The offset of a post's `false` in `is_liked`, which [`PostJson::with_likes`] patches.
#[derive(Debug, Clone, Copy)]
struct LikeOffset {
    post: PostId,
    offset: usize,
}

impl PostJson {
    pub(crate) fn post(post: &Post) -> Self {
        let mut json = Encoder::with_capacity(POST_BYTES);
        json.post(post);
        json.finish()
    }

    /// A page of posts, with the URL of the next page.
    pub(crate) fn page(page: &FeedPage, next: Option<&str>) -> Self {
        let mut json = Encoder::with_capacity((page.posts.len() + 1) * POST_BYTES);
        json.likes.reserve_exact(page.posts.len());
        json.raw(r#"{"data":["#);
        for (index, post) in page.posts.iter().enumerate() {
            json.raw(if index > 0 { "," } else { "" });
            json.post(post);
        }
        json.raw(r#"],"paging":{"#);
        if let Some(next) = next {
            json.raw(r#""next":"#);
            json.string(next);
        }
        json.raw("}}");
        json.finish()
    }

    pub(crate) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The JSON as it was encoded.
    pub(crate) fn bytes(&self) -> Bytes {
        self.bytes.clone()
    }

    /// The oldest post that was encoded as not liked.
    pub(crate) fn oldest(&self) -> Option<PostId> {
        self.likes.last().map(|like| like.post)
    }

    /// The JSON with `is_liked` patched to `true` for the posts that `is_liked` accepts.
    pub(crate) fn with_likes(&self, is_liked: impl Fn(PostId) -> bool) -> Bytes {
        let mut patches = self.likes.iter().filter(|like| is_liked(like.post)).peekable();
        if patches.peek().is_none() {
            return self.bytes();
        }
        let mut json = Vec::with_capacity(self.bytes.len());
        let mut copied = 0;
        for LikeOffset { offset, .. } in patches {
            json.extend_from_slice(&self.bytes[copied..*offset]);
            json.extend_from_slice(b"true");
            copied = offset + "false".len();
        }
        json.extend_from_slice(&self.bytes[copied..]);
        json.into()
    }
}

struct Encoder {
    bytes: Vec<u8>,
    likes: SmallVec<[LikeOffset; 1]>,
}

impl Encoder {
    fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), likes: SmallVec::new() }
    }

    fn finish(self) -> PostJson {
        PostJson { bytes: self.bytes.into_boxed_slice().into(), likes: self.likes }
    }

    fn post(&mut self, post: &Post) {
        self.raw(r#"{"id":"#);
        self.number(post.id.0);
        self.raw(r#","photo":"#);
        self.photo(&post.photo);
        if let Some(message) = &post.message {
            self.raw(r#","message":"#);
            self.string(Message::as_str(message));
        }
        self.raw(r#","user":"#);
        self.user(&post.user);
        self.raw(r#","created_at":""#);
        self.timestamp(post.created_at);
        self.raw(r#"","is_liked":"#);
        if !post.is_liked {
            self.likes.push(LikeOffset { post: post.id, offset: self.bytes.len() });
        }
        self.raw(if post.is_liked { "true" } else { "false" });
        self.raw(r#","like_count":"#);
        self.number(post.like_count);
        self.text_member("hidden_reason", post.hidden_reason.as_ref());
        if post.share_original {
            self.raw(r#","share_original":true"#);
        }
        self.raw("}");
    }

    fn photo(&mut self, photo: &Photo) {
        self.raw(r#"{"id":""#);
        self.raw(photo.id.encode(&mut [0; 36]));
        self.raw(r#"","width":"#);
        self.number(photo.width);
        self.raw(r#","height":"#);
        self.number(photo.height);
        self.raw(r#","placeholder":""#);
        let start = self.bytes.len();
        self.bytes.resize(start + photo.placeholder.len().div_ceil(3) * 4, b'=');
        STANDARD
            .encode_slice(&photo.placeholder, &mut self.bytes[start..])
            .expect("base64 encodes each group of up to three bytes as four");
        self.raw("\"");
        if let Some(alt) = &photo.alt {
            self.raw(r#","alt":"#);
            self.string(Alt::as_str(alt));
        }
        if photo.focus != Focus::CENTRE {
            let (x, y) = photo.focus.fractions();
            self.raw(&format!(r#","focus":{{"x":{x:?},"y":{y:?}}}"#));
        }
        self.raw("}");
    }

    fn user(&mut self, user: &User) {
        self.raw(r#"{"id":"#);
        self.number(user.id.0);
        // No character of a username needs an escape.
        self.raw(r#","username":""#);
        self.raw(user.username.as_str());
        self.raw(r#"","photo":"#);
        match &user.photo {
            Some(photo) => self.photo(photo),
            None => self.raw("null"),
        }
        if let Some(profile) = user.profile.as_deref() {
            self.text_member("display_name", profile.display_name.as_ref());
            self.text_member("bio", profile.bio.as_ref());
            self.text_member("link", profile.link.as_ref());
        }
        self.raw(r#","created_at":""#);
        self.timestamp(user.created_at);
        self.raw("\"}");
    }

    /// A member after others, if there is a text.
    fn text_member<Rule: TextRule>(&mut self, name: &str, text: Option<&Text<Rule>>) {
        if let Some(text) = text {
            self.raw(",\"");
            self.raw(name);
            self.raw("\":");
            self.string(text.as_str());
        }
    }

    /// A string of a user. Most need no escape, which the vectorized fold checks for many bytes at once.
    fn string(&mut self, text: &str) {
        let needs_escape = |any: bool, byte: u8| any | (byte < b' ') | (byte == b'"') | (byte == b'\\');
        if text.bytes().fold(false, needs_escape) {
            serde_json::to_writer(&mut self.bytes, text).expect("writing a string to a Vec cannot fail");
        } else {
            self.raw("\"");
            self.raw(text);
            self.raw("\"");
        }
    }

    /// JSON syntax, or text that needs no escape.
    fn raw(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn number(&mut self, number: impl itoa::Integer) {
        self.raw(itoa::Buffer::new().format(number));
    }

    fn timestamp(&mut self, timestamp: Timestamp) {
        self.bytes.extend_from_slice(&timestamp.to_iso8601());
    }
}

/// A photo with an optional message.
#[derive(Serialize, ToSchema)]
#[schema(as = Post)]
pub(crate) struct PostDto<'a> {
    /// The post's id.
    #[schema(example = 42, minimum = 1)]
    id: i64,
    /// The photo of the post.
    photo: dto::Photo<'a>,
    /// Absent when the post has no message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "First light", max_length = 5000, nullable = false)]
    message: Option<&'a str>,
    /// The author.
    user: dto::User<'a>,
    /// When the post was created, in UTC.
    #[schema(value_type = String, example = "2026-11-14T09:30:00+0000",
        pattern = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\+0000$")]
    created_at: AsDisplay<Timestamp>,
    /// Whether the caller has liked the post; false for an anonymous caller.
    is_liked: bool,
    /// How many users like the post.
    #[schema(example = 3, minimum = 0)]
    like_count: i64,
    /// Why a moderator has hidden the post; only its author and moderators get it then.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Spam", nullable = false)]
    hidden_reason: Option<&'a str>,
    /// Whether everyone may download the original of its photo; absent when only the author may.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    share_original: bool,
}

/// A page of posts, newest first.
#[derive(Serialize, ToSchema)]
#[schema(as = FeedPage)]
pub(crate) struct FeedPageDto<'a> {
    /// The posts.
    data: Vec<PostDto<'a>>,
    /// The link to the next page.
    paging: dto::Paging,
}

impl<'a> From<&'a Post> for PostDto<'a> {
    fn from(post: &'a Post) -> Self {
        Self {
            id: post.id.0,
            photo: dto::Photo::from(&post.photo),
            message: post.message.as_ref().map(Message::as_str),
            user: dto::User::from(&*post.user),
            created_at: AsDisplay(post.created_at),
            is_liked: post.is_liked,
            like_count: post.like_count,
            hidden_reason: post.hidden_reason.as_ref().map(Reason::as_str),
            share_original: post.share_original,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use model::{Bio, Cursor, DisplayName, Link, PhotoId, PostId, Profile, Role, Status, UserId, Username};

    use super::*;

    fn photo(alt: Option<&str>, placeholder: &[u8]) -> Photo {
        Photo {
            id: PhotoId::from_bytes([0xa7; 16]),
            width: 4032,
            height: 1,
            placeholder: placeholder.into(),
            alt: alt.map(|alt| Alt::from_stored(alt.into())),
            focus: if alt.is_some() { Focus { x: 1, y: Focus::SCALE } } else { Focus::CENTRE },
        }
    }

    fn author(photo: Option<Photo>) -> Arc<User> {
        let username = Username::from_stored("Ada.Lovelace_1815+x@y-z".into());
        Arc::new(User {
            id: UserId(7),
            username,
            profile: photo.as_ref().map(|photo| {
                let link = photo.alt.is_none().then(|| Link::from_stored("https://ada.example".into()));
                let bio = photo.alt.as_ref().map(|alt| Bio::from_stored(alt.to_string()));
                Box::new(Profile {
                    display_name: Some(DisplayName::from_stored("\"Ada\"".into())),
                    bio,
                    link,
                })
            }),
            photo: photo.map(Box::new),
            created_at: Timestamp::from_micros(0),
            role: Role::Member,
            status: Status::Active,
        })
    }

    /// A post without likes.
    pub(in crate::http) fn post(id: PostId) -> Post {
        let created_at = Timestamp::from_micros(1_794_648_600_123_456);
        let (photo, user) = (photo(None, b"1"), author(None));
        Post {
            id,
            photo,
            message: None,
            user,
            created_at,
            is_liked: false,
            like_count: 0,
            hidden_reason: None,
            share_original: false,
        }
    }

    #[test]
    fn a_character_is_escaped_at_every_position() {
        let plain =
            "a line of forty bytes, ä 漢 🦀 \u{7f} and more of it, long enough for a few steps".repeat(2);
        let positions = plain.char_indices().map(|(at, _)| at);
        let escaped = ['"', '\\', '\n', '\0', '\u{1f}'];
        for (at, nasty) in positions.flat_map(|at| escaped.map(|nasty| (at, nasty))) {
            let mut text = plain.clone();
            text.insert(at, nasty);
            let mut json = Encoder::with_capacity(0);
            json.string(&text);
            assert_eq!(json.bytes, serde_json::to_vec(&text).unwrap());
        }
        let mut json = Encoder::with_capacity(0);
        json.string(&plain);
        assert_eq!(json.bytes, serde_json::to_vec(&plain).unwrap());
    }

    #[test]
    fn the_encoder_writes_what_serde_writes_for_the_dto() {
        let nasty = "quote \" slash \\ / line \n tab \t bell \u{7} del \u{7f} <script> ä 漢 🦀 \u{2028}";
        let posts: Vec<Post> = [
            (None, photo(None, b""), author(None)),
            (Some(nasty), photo(Some(nasty), b"1"), author(Some(photo(Some(nasty), b"12")))),
            (Some("plain"), photo(None, &[0; 25]), author(Some(photo(None, b"123")))),
        ]
        .into_iter()
        .zip(0..)
        .map(|((message, photo, user), number)| Post {
            id: PostId(i64::MAX - number),
            photo,
            message: message.map(|text| Message::from_stored(text.into())),
            user,
            created_at: Timestamp::from_micros(1_794_648_600_123_456),
            is_liked: number % 2 == 1,
            like_count: number * 1_000_000_007,
            hidden_reason: (number == 2).then(|| Reason::from_stored(nasty.into())),
            share_original: number == 1,
        })
        .collect();
        for post in &posts {
            assert_eq!(PostJson::post(post).bytes(), serde_json::to_vec(&PostDto::from(post)).unwrap());
        }
        for (posts, next) in [(posts, Some("http://[::1]/feed?limit=1&after=x")), (Vec::new(), None)] {
            let page = FeedPage { posts, next: next.map(|_| Cursor(1)) };
            let data = page.posts.iter().map(PostDto::from).collect();
            let paging = dto::Paging { next: next.map(str::to_owned) };
            assert_eq!(
                PostJson::page(&page, next).bytes(),
                serde_json::to_vec(&FeedPageDto { data, paging }).unwrap()
            );
        }
    }

    #[test]
    fn with_likes_patches_only_the_is_liked_that_the_encoder_wrote() {
        let mut posts: Vec<Post> = [9, 7, 5, 3].map(|id| post(PostId(id))).into();
        posts[0].message = Message::parse(r#"","is_liked":false,"#.into()).unwrap();
        let page = |posts: &[Post]| PostJson::page(&FeedPage { posts: posts.to_vec(), next: None }, None);
        let encoded = page(&posts);
        assert_eq!((encoded.oldest(), encoded.with_likes(|_| false)), (Some(PostId(3)), encoded.bytes()));
        for liked in 0..16 {
            for (bit, post) in posts.iter_mut().enumerate() {
                post.is_liked = liked & (1 << bit) != 0;
            }
            let is_liked = |id| posts.iter().any(|post| post.id == id && post.is_liked);
            assert_eq!(encoded.with_likes(is_liked), page(&posts).bytes(), "{liked:b}");
        }
    }
}
