//! The axum router, built from the route table.

use axum::Router;

use crate::http::middleware::endpoint::Endpoint;
use crate::http::middleware::request_context::middleware;
use crate::http::routes::route::Route;
use crate::http::state::Http;

/// A router of these routes, with the middleware around each of them and around the 404 of unmatched
/// requests.
pub(crate) fn router(routes: impl IntoIterator<Item = Route>, http: &Http) -> Router {
    let unmatched = Router::new().layer(middleware(http, Endpoint::NONE));
    let router = routes.into_iter().fold(unmatched, |router, route| {
        router.route(route.path, route.handler.layer(middleware(http, route.endpoint)))
    });
    router.with_state(http.clone())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::sync::Arc;

    use bytes::Bytes;
    use http::Method;
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
        let routes = [file(Method::GET, "/panic", panic), file(Method::GET, "/ok", || async { "ok" })];
        let router = router(routes, &http);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (_stop, stopping) = watch::channel(false);
        tokio::spawn(serve(listener, router, ConnectionLimits::new(&config), metrics, stopping));

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
