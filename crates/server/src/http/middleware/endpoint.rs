//! The properties of a matched route that the middleware needs.

use crate::http::middleware::csrf::CsrfCheck;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Endpoint {
    /// The value of `http_route` in metrics and logs.
    pub(crate) label: &'static str,
    /// A health probe is exempt from rate limits and served beyond the connection limits.
    pub(crate) is_probe: bool,
    pub(crate) csrf: CsrfCheck,
    /// Whether a browser gets errors as HTML pages.
    pub(crate) has_error_pages: bool,
    /// Whether the handler may read from a cache of rows, which the read barrier brings up to date first.
    pub(crate) has_read_barrier: bool,
}

impl Endpoint {
    /// For requests that match no route.
    pub(crate) const NONE: Self = Self { has_error_pages: true, ..Self::file("(none)") };

    pub(crate) const fn file(label: &'static str) -> Self {
        Self {
            label,
            is_probe: false,
            csrf: CsrfCheck::CookieWrites,
            has_error_pages: false,
            has_read_barrier: false,
        }
    }

    pub(crate) const fn api(label: &'static str) -> Self {
        Self { has_read_barrier: true, ..Self::file(label) }
    }
}
