//! A row of the route table, and its builder.

use axum::extract::Request;
use axum::handler::Handler;
use axum::response::Response;
use futures_util::future::BoxFuture;
use http::Method;
use utoipa::ToSchema;
use utoipa::openapi::Required;
use utoipa::openapi::path::ParameterIn;
use utoipa::openapi::schema::ObjectBuilder;

use crate::http::middleware::csrf::CsrfCheck;
use crate::http::middleware::endpoint::Endpoint;
use crate::http::openapi::{Arguments, Entry, parameter, string};
use crate::http::state::Http;

/// A row of the route table.
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    /// The path in the OpenAPI document, if axum's syntax cannot express it.
    pub(crate) documented_path: Option<&'static str>,
    /// The OpenAPI entry; `None` if the route is no operation of the API.
    pub(crate) entry: Option<Entry>,
    pub(crate) endpoint: Endpoint,
    pub(crate) handler: BoxedHandler,
}

pub(crate) type BoxedHandler = Box<dyn Fn(Request, Http) -> HandlerFuture + Send + Sync>;

/// What axum makes of a handler function with its extractors.
type HandlerFuture = BoxFuture<'static, Response>;

/// An operation of the API. Its parameters and errors follow from the arguments of its handler.
pub(crate) fn api<A, H>(method: Method, path: &'static str, handler: H) -> Route
where
    A: Arguments,
    H: Handler<A, Http, Future = HandlerFuture> + Sync,
{
    let entry = Some(Entry::of::<A>(&method));
    Route { entry, endpoint: Endpoint::api(path), ..file(method, path, handler) }
}

/// A page of the web client.
pub(crate) fn page<A, H>(method: Method, path: &'static str, handler: H) -> Route
where
    H: Handler<A, Http, Future = HandlerFuture> + Sync,
{
    let endpoint = Endpoint { has_error_pages: true, ..Endpoint::api(path) };
    Route { endpoint, ..file(method, path, handler) }
}

/// Any other resource: a static file or the API reference.
pub(crate) fn file<A, H>(method: Method, path: &'static str, handler: H) -> Route
where
    H: Handler<A, Http, Future = HandlerFuture> + Sync,
{
    Route {
        method,
        path,
        documented_path: None,
        entry: None,
        endpoint: Endpoint::file(path),
        handler: Box::new(move |request, http| handler.clone().call(request, http)),
    }
}

impl Route {
    /// What the OpenAPI document has of it: the method, the path and the entry.
    pub(crate) fn operation(self) -> Option<(Method, &'static str, Entry)> {
        Some((self.method, self.documented_path.unwrap_or(self.path), self.entry?))
    }

    pub(crate) fn about(self, id: &str, tag: &str, summary: &str, description: &str) -> Self {
        self.entry(|entry| entry.describe(id, tag, summary, description))
    }

    /// A successful response with a JSON body.
    pub(crate) fn json<T: ToSchema>(self, status: u16, description: &str) -> Self {
        self.entry(|entry| entry.json::<T>(status, description))
    }

    /// A successful response with a binary body.
    pub(crate) fn binary(self, status: u16, description: &str, media_types: &[&str]) -> Self {
        self.entry(|entry| entry.binary(status, description, media_types))
    }

    /// A response without a body.
    pub(crate) fn empty(self, status: u16, description: &str) -> Self {
        self.entry(|entry| entry.empty(status, description))
    }

    /// A header of all responses that the row has so far.
    pub(crate) fn header(self, name: &str, description: &str) -> Self {
        self.typed_header(name, description, string())
    }

    /// A header that is not any text.
    pub(crate) fn typed_header(self, name: &str, description: &str, schema: ObjectBuilder) -> Self {
        self.entry(|entry| entry.header(name, description, schema))
    }

    pub(crate) fn request_header(self, name: &str, description: &str, schema: ObjectBuilder) -> Self {
        self.entry(|entry| entry.parameter(parameter(name, ParameterIn::Header, description, schema)))
    }

    pub(crate) fn required_header(self, name: &str, description: &str, schema: ObjectBuilder) -> Self {
        let header = parameter(name, ParameterIn::Header, description, schema).required(Required::True);
        self.entry(|entry| entry.parameter(header))
    }

    /// A request body of bytes that is no form.
    pub(crate) fn binary_body(self, media_type: &str, description: &str) -> Self {
        self.entry(|entry| entry.binary_body(media_type, description))
    }

    /// An error response of the handler, which its arguments do not imply.
    pub(crate) fn error(self, status: u16, description: &'static str) -> Self {
        self.entry(|entry| entry.error(status, description))
    }

    /// Query parameters that the arguments of the handler do not imply.
    pub(crate) fn parameters(self, describe: fn(&mut Entry)) -> Self {
        self.entry(describe)
    }

    pub(crate) fn documented_as(self, path: &'static str) -> Self {
        Self { documented_path: Some(path), ..self }
    }

    /// Marks a health probe.
    pub(crate) fn probe(mut self) -> Self {
        self.endpoint.is_probe = true;
        self.endpoint.has_read_barrier = false;
        self.entry(Entry::no_rate_limit)
    }

    /// Marks a file that depends on rows.
    pub(crate) fn with_read_barrier(mut self) -> Self {
        self.endpoint.has_read_barrier = true;
        self
    }

    /// Checks every request for CSRF, even without the session cookie.
    pub(crate) fn always_checked_for_csrf(mut self) -> Self {
        self.endpoint.csrf = CsrfCheck::Always;
        self.error(403, "The request comes from a page of another origin")
    }

    fn entry(mut self, change: impl FnOnce(&mut Entry)) -> Self {
        self.entry.as_mut().map(change);
        self
    }
}
