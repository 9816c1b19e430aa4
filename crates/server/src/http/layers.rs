//! What happens around every handler: a request id, limits, a panic caught, one look for all errors,
//! a measurement and a line in the log.

use std::any::Any;
use std::convert::Infallible;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Instant;

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::Route;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::header::{ALLOW, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use prometheus_client::metrics::histogram::Histogram;
use tower::layer::layer_fn;
use tower::{Layer, Service};
use tracing::Instrument;

use super::address::Head;
use super::error::Problem;
use super::pages::Look;
use super::route::Endpoint;
use super::{Http, auth};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The layer around the handlers of an endpoint.
pub(super) fn middleware(
    http: &Http,
    endpoint: Endpoint,
) -> impl Layer<Route, Service = Attended> + Clone + Send + Sync + 'static {
    let http = http.clone();
    layer_fn(move |inner| Attended { http: http.clone(), endpoint, inner })
}

/// A route with everything around it. One layer for all of it, and not a function that axum makes one of: each more
/// would cost every request a few allocations.
#[derive(Clone)]
pub(super) struct Attended {
    http: Http,
    endpoint: Endpoint,
    inner: Route,
}

impl Service<Request> for Attended {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::<Request>::poll_ready(&mut self.inner, cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let look = self.endpoint.has_error_pages.then(|| Look::of(&request)).flatten();
        let attention = Attention::to(&self.http, (&request).into(), self.endpoint, look);
        let answer = match attention.guard(&self.http, (&request).into()) {
            Ok(()) => Ok(self.inner.call(request).map(|Ok(response)| response)),
            Err(problem) => Err(problem),
        };
        let http = self.http.clone();
        Box::pin(async move { Ok(attention.pay(&http, None, answer).await) })
    }
}

/// What is known of a request before it is answered.
pub(super) struct Attention {
    started: Instant,
    id: RequestId,
    method: Method,
    client: IpAddr,
    endpoint: Endpoint,
    look: Option<Look>,
}

impl Attention {
    pub(super) fn to(http: &Http, head: Head<'_>, endpoint: Endpoint, look: Option<Look>) -> Self {
        Self {
            started: Instant::now(),
            id: RequestId::of(head.headers, &http.request_ids),
            method: head.method.clone(),
            client: http.client_address(head.ends, head.headers),
            endpoint,
            look,
        }
    }

    /// Turns away floods and writes that other sites started.
    pub(super) fn guard(&self, http: &Http, head: Head<'_>) -> Result<(), Problem> {
        let Head { method, headers, .. } = head;
        if self.endpoint.is_rate_limited {
            http.limits.request(self.client, &http.clock)?;
        }
        if http.addresses.is_foreign_write(method, headers, http.cookie.name)
            && auth::bearer(headers).is_none()
        {
            return Err(Problem::cross_site());
        }
        Ok(())
    }

    /// Names the request, measures it, and gives every error the same look. A read that goes well is `counted` there, if
    /// it is known where.
    pub(super) async fn pay(
        self,
        http: &Http,
        counted: Option<&Histogram>,
        answer: Result<impl Future<Output = Response>, Problem>,
    ) -> Response {
        let Self { started, id, method, client, endpoint, look } = self;
        let span = tracing::info_span!("request", id = id.as_str());
        let response = match answer {
            Ok(answer) => {
                let answered = AssertUnwindSafe(answer).catch_unwind().instrument(span.clone());
                match answered.await {
                    Ok(response) => response,
                    Err(panic) => panicked(&*panic),
                }
            }
            Err(problem) => problem.into_response(),
        };
        let mut response = http.answers.hold(response).await;
        let problem = response.extensions_mut().remove::<Problem>();
        let problem = problem.or_else(|| is_error(&response).then(|| Problem::of_status(response.status())));
        if let Some(problem) = &problem {
            let allow = response.headers_mut().remove(ALLOW);
            // People who open a page are told by a page.
            let id = id.as_str();
            response = look.map_or_else(|| problem.respond(id), |look| look.show(http, problem, id));
            response.headers_mut().extend(allow.map(|methods| (ALLOW, methods)));
        }
        let headers = response.headers_mut();
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(REQUEST_ID, id.0);

        let (status, took) = (response.status(), started.elapsed());
        match counted {
            Some(reads) if status == StatusCode::OK => reads.observe(took.as_secs_f64()),
            _ => http.metrics.request(&method, endpoint.label, status, took),
        }
        let _in_span = span.enter();
        let route = endpoint.label;
        let (status, took_ms) = (status.as_u16(), (took.as_secs_f64() * 100_000.0).round() / 100.0);
        // Reads that go well are the bulk and say little; whoever wants them asks for debug.
        match problem.as_ref().map(|problem| (problem.is_failure(), problem.code())) {
            Some((true, code)) => tracing::error!(%method, route, status, code, %client, took_ms, "answered"),
            Some((false, code)) => tracing::info!(%method, route, status, code, %client, took_ms, "answered"),
            None if method.is_safe() => tracing::debug!(%method, route, status, %client, took_ms, "answered"),
            None => tracing::info!(%method, route, status, %client, took_ms, "answered"),
        }
        response
    }
}

