//! JSON responses.

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde::Serialize;

use crate::http::error::ApiError;

/// The encoded [`Empty`](crate::http::dto::Empty) object.
pub(crate) const EMPTY: Bytes = Bytes::from_static(b"{}");

/// A response with the value as its JSON body.
pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Response {
    match serde_json::to_vec(body) {
        Ok(json) => json_bytes(status, json.into()),
        Err(error) => {
            tracing::error!(%error, "response encoding failed");
            ApiError::internal().into_response()
        }
    }
}

/// A response with an encoded body. `Content-Length` is set here so that a HEAD response has it, too.
pub(crate) fn json_bytes(status: StatusCode, json: Bytes) -> Response {
    (status, json_headers(Some(json.len())), json).into_response()
}

/// The headers of a JSON response, with capacity for those that the middleware adds.
pub(crate) fn json_headers(length: Option<usize>) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(6);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.extend(length.map(|length| (CONTENT_LENGTH, HeaderValue::from(length))));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers
}
