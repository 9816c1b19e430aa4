//! JSON responses.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
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

/// A response with an encoded body.
pub(crate) fn json_bytes(status: StatusCode, json: Bytes) -> Response {
    // With capacity for the headers that the middleware adds, since growing rehashes.
    let mut headers = HeaderMap::with_capacity(6);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    respond(status, headers, json)
}

/// A response with exactly these headers.
pub(crate) fn respond(status: StatusCode, headers: HeaderMap, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
