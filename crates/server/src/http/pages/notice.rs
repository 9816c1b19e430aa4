//! Pages that say why there is no other: nothing here, something broke, no network.

use axum::extract::{Request, State};
use axum::response::Response;
use http::header::ACCEPT;
use http::{HeaderName, Method, StatusCode};

use super::super::Http;
use super::super::error::Problem;
use super::answer::{self, takes_gzip};
use super::frame::{Frame, Visit};
use super::templates::Notice;
use super::words::{Words, fill};

/// A reader who opened a page in a browser, and is told of trouble by a page.
pub(crate) struct Look {
    words: &'static Words,
    gzip: bool,
}

impl Look {
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

    /// The page for a problem, with the headers it would have had anyway.
    pub(crate) fn show(&self, http: &Http, problem: &Problem, request_id: &str) -> Response {
        let plain = problem.respond(request_id);
        let (status, words) = (plain.status(), &self.words.page);
        let (title, text) = match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                (&words.slow_down_title, &words.slow_down_text)
            }
            status if status.is_server_error() => (&words.error_title, &words.error_text),
            _ => (&words.not_found_title, &words.not_found_text),
        };
        let request_id = problem.is_failure().then(|| fill(&words.error_id, "id", request_id));
        let frame = Frame {
            words: self.words,
            assets: &http.assets,
            base: "",
            here: "",
            me: None,
            module: None,
            nav: false,
        };
        let page = answer::page(&Notice { frame: &frame, title, text, request_id }, self.gzip);
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

/// Kept by the service worker, for pages that were not.
pub(crate) async fn offline(State(http): State<Http>, visit: Visit) -> Result<Response, Problem> {
    let frame = Frame { nav: false, me: None, ..visit.frame(&http, None) };
    let words = &frame.words.page;
    let page =
        Notice { frame: &frame, title: &words.offline_title, text: &words.offline_text, request_id: None };
    frame.answer(&visit, &page)
}
