//! Extractors of path parameters: ids, usernames and tags. A malformed one gets 404, like one that does not
//! exist; a malformed tag in the API gets 400, since every tag has a list of posts.

use std::str::FromStr;

use axum::extract::FromRequestParts;
use http::request::Parts;
use model::{FitSize, PhotoId, PostId, ReportId, SessionId, Tag, Username, ValidationError};
use utoipa::openapi::path::ParameterIn;
use utoipa::openapi::schema::{ObjectBuilder, SchemaFormat};

use crate::http::error::ApiError;
use crate::http::openapi::{Argument, Entry, integer, parameter, string};
use crate::http::state::Http;

pub(crate) struct PathId<T>(pub(crate) T);

/// A type that identifies a resource in a path: its parameter in the OpenAPI document, and its 404 message.
pub(crate) trait PathParameter: FromStr + Send {
    const NAME: &'static str;
    const DESCRIPTION: &'static str;
    const NOT_FOUND: &'static str;
    fn schema() -> ObjectBuilder;
}

impl PathParameter for PostId {
    const NAME: &'static str = "post_id";
    const DESCRIPTION: &'static str = "The id of the post";
    const NOT_FOUND: &'static str = "there is no such post";

    fn schema() -> ObjectBuilder {
        integer().minimum(Some(1)).examples([42])
    }
}

impl PathParameter for Username {
    const NAME: &'static str = "username";
    const DESCRIPTION: &'static str = "The username, in any case";
    const NOT_FOUND: &'static str = "there is no such user";

    fn schema() -> ObjectBuilder {
        string()
            .min_length(Some(1))
            .max_length(Some(64))
            .pattern(Some("^[A-Za-z0-9_.@+-]{1,64}$"))
            .examples(["ada"])
    }
}

impl PathParameter for Tag {
    const NAME: &'static str = "tag";
    const DESCRIPTION: &'static str =
        "The tag without its `#`, in any case: letters, digits and `_` of any script, not only digits";
    const NOT_FOUND: &'static str = "there is no such tag";

    /// Without a pattern: the regular expressions of most languages have no Unicode categories.
    fn schema() -> ObjectBuilder {
        string().min_length(Some(1)).max_length(Some(Self::MAX_CHARS)).examples(["sunset"])
    }
}

impl PathParameter for SessionId {
    const NAME: &'static str = "session_id";
    const DESCRIPTION: &'static str = "The id of the session";
    const NOT_FOUND: &'static str = "there is no such session";

    fn schema() -> ObjectBuilder {
        string().pattern(Some("^[0-9a-f]{16}$")).examples(["3f1e6c0d2b487e2a"])
    }
}

/// The id of an invitation, which has the form of a session's.
pub(crate) struct InvitationId(pub(crate) SessionId);

impl FromStr for InvitationId {
    type Err = ValidationError;

    fn from_str(raw: &str) -> Result<Self, ValidationError> {
        raw.parse().map(Self)
    }
}

impl PathParameter for InvitationId {
    const NAME: &'static str = "invitation_id";
    const DESCRIPTION: &'static str = "The id of the invitation";
    const NOT_FOUND: &'static str = "there is no such invitation";

    fn schema() -> ObjectBuilder {
        SessionId::schema()
    }
}

/// The id of a resumable upload: that of its folder in the blob store.
pub(crate) struct UploadId(pub(crate) PhotoId);

impl FromStr for UploadId {
    type Err = ValidationError;

    fn from_str(raw: &str) -> Result<Self, ValidationError> {
        raw.parse().map(Self)
    }
}

impl PathParameter for UploadId {
    const NAME: &'static str = "upload_id";
    const DESCRIPTION: &'static str = "The id of the upload";
    const NOT_FOUND: &'static str = "there is no such upload";

    fn schema() -> ObjectBuilder {
        PhotoId::schema()
    }
}

impl PathParameter for ReportId {
    const NAME: &'static str = "report_id";
    const DESCRIPTION: &'static str = "The id of the report";
    const NOT_FOUND: &'static str = "there is no such report";

