//! The form of an operation, before its body is read: handlers first check whether the caller may send it.

use std::convert::Infallible;
use std::marker::PhantomData;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use http::HeaderMap;
use utoipa::ToSchema;

use crate::http::form::{Form, FormError};
use crate::http::openapi::{Argument, Entry};
use crate::http::state::Http;

/// A form as the OpenAPI document shows it.
pub(crate) trait FormSchema: ToSchema {
    /// The names of its text parameters.
    const TEXT: &'static [&'static str];
    /// Whether it has a file named `photo` besides.
    const HAS_PHOTO: bool = false;
    /// Whether a request without a body is an error.
    const IS_REQUIRED: bool = true;
}

pub(crate) struct FormBody<T> {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
    schema: PhantomData<fn() -> T>,
}

impl<T: FormSchema> FormBody<T> {
    /// Reads a form without a file.
    pub(crate) async fn read(self, http: &Http) -> Result<Form, FormError> {
        http.form(&self.headers, self.body, T::TEXT).await
    }
}

impl<T: FormSchema> FromRequest<Http> for FormBody<T> {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &Http) -> Result<Self, Infallible> {
        let (parts, body) = request.into_parts();
        Ok(Self { headers: parts.headers, body, schema: PhantomData })
    }
}

impl<T: FormSchema> Argument for FormBody<T> {
    fn describe(entry: &mut Entry) {
        let (media_type, about) = if T::HAS_PHOTO {
            (
                "multipart/form-data",
                "A small photo may also be sent as `application/x-www-form-urlencoded`, in a body of up to 256 KiB.",
            )
        } else {
            ("application/x-www-form-urlencoded", "Also accepted as `multipart/form-data`.")
        };
        entry.form::<T>(media_type, T::IS_REQUIRED, about);
    }
}
