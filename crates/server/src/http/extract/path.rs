//! Ids and names in addresses. What is neither names nothing: 404.

use std::str::FromStr;

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use model::{PhotoId, PostId, Username};
use utoipa::openapi::path::ParameterIn;
use utoipa::openapi::schema::{ObjectBuilder, SchemaFormat};

use crate::http::error::ApiError;
use crate::http::openapi::{Argument, Entry, integer, parameter, string};
use crate::http::state::Http;

pub(crate) struct PathId<T>(pub(crate) T);

/// What a path can identify: its parameter, and the error where nothing matches.
pub(crate) trait Named: FromStr + Send {
    const PARAMETER: &'static str;
    const ABOUT: &'static str;
    const MISSING: &'static str;
    fn schema() -> ObjectBuilder;
}

impl Named for PostId {
    const PARAMETER: &'static str = "post_id";
    const ABOUT: &'static str = "The id of the post";
    const MISSING: &'static str = "there is no such post";

    fn schema() -> ObjectBuilder {
        integer().minimum(Some(1)).examples([42])
    }
}

impl Named for Username {
    const PARAMETER: &'static str = "username";
    const ABOUT: &'static str = "The name of the user";
    const MISSING: &'static str = "there is no such user";

    fn schema() -> ObjectBuilder {
        string()
            .min_length(Some(1))
            .max_length(Some(64))
            .pattern(Some("^[A-Za-z0-9_.@+-]{1,64}$"))
            .examples(["ada"])
    }
}

impl Named for PhotoId {
    const PARAMETER: &'static str = "photo_id";
    const ABOUT: &'static str = "The id of the photo";
    const MISSING: &'static str = "there is no such photo";

    fn schema() -> ObjectBuilder {
        let format = SchemaFormat::Custom("uuid".to_owned());
        string().format(Some(format)).examples(["0199b1c4-7e2a-7d10-9a55-3f1e6c0d2b48"])
    }
}

impl<T: Named> FromRequestParts<Http> for PathId<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, http: &Http) -> Result<Self, ApiError> {
        let missing = || ApiError::not_found(T::MISSING);
        let Path(raw) = Path::<String>::from_request_parts(parts, http).await.map_err(|_| missing())?;
        raw.parse().map(Self).map_err(|_| missing())
    }
}

impl<T: Named> Argument for PathId<T> {
    fn describe(entry: &mut Entry) {
        entry.parameter(parameter(T::PARAMETER, ParameterIn::Path, T::ABOUT, T::schema()));
        entry.error(404, T::MISSING);
    }
}

/// The path of an image. Its size is parsed after the photo is found: a missing photo is reported first.
pub(crate) struct ImagePath {
    pub(crate) photo: PhotoId,
    pub(crate) size: String,
}

impl FromRequestParts<Http> for ImagePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, http: &Http) -> Result<Self, ApiError> {
        let missing = || ApiError::not_found(PhotoId::MISSING);
        let segments = Path::<(String, String)>::from_request_parts(parts, http).await;
        let Path((photo, size)) = segments.map_err(|_| missing())?;
        Ok(Self { photo: photo.parse().map_err(|_| missing())?, size })
    }
}

impl Argument for ImagePath {
    fn describe(entry: &mut Entry) {
        PathId::<PhotoId>::describe(entry);
        for name in ["width", "height"] {
            let pixels = integer().minimum(Some(1)).maximum(Some(2048)).examples([512]);
            let about = "Pixels; width and height are equal";
            entry.parameter(parameter(name, ParameterIn::Path, about, pixels));
        }
        entry.error(400, "Width and height are not two equal numbers from 1 to 2048");
    }
}