    fn schema() -> ObjectBuilder {
        integer().minimum(Some(1)).examples([7])
    }
}

impl PathParameter for PhotoId {
    const NAME: &'static str = "photo_id";
    const DESCRIPTION: &'static str = "The id of the photo";
    const NOT_FOUND: &'static str = "there is no such photo";

    fn schema() -> ObjectBuilder {
        let format = SchemaFormat::Custom("uuid".to_owned());
        string().format(Some(format)).examples(["0199b1c4-7e2a-7d10-9a55-3f1e6c0d2b48"])
    }
}

impl<T: PathParameter> FromRequestParts<Http> for PathId<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, http: &Http) -> Result<Self, ApiError> {
        let id = http.path_parameters(parts).decoded(T::NAME).and_then(|id| id.parse().ok());
        id.map(Self).ok_or_else(|| ApiError::not_found(T::NOT_FOUND))
    }
}

impl<T: PathParameter> Argument for PathId<T> {
    fn describe(entry: &mut Entry) {
        entry.parameter(parameter(T::NAME, ParameterIn::Path, T::DESCRIPTION, T::schema()));
        entry.error(404, T::NOT_FOUND);
    }
}

/// The tag in the path of a list of posts.
pub(crate) struct TagPath(pub(crate) Tag);

impl FromRequestParts<Http> for TagPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, http: &Http) -> Result<Self, ApiError> {
        let not_utf8 = || ApiError::invalid(Tag::NAME, "a tag in a path is percent-encoded UTF-8");
        let tag = http.path_parameters(parts).decoded(Tag::NAME).ok_or_else(not_utf8)?;
        tag.parse().map(Self).map_err(|rule: ValidationError| ApiError::invalid(Tag::NAME, rule))
    }
}

impl Argument for TagPath {
    fn describe(entry: &mut Entry) {
        entry.parameter(parameter(Tag::NAME, ParameterIn::Path, Tag::DESCRIPTION, Tag::schema()));
    }
}

/// The path of an image. The handler parses the size after it has looked up the photo, so that a 404 takes
/// precedence over a 400.
pub(crate) struct ImagePath {
    pub(crate) photo: PhotoId,
    pub(crate) size: String,
}

impl FromRequestParts<Http> for ImagePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, http: &Http) -> Result<Self, ApiError> {
        let PathId(photo) = PathId::from_request_parts(parts, http).await?;
        let size = http.path_parameters(parts).decoded("size").unwrap_or_default().into_owned();
        Ok(Self { photo, size })
    }
}

impl Argument for ImagePath {
    fn describe(entry: &mut Entry) {
        PathId::<PhotoId>::describe(entry);
        for name in ["width", "height"] {
            let pixels = integer().minimum(Some(1)).maximum(Some(2048)).examples([512]);
            let about = "In pixels; width and height must be equal";
            entry.parameter(parameter(name, ParameterIn::Path, about, pixels));
        }
        entry.error(400, "Width and height are not two equal integers from 1 to 2048");
    }
}

/// The path of an image of the whole photo. The handler parses the longest side after it has looked up the
/// photo.
pub(crate) struct FitPath {
    pub(crate) photo: PhotoId,
    pub(crate) longest: String,
}

impl FromRequestParts<Http> for FitPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, http: &Http) -> Result<Self, ApiError> {
        let PathId(photo) = PathId::from_request_parts(parts, http).await?;
        let longest = http.path_parameters(parts).decoded("longest").unwrap_or_default().into_owned();
        Ok(Self { photo, longest })
    }
}

impl Argument for FitPath {
    fn describe(entry: &mut Entry) {
        PathId::<PhotoId>::describe(entry);
        let pixels = integer().minimum(Some(1)).maximum(Some(FitSize::MAX)).examples([1024]);
        entry.parameter(parameter("longest", ParameterIn::Path, "The longest side, in pixels", pixels));
        entry.error(400, "The longest side is not an integer from 1 to 4096");
    }
}
