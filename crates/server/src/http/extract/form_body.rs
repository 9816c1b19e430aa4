//! The extractor of a form body. It does not read the body: handlers first check whether the caller may send
//! it.

use std::convert::Infallible;
use std::marker::PhantomData;

use app::Caller;
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use http::HeaderMap;

use crate::http::error::ApiError;
use crate::http::extract::session::reauthenticate;
use crate::http::form::memory::FormMemory;
use crate::http::form::parameters::FormFields;
use crate::http::form::{FormData, FormError};
use crate::http::middleware::request_log::hold;
use crate::http::openapi::{Argument, Entry};
use crate::http::state::Http;

/// A form body that has not been read yet.
pub(crate) struct FormBody<T> {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
    pub(crate) memory: FormMemory,
    schema: PhantomData<fn() -> T>,
}

impl<T: FormFields> FormBody<T> {
    /// A form that does not come from a connection.
    pub(crate) fn stored(headers: HeaderMap, body: Body) -> Self {
        Self { headers, body, memory: FormMemory::uncounted(), schema: PhantomData }
    }

    /// Reads a form that has no file parameter, and then the caller again: the body may have arrived after
    /// the session was ended.
    pub(crate) async fn read(self, http: &Http, caller: &mut Caller) -> Result<T, ApiError> {
        let form = self.read_without_session(http).await?;
        reauthenticate(http, caller).await?;
        Ok(form)
    }

    /// Reads a form of an operation that needs no session.
    pub(crate) async fn read_without_session(self, http: &Http) -> Result<T, FormError> {
        parsed(http.read_form(&self.headers, self.body, T::TEXT, self.memory).await?)
    }
}

/// The form, whose values stay reserved until its request is answered.
pub(crate) fn parsed<T: FormFields>(mut data: FormData) -> Result<T, FormError> {
    let form = T::parse(&mut data);
    hold(data.into_memory());
    form
}

impl<T: FormFields> FromRequest<Http> for FormBody<T> {
    type Rejection = Infallible;

    async fn from_request(request: Request, http: &Http) -> Result<Self, Infallible> {
        let (parts, body) = request.into_parts();
        let memory = http.form_memory();
        Ok(Self { headers: parts.headers, body, memory, schema: PhantomData })
    }
}

impl<T: FormFields> Argument for FormBody<T> {
    fn describe(entry: &mut Entry) {
        let (media_type, about) = if T::FILE.is_some() {
            (
                "multipart/form-data",
                "A small file may also be sent as `application/x-www-form-urlencoded`, in a body of up to 256 KiB.",
            )
        } else {
            ("application/x-www-form-urlencoded", "Also accepted as `multipart/form-data`.")
        };
        entry.form((T::NAME, T::schema()), media_type, T::IS_REQUIRED, about);
    }
}
