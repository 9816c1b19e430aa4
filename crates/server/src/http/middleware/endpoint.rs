//! What the middleware knows of the route that a request matched.

#[derive(Debug, Clone, Copy)]
pub(crate) struct Endpoint {
    /// The value of `http_route` in metrics and logs.
    pub(crate) label: &'static str,
    pub(crate) is_rate_limited: bool,
    /// Whether a browser gets errors as a page.
    pub(crate) has_error_pages: bool,
}

impl Endpoint {
    /// No route matched.
    pub(crate) const NONE: Self = Self { label: "(none)", is_rate_limited: true, has_error_pages: true };

    pub(crate) const fn api(label: &'static str) -> Self {
        Self { label, is_rate_limited: true, has_error_pages: false }
    }
}
