//! Data transfer objects (DTOs): the JSON types of responses, for serde and for the OpenAPI document. Those
//! of posts are in [`super::post_json`].

use std::fmt::Display;

use base64::display::Base64Display;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD};
use model::{Alt, Bio, DisplayName, Link, PhotoId, Timestamp};
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

/// A user.
#[derive(Serialize, ToSchema)]
pub(crate) struct User<'a> {
    /// The user's id.
    #[schema(example = 1, minimum = 1)]
    id: i64,
    /// The username, in the case it was registered with; unique regardless of case.
    #[schema(example = "ada", min_length = 1, max_length = 64)]
    username: &'a str,
    /// Profile photo; null when the user has none.
    #[schema(required = true)]
    photo: Option<Photo<'a>>,
    /// The name to show beside the username; absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Ada Lovelace", max_length = 64, nullable = false)]
    display_name: Option<&'a str>,
    /// What the user writes about themselves; absent when there is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Photos of engines", max_length = 500, nullable = false)]
    bio: Option<&'a str>,
    /// The address of the user's website; absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "https://ada.example", max_length = 500, nullable = false)]
    link: Option<&'a str>,
    /// When the account was created, in UTC.
    #[schema(value_type = String, example = "2026-11-14T09:30:00+0000",
        pattern = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\+0000$")]
    created_at: AsDisplay<Timestamp>,
}

/// A photo, served at `/photos/{id}/{width}x{height}` as a square and at `/photos/{id}/fit/{longest}` as a
/// whole.
#[derive(Serialize, ToSchema)]
pub(crate) struct Photo<'a> {
    /// The photo's id.
    #[schema(value_type = String, example = "0199b1c4-7e2a-7d10-9a55-3f1e6c0d2b48", format = "uuid")]
    id: AsDisplay<PhotoId>,
    /// Width of the upright original, in pixels.
    #[schema(example = 4032, minimum = 1)]
    width: u32,
    /// Height of the upright original, in pixels.
    #[schema(example = 3024, minimum = 1)]
    height: u32,
    /// A ThumbHash in base64: a placeholder to draw until the image is loaded.
    #[schema(value_type = String, example = "1QcSHQRnh493V4dIh4eXh1h4kJUI")]
    placeholder: AsDisplay<Base64Display<'a, 'static, GeneralPurpose>>,
    /// Alternative text that describes the photo; absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "The sun rises over a harbour", max_length = 1000, nullable = false)]
    alt: Option<&'a str>,
    /// The point that squares are cut around; absent when it is the centre.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    focus: Option<Focus>,
}

/// A point of a photo, as fractions of its width and height from the upper left corner.
#[derive(Serialize, ToSchema)]
pub(crate) struct Focus {
    /// From the left.
    #[schema(example = 0.5, minimum = 0, maximum = 1)]
    x: f64,
    /// From the top.
    #[schema(example = 0.25, minimum = 0, maximum = 1)]
    y: f64,
}

/// Links to other pages of a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Paging {
    /// Absolute URL of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "http://127.0.0.1:8080/feed?limit=20&offset=20&after=AQAAAAAAAAAW", nullable = false)]
    pub(crate) next: Option<String>,
}

/// An object without members.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Empty {}

/// The body of every error.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Error {
    /// The error.
    pub(crate) error: ErrorDetail,
}

/// The message of an error, and the parameter that caused it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorDetail {
    /// A human-readable description. Its text may change; programs use `X-Error-Code`.
    #[schema(nullable = false)]
    pub(crate) message: Option<String>,
    /// The name of the invalid parameter; absent when the error is not about a single one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) field: Option<String>,
}

/// Serializes a value as its `Display` text.
pub(crate) struct AsDisplay<T>(pub(crate) T);

impl<T: Display> Serialize for AsDisplay<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'a> From<&'a model::User> for User<'a> {
    fn from(user: &'a model::User) -> Self {
        let profile = user.profile.as_deref();
        Self {
            id: user.id.0,
            username: user.username.as_str(),
            photo: user.photo.as_deref().map(Photo::from),
            display_name: profile.and_then(|profile| profile.display_name.as_ref().map(DisplayName::as_str)),
            bio: profile.and_then(|profile| profile.bio.as_ref().map(Bio::as_str)),
            link: profile.and_then(|profile| profile.link.as_ref().map(Link::as_str)),
            created_at: AsDisplay(user.created_at),
        }
    }
}

impl<'a> From<&'a model::Photo> for Photo<'a> {
    fn from(photo: &'a model::Photo) -> Self {
        Self {
            id: AsDisplay(photo.id),
            width: photo.width,
            height: photo.height,
            placeholder: AsDisplay(Base64Display::new(&photo.placeholder, &STANDARD)),
            alt: photo.alt.as_ref().map(Alt::as_str),
            focus: Some(photo.focus).filter(|focus| *focus != model::Focus::CENTRE).map(|focus| {
                let (x, y) = focus.fractions();
                Focus { x, y }
            }),
        }
    }
}
