//! HTML error pages, and the page for a missing network.

use axum::extract::{Request, State};
use axum::response::Response;
use http::header::ACCEPT;
use http::{HeaderName, Method, StatusCode};

use super::layout::{Layout, PageRequest};
use super::locale::{Words, fill};
use super::response;
use super::response::takes_gzip;
use super::templates::Notice;
use crate::http::error::ApiError;
use crate::http::state::Http;

/// How a browser that opened a page gets its error.
pub(crate) struct ErrorPage {
    words: &'static Words,
    gzip: bool,
}

impl ErrorPage {
    /// `None` for programs: they get what the contract says.
    pub(crate) fn of(request: &Request) -> Option<Self> {
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        let accepted = request.headers().get_all(ACCEPT).iter();
        let by_browser =
            accepted.filter_map(|value| value.to_str().ok()).any(|value| value.contains("text/html"));
        (reads && by_browser).then(|| Self {
            words: Words::for_reader(request.headers()),
            gzip: takes_gzip(request.headers()),
        })
    }

    /// The page for a error, with the headers it would have had anyway.
    pub(crate) fn render(&self, http: &Http, error: &ApiError, request_id: &str) -> Response {
        let plain = error.respond(request_id);
        let (status, words) = (plain.status(), &self.words.page);
        let (title, text) = match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                (&words.slow_down_title, &words.slow_down_text)
            }
            status if status.is_server_error() => (&words.error_title, &words.error_text),
            _ => (&words.not_found_title, &words.not_found_text),
        };
        let request_id = error.is_failure().then(|| fill(&words.error_id, "id", request_id));
        let layout = Layout {
            words: self.words,
            assets: &http.assets,
            base: "",
            here: "",
            me: None,
            module: None,
            nav: false,
        };
        let page = response::page(&Notice { layout: &layout, title, text, request_id }, self.gzip);
        let Ok(mut page) = page else { return plain };
        *page.status_mut() = status;
        let told =
            ["retry-after", "x-error-code", "ratelimit", "ratelimit-policy"].map(HeaderName::from_static);
        for name in told {
            let value = plain.headers().get(&name).cloned();
            page.headers_mut().extend(value.map(|value| (name, value)));
        }
        page
    }
}

/// Stored by the service worker and shown instead of pages that are not.
pub(crate) async fn offline(State(http): State<Http>, request: PageRequest) -> Result<Response, ApiError> {
    let layout = Layout { nav: false, me: None, ..request.layout(&http, None) };
    let words = &layout.words.page;
    let page =
        Notice { layout: &layout, title: &words.offline_title, text: &words.offline_text, request_id: None };
    layout.respond(&request, &page)
}
