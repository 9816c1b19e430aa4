//! JSON responses.

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde::Serialize;

use crate::http::error::ApiError;

/// An object without members.
pub(crate) const EMPTY: Bytes = Bytes::from_static(b"{}");

/// Encodes the body.
pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Response {
    match serde_json::to_vec(body) {
        Ok(json) => json_bytes(status, json.into()),
        Err(error) => {
            tracing::error!(%error, "a response could not be encoded");
            ApiError::internal().into_response()
        }
    }
}

/// Sends an encoded body, with its length for HEAD.
pub(crate) fn json_bytes(status: StatusCode, json: Bytes) -> Response {
    (status, json_headers(Some(json.len())), json).into_response()
}

/// The headers of a JSON response, with room for those that the middleware adds.
pub(crate) fn json_headers(length: Option<usize>) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(6);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.extend(length.map(|length| (CONTENT_LENGTH, HeaderValue::from(length))));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers
}