fn is_error(response: &Response) -> bool {
    response.status().is_client_error() || response.status().is_server_error()
}

/// The name of a request: text that can go into a header, and does.
struct RequestId(HeaderValue);

impl RequestId {
    /// The client's own when it is well formed, else a new one.
    fn of(headers: &HeaderMap, ids: &RequestIds) -> Self {
        let fine = |id: &&HeaderValue| {
            let allowed = |b: &u8| b.is_ascii_alphanumeric() || b"-_.".contains(b);
            (1..=64).contains(&id.len()) && id.as_bytes().iter().all(allowed)
        };
        Self(headers.get(REQUEST_ID).filter(fine).cloned().unwrap_or_else(|| ids.next()))
    }

    fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }
}

/// Names that no other process makes, and none of ours twice.
pub(super) struct RequestIds(AtomicU64);

impl RequestIds {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(getrandom::u64().unwrap_or_default()))
    }

    fn next(&self) -> HeaderValue {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        // An odd step visits every number once, and neighbours do not look alike.
        let mut number = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        let digits: [u8; 16] = std::array::from_fn(|_| {
            number = number.rotate_left(4);
            HEX[(number & 15) as usize]
        });
        HeaderValue::from_bytes(&digits).unwrap_or(HeaderValue::from_static("none"))
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Response {
    let text =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(panic = text.unwrap_or("(no message)"), "a handler panicked");
    (StatusCode::INTERNAL_SERVER_ERROR, Problem::internal()).into_response()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::sync::Arc;

    use model::Clock;
    use tokio::net::TcpListener;
    use tokio::sync::watch;

    use super::super::route::{file, router};
    use super::*;
    use crate::config::{Config, Flags};
    use crate::listener::{Terms, serve};
    use crate::metrics::Metrics;
    use crate::service::settings;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_panic_is_an_error_like_any_other_and_the_server_lives() {
        let folder = tempfile::tempdir().unwrap();
        let mut flags = Flags::default();
        flags.values.insert("data_dir".into(), folder.path().to_str().unwrap().into());
        let config = Config::load(&flags, [], |_| Err(std::io::ErrorKind::NotFound.into())).unwrap().config;
        let (clock, metrics) = (Clock::system(), Arc::new(Metrics::new()));
        let app = app::App::open(settings(&config), clock.clone()).await.unwrap();
        let http = Http::new(app, clock, &config, metrics.clone());
        let panic = || async {
            if true {
                panic!("a secret cause")
            }
        };
        let routes = [file(Method::GET, "/panic", panic), file(Method::GET, "/fine", || async { "fine" })];
        let router = router(routes, &http);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (_stop, stopping) = watch::channel(false);
        tokio::spawn(serve(listener, router, Terms::new(&config), metrics, stopping));

        let ask = move |path: &'static str| {
            let mut stream = TcpStream::connect(address).unwrap();
            write!(
                stream,
                "GET {path} HTTP/1.1\r\nHost: x\r\nX-Request-Id: abc-1\r\nConnection: close\r\n\r\n"
            )
            .unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        };
        let (broken, fine) =
            tokio::task::spawn_blocking(move || (ask("/panic"), ask("/fine"))).await.unwrap();
        assert!(broken.starts_with("HTTP/1.1 500 "), "{broken}");
        assert!(
            broken.contains("x-error-code: internal") && broken.contains("x-request-id: abc-1"),
            "{broken}"
        );
        assert!(broken.ends_with(r#"tell the operator the request id abc-1"}}"#), "{broken}");
        assert!(!broken.contains("secret"), "{broken}");
        assert!(fine.starts_with("HTTP/1.1 200 ") && fine.ends_with("fine"), "{fine}");
    }
}
