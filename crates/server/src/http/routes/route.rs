//! A row of the route table, and how it is written.

use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter, on};
use http::Method;
use utoipa::ToSchema;
use utoipa::openapi::path::ParameterIn;

use crate::http::middleware::endpoint::Endpoint;
use crate::http::openapi::{Arguments, Entry, parameter, string};
use crate::http::routes::fast_route::ParseFast;
use crate::http::state::Http;

/// A row of the route table.
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    /// The path in the OpenAPI document, where the router cannot express it.
    pub(crate) documented_path: Option<&'static str>,
    /// `None` where the route is no operation of the API.
    pub(crate) entry: Option<Entry>,
    pub(crate) endpoint: Endpoint,
    /// Set where the fast path handles the route, too.
    pub(crate) fast: Option<ParseFast>,
    pub(crate) handler: MethodRouter<Http>,
}

/// An operation of the API. Its errors and parameters follow from the arguments of its handler.
pub(crate) fn api<A, H>(method: Method, path: &'static str, handler: H) -> Route
where
    A: Arguments + 'static,
    H: Handler<A, Http>,
{
    Route { entry: Some(Entry::of::<A>(&method)), ..file(method, path, handler) }
}

/// A page of the web client.
pub(crate) fn page<A: 'static>(method: Method, path: &'static str, handler: impl Handler<A, Http>) -> Route {
    let endpoint = Endpoint { has_error_pages: true, ..Endpoint::api(path) };
    Route { endpoint, ..file(method, path, handler) }
}

/// Anything else.
pub(crate) fn file<A: 'static>(method: Method, path: &'static str, handler: impl Handler<A, Http>) -> Route {
    let filter = MethodFilter::try_from(method.clone()).expect("a route has a method that axum knows");
    Route {
        method,
        path,
        documented_path: None,
        entry: None,
        endpoint: Endpoint::api(path),
        fast: None,
        handler: on(filter, handler),
    }
}

impl Route {
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

    /// A header of the responses above it.
    pub(crate) fn header(self, name: &str, description: &str) -> Self {
        self.entry(|entry| entry.header(name, description))
    }

    pub(crate) fn request_header(self, name: &str, description: &str) -> Self {
        self.entry(|entry| entry.parameter(parameter(name, ParameterIn::Header, description, string())))
    }

    /// An error that the handler itself raises.
    pub(crate) fn error(self, status: u16, description: &'static str) -> Self {
        self.entry(|entry| entry.error(status, description))
    }

    pub(crate) fn documented_as(self, path: &'static str) -> Self {
        Self { documented_path: Some(path), ..self }
    }

    /// Handled on the fast path, too.
    pub(crate) fn fast(self, parse: ParseFast) -> Self {
        Self { fast: Some(parse), ..self }
    }

    pub(crate) fn without_rate_limit(mut self) -> Self {
        self.endpoint.is_rate_limited = false;
        self.entry(Entry::no_rate_limit)
    }

    fn entry(mut self, change: impl FnOnce(&mut Entry)) -> Self {
        self.entry.as_mut().map(change);
        self
    }
}
