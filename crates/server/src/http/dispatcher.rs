//! The dispatcher: finds the row of the route table that a request matches, and runs its handler within the
//! middleware.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use http::header::{ALLOW, CONTENT_LENGTH};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};
use http_body::Body as _;
use prometheus_client::metrics::histogram::Histogram;

use crate::connection::{Connection, RequestHandler};
use crate::http::middleware::endpoint::Endpoint;
use crate::http::middleware::request_context::RequestContext;
use crate::http::pages::error_page::ErrorPage;
use crate::http::routes::route::{BoxedHandler, Route};
use crate::http::state::Http;

pub(crate) struct Dispatcher {
    http: Http,
    paths: matchit::Router<Vec<Row>>,
    unmatched: Row,
}

/// What handles the requests of one path with one method.
struct Row {
    /// `None` handles what no other row of the path does.
    method: Option<Method>,
    endpoint: Endpoint,
    handler: BoxedHandler,
    /// The histogram of successful reads, looked up once instead of for each request.
    read_latency: Option<Histogram>,
}

impl Dispatcher {
    pub(crate) fn new(routes: Vec<Route>, http: Http) -> Self {
        let mut paths: Vec<(&'static str, Vec<Row>)> = Vec::new();
        for Route { method, path, endpoint, handler, .. } in routes {
            let read_latency = (method == Method::GET).then(|| http.metrics.successful_gets(endpoint.label));
            let row = Row { method: Some(method), endpoint, handler, read_latency };
            match paths.iter_mut().find(|(other, _)| *other == path) {
                Some((_, rows)) => rows.push(row),
                None => paths.push((path, vec![row])),
            }
        }
        let mut router = matchit::Router::new();
        for (path, mut rows) in paths {
            rows.push(Row::of_other_methods(&rows));
            router.insert(path, rows).expect("the paths of the route table do not conflict");
        }
        Self { http, paths: router, unmatched: Row::unmatched() }
    }

    fn find(&self, method: &Method, path: &str) -> &Row {
        let Ok(matched) = self.paths.at(path) else { return &self.unmatched };
        // A HEAD is handled as a GET whose body is not sent.
        let method = if *method == Method::HEAD { &Method::GET } else { method };
        let handles = |row: &&Row| row.method.as_ref().is_none_or(|handled| handled == method);
        matched.value.iter().find(handles).unwrap_or(&self.unmatched)
    }
}

impl Row {
    fn unmatched() -> Self {
        let handler: BoxedHandler = Box::new(|_, _| async { StatusCode::NOT_FOUND.into_response() }.boxed());
        Self { method: None, endpoint: Endpoint::NONE, handler, read_latency: None }
    }

    fn of_other_methods(rows: &[Self]) -> Self {
        let mut allowed: Vec<&str> =
            rows.iter().filter_map(|row| Some(row.method.as_ref()?.as_str())).collect();
        if allowed.contains(&"GET") {
            allowed.push("HEAD");
        }
        let allowed = HeaderValue::try_from(allowed.join(",")).expect("methods are tokens");
        let endpoint = rows.first().map_or(Endpoint::NONE, |row| row.endpoint);
        let handler: BoxedHandler = Box::new(move |_, _| {
            let headers = [(ALLOW, allowed.clone())];
            async { (StatusCode::METHOD_NOT_ALLOWED, headers).into_response() }.boxed()
        });
        Self {
            method: None,
            endpoint: Endpoint { has_read_barrier: false, ..endpoint },
            handler,
            read_latency: None,
        }
    }
}

impl RequestHandler for Arc<Dispatcher> {
    async fn handle(self, parts: Parts, body: Body, connection: Arc<Connection>) -> Response {
        let Row { endpoint, handler, read_latency, .. } = self.find(&parts.method, parts.uri.path());
        let error_page = endpoint.has_error_pages.then(|| ErrorPage::of(&parts)).flatten();
        let http = self.http.of_request(connection, endpoint.label, &parts.headers);
        let context = RequestContext::new(&http, &parts, *endpoint, error_page);
        let admitted = context.admit(&http, &parts);
        let is_head = parts.method == Method::HEAD;
        let response = admitted.map(|()| {
            let response = handler(Request::from_parts(parts, body), http.clone());
            async move {
                let response = response.await;
                if is_head { without_body(response) } else { response }
            }
        });
        context.finish(&http, read_latency.as_ref(), response).await
    }
}

/// The response to a HEAD: the headers of the GET, with the length of its body.
fn without_body(mut response: Response) -> Response {
    if let Some(length) = response.body().size_hint().exact() {
        response.headers_mut().entry(CONTENT_LENGTH).or_insert_with(|| length.into());
    }
    response.map(|_| Body::empty())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use bytes::Bytes;
    use model::Clock;
    use tokio::net::TcpListener;
    use tokio::sync::watch;

    use super::*;
    use crate::config::{Config, Flags};
    use crate::http::routes::route::file;
    use crate::listener::{ConnectionLimits, serve};
    use crate::metrics::Metrics;
    use crate::settings::app_settings;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_panic_in_a_handler_is_a_500_and_the_server_keeps_running() {
        let folder = tempfile::tempdir().unwrap();
        let mut flags = Flags::default();
        flags.values.insert("data_dir".into(), folder.path().to_str().unwrap().into());
        let config = Config::load(&flags, [], |_| Err(std::io::ErrorKind::NotFound.into())).unwrap().config;
        let (clock, metrics) = (Clock::system(), Arc::new(Metrics::new()));
        let app = app::App::open(app_settings(&config), clock.clone()).await.unwrap();
        let http = Http::new(app, clock, &config, metrics.clone(), Bytes::new());
        let panic = || async {
            if true {
                panic!("a secret cause")
            }
        };
        let routes = vec![file(Method::GET, "/panic", panic), file(Method::GET, "/ok", || async { "ok" })];
        let dispatcher = Arc::new(Dispatcher::new(routes, http));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (_stop, stopping) = watch::channel(false);
        tokio::spawn(serve(listener, dispatcher, ConnectionLimits::new(&config), metrics, stopping));

        let get = move |path: &'static str| {
            let mut stream = TcpStream::connect(address).unwrap();
            write!(
                stream,
                "GET {path} HTTP/1.1\r\nHost: x\r\nX-Request-Id: abc-1\r\nConnection: close\r\n\r\n"
            )
            .unwrap();
            let mut response = String::new();
            stream.read_to_string(&mut response).unwrap();
            response
        };
        let (failed, ok) = tokio::task::spawn_blocking(move || (get("/panic"), get("/ok"))).await.unwrap();
        assert!(failed.starts_with("HTTP/1.1 500 "), "{failed}");
        assert!(
            failed.contains("x-error-code: internal") && failed.contains("x-request-id: abc-1"),
            "{failed}"
        );
        assert!(failed.ends_with(r#"(request abc-1)"}}"#), "the message has the request id: {failed}");
        assert!(!failed.contains("secret"), "the cause is not sent: {failed}");
        assert!(ok.starts_with("HTTP/1.1 200 ") && ok.ends_with("ok"), "{ok}");
    }
}
