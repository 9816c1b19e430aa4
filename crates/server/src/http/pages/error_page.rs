//! HTML error pages, and the page that the service worker shows without a network.

use axum::extract::State;
use axum::response::Response;
use http::header::ACCEPT;
use http::request::Parts;
use http::{HeaderName, Method, StatusCode};

use super::layout::{Layout, PageRequest};
use super::locale::{Locale, interpolate};
use super::preferences::Preferences;
use super::response::{Coding, html, render};
use super::templates::{ErrorTemplate, UnreachableTemplate};
use crate::http::error::ApiError;
use crate::http::state::Http;

/// What an HTML error page needs from the request.
pub(crate) struct ErrorPage {
    preferences: Preferences,
    locale: &'static Locale,
    accepted: Coding,
}

impl ErrorPage {
    /// `None` unless the request is a GET or HEAD that accepts `text/html`: API clients get the JSON error.
    pub(crate) fn of(Parts { method, headers, .. }: &Parts) -> Option<Self> {
        let is_read = matches!(*method, Method::GET | Method::HEAD);
        let accept = headers.get_all(ACCEPT).iter();
        let accepts_html =
            accept.filter_map(|value| value.to_str().ok()).any(|value| value.contains("text/html"));
        (is_read && accepts_html).then(|| {
            let preferences = Preferences::of(headers);
            Self { locale: preferences.locale(headers), preferences, accepted: Coding::accepted(headers) }
        })
    }

    /// Renders the error as HTML, with the status and the error headers of its JSON response.
    pub(crate) async fn render(&self, http: &Http, error: &ApiError, request_id: &str) -> Response {
        let json = error.respond(request_id);
        let (status, messages) = (json.status(), &self.locale.page);
        let (title, text): (&str, &str) = match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                (&messages.slow_down_title, &messages.slow_down_text)
            }
            status if status.is_server_error() => (&messages.error_title, &messages.error_text),
            StatusCode::FORBIDDEN => (&messages.forbidden_title, self.locale.error(error.word())),
            _ => (&messages.not_found_title, &messages.not_found_text),
        };
        let request_id = error.is_failure().then(|| interpolate(&messages.error_id, "id", request_id));
        // The page is shown although the database may be unavailable.
        let known = || http.app.last_instance().unwrap_or_default();
        let instance = if status.is_server_error() {
            known()
        } else {
            http.app.instance().await.unwrap_or_else(|error| {
                tracing::warn!(%error, "error page with the last known name of the instance");
                known()
            })
        };
        let layout = Layout::bare(http, self.locale, self.preferences.theme, &instance);
        let template = ErrorTemplate { layout: &layout, title, text, request_id };
        let page = render(&template).and_then(|page| self.accepted.apply(page.into()));
        let Ok((coding, page)) = page else { return json };
        let mut page = html(coding, page);
        *page.status_mut() = status;
        let copied = ["retry-after", "x-error-code", "x-error-reason", "ratelimit", "ratelimit-policy"]
            .map(HeaderName::from_static);
        for name in copied {
            let value = json.headers().get(&name).cloned();
            page.headers_mut().extend(value.map(|value| (name, value)));
        }
        page
    }
}

/// The page that the service worker caches, and shows for pages that it can neither load nor has in its
/// cache.
pub(crate) async fn offline(State(http): State<Http>, request: PageRequest) -> Result<Response, ApiError> {
    let layout = Layout { nav: false, me: None, ..request.layout(&http, None) };
    layout.respond(&request, &UnreachableTemplate { layout: &layout })
}
