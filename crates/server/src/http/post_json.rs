//! Posts as JSON, encoded by hand: pages of posts are most of what the service sends, and a serializer that
//! checks every string for escapes took a fifth of their time.
//!
//! The output equals what serde makes of [`PostDto`] and [`FeedPageDto`], which the OpenAPI document
//! describes; a test compares the two.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use model::{Alt, FeedPage, Message, Photo, Post, PostId, Timestamp, User};
use serde::Serialize;
use smallvec::SmallVec;
use utoipa::ToSchema;

use super::dto::{self, Shown};

/// The length of most posts.
const POST_BYTES: usize = 512;

/// One or several encoded posts.
#[derive(Debug)]
pub(crate) struct PostJson {
    bytes: Bytes,
    likes: SmallVec<[LikeOffset; 1]>,
}

/// Where a post's `is_liked` says `false`.
#[derive(Debug, Clone, Copy)]
struct LikeOffset {
    post: PostId,
    offset: usize,
}

impl PostJson {
    pub(crate) fn post(post: &Post) -> Self {
        let mut json = Json::with_capacity(POST_BYTES);
        json.post(post);
        json.finish()
    }

    /// A page of posts, with the address of the next one.
    pub(crate) fn page(page: &FeedPage, next: Option<&str>) -> Self {
        let mut json = Json::with_capacity((page.posts.len() + 1) * POST_BYTES);
        json.likes.reserve_exact(page.posts.len());
        json.plain(r#"{"data":["#);
        for (index, post) in page.posts.iter().enumerate() {
            json.plain(if index > 0 { "," } else { "" });
            json.post(post);
        }
        json.plain(r#"],"paging":{"#);
        if let Some(next) = next {
            json.plain(r#""next":"#);
            json.text(next);
        }
        json.plain("}}");
        json.finish()
    }

    pub(crate) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// As it was encoded.
    pub(crate) fn bytes(&self) -> Bytes {
        self.bytes.clone()
    }

    /// The oldest of its posts that was encoded as not liked.
    pub(crate) fn oldest(&self) -> Option<PostId> {
        self.likes.last().map(|like| like.post)
    }

    /// The same with `is_liked` set for the posts that `likes` names.
    pub(crate) fn with_likes(&self, likes: impl Fn(PostId) -> bool) -> Bytes {
        let mut patches = self.likes.iter().filter(|like| likes(like.post)).peekable();
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

struct Json {
    bytes: Vec<u8>,
    likes: SmallVec<[LikeOffset; 1]>,
}

impl Json {
    fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), likes: SmallVec::new() }
    }

    fn finish(self) -> PostJson {
        PostJson { bytes: self.bytes.into_boxed_slice().into(), likes: self.likes }
    }

    fn post(&mut self, post: &Post) {
        self.plain(r#"{"id":"#);
        self.number(post.id.0);
        self.plain(r#","photo":"#);
        self.photo(&post.photo);
        if let Some(message) = &post.message {
            self.plain(r#","message":"#);
            self.text(Message::as_str(message));
        }
        self.plain(r#","user":"#);
        self.user(&post.user);
        self.plain(r#","created_at":""#);
        self.moment(post.created_at);
        self.plain(r#"","is_liked":"#);
        if !post.is_liked {
            self.likes.push(LikeOffset { post: post.id, offset: self.bytes.len() });
        }
        self.plain(if post.is_liked { "true" } else { "false" });
        self.plain(r#","like_count":"#);
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
        let start = self.bytes.len();
        self.bytes.resize(start + photo.placeholder.len().div_ceil(3) * 4, b'=');
        STANDARD
            .encode_slice(&photo.placeholder, &mut self.bytes[start..])
            .expect("base64 turns three bytes, or a last one or two, into four");
        self.plain("\"");
        if let Some(alt) = &photo.alt {
            self.plain(r#","alt":"#);
            self.text(Alt::as_str(alt));
        }
        self.plain("}");
    }

    fn user(&mut self, user: &User) {
        self.plain(r#"{"id":"#);
        self.number(user.id.0);
        // A username has no character that needs an escape.
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

    /// Text that people wrote. Most of it needs no escape, which is checked for many bytes at once.
    fn text(&mut self, text: &str) {
        let escapes = |found: bool, byte: u8| found | (byte < b' ') | (byte == b'"') | (byte == b'\\');
        if text.bytes().fold(false, escapes) {
            serde_json::to_writer(&mut self.bytes, text).expect("any string is JSON, and a Vec takes it");
        } else {
            self.plain("\"");
            self.plain(text);
            self.plain("\"");
        }
    }

    /// Text that needs no escape.
    fn plain(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn number(&mut self, number: impl itoa::Integer) {
        self.plain(itoa::Buffer::new().format(number));
    }

    fn moment(&mut self, moment: Timestamp) {
        self.bytes.extend_from_slice(&moment.written());
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
    created_at: Shown<Timestamp>,
    /// Whether the caller has liked the post; false for an anonymous caller.
    is_liked: bool,
    /// How many users like the post.
    #[schema(example = 3, minimum = 0)]
    like_count: i64,
}

/// A page of posts, newest first.
#[derive(Serialize, ToSchema)]
#[schema(as = FeedPage)]
pub(crate) struct FeedPageDto<'a> {
    /// The posts.
    data: Vec<PostDto<'a>>,
    /// Where the list goes on.
    paging: dto::Paging,
}

impl<'a> From<&'a Post> for PostDto<'a> {
    fn from(post: &'a Post) -> Self {
        Self {
            id: post.id.0,
            photo: dto::Photo::from(&post.photo),
            message: post.message.as_ref().map(Message::as_str),
            user: dto::User::from(&*post.user),
            created_at: Shown(post.created_at),
            is_liked: post.is_liked,
            like_count: post.like_count,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use model::{Anchor, PhotoId, PostId, UserId, Username};

    use super::*;

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

    /// A post that nobody likes.
    pub(in crate::http) fn post(id: PostId) -> Post {
        let created_at = Timestamp::from_micros(1_794_648_600_123_456);
        let (photo, user) = (photo(None, b"1"), by(None));
        Post { id, photo, message: None, user, created_at, is_liked: false, like_count: 0 }
    }

    #[test]
    fn an_escape_is_found_at_every_position() {
        let plain =
            "a line of forty bytes, ä 漢 🦀 \u{7f} and more of it, long enough for a few steps".repeat(2);
        let places = plain.char_indices().map(|(at, _)| at);
        for (at, nasty) in places.flat_map(|at| ['"', '\\', '\n', '\0', '\u{1f}'].map(|nasty| (at, nasty))) {
            let mut text = plain.clone();
            text.insert(at, nasty);
            let mut json = Json::with_capacity(0);
            json.text(&text);
            assert_eq!(json.bytes, serde_json::to_vec(&text).unwrap());
        }
        let mut json = Json::with_capacity(0);
        json.text(&plain);
        assert_eq!(json.bytes, serde_json::to_vec(&plain).unwrap());
    }

    #[test]
    fn equals_what_serde_makes_of_the_dto() {
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
            assert_eq!(PostJson::post(one).bytes(), serde_json::to_vec(&PostDto::from(one)).unwrap());
        }
        for (posts, next) in [(posts, Some("http://[::1]/feed?limit=1&after=x")), (Vec::new(), None)] {
            let whole = FeedPage { posts, next: next.map(|_| Anchor(PostId(1))) };
            let data = whole.posts.iter().map(PostDto::from).collect();
            let paging = dto::Paging { next: next.map(str::to_owned) };
            assert_eq!(
                PostJson::page(&whole, next).bytes(),
                serde_json::to_vec(&FeedPageDto { data, paging }).unwrap()
            );
        }
    }

    #[test]
    fn likes_are_patched_where_the_encoder_wrote_them() {
        let mut posts: Vec<Post> = [9, 7, 5, 3].map(|id| post(PostId(id))).into();
        posts[0].message = Message::parse(r#"","is_liked":false,"#.into()).unwrap();
        let page = |posts: &[Post]| PostJson::page(&FeedPage { posts: posts.to_vec(), next: None }, None);
        let encoded = page(&posts);
        assert_eq!((encoded.oldest(), encoded.with_likes(|_| false)), (Some(PostId(3)), encoded.bytes()));
        for liked in 0..16 {
            for (bit, post) in posts.iter_mut().enumerate() {
                post.is_liked = liked & (1 << bit) != 0;
            }
            let likes = |id| posts.iter().any(|post| post.id == id && post.is_liked);
            assert_eq!(encoded.with_likes(likes), page(&posts).bytes(), "{liked:b}");
        }
    }
}
