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
}

impl Endpoint {
    /// For requests that match no route.
    pub(crate) const NONE: Self = Self { has_error_pages: true, ..Self::api("(none)") };

    pub(crate) const fn api(label: &'static str) -> Self {
        Self { label, is_probe: false, csrf: CsrfCheck::CookieWrites, has_error_pages: false }
    }
}
