//! Connections: accepted within bounds, timed, and let go gently.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use app::{Crowd, Inside};
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::header::EXPECT;
use http::request::Parts;
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use ipnet::IpNet;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tower::Service;

use crate::config::Config;
use crate::http::address::{Ends, network};
use crate::linger::Lingering;
use crate::metrics::Metrics;
use crate::sent::{Aside, Sent};
use crate::stream::{Patience, Stream, Talk};

/// What a connection may do, and how many there may be.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    max: usize,
    max_per_address: usize,
    /// Proxies bring many people over one address.
    exempt: Vec<IpNet>,
    patience: Patience,
    shutdown_timeout: Duration,
}

impl Terms {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            max: config.max_connections as usize,
            max_per_address: config.max_connections_per_address as usize,
            exempt: config.trusted_proxies.clone(),
            patience: Patience { head: config.header_timeout, write: config.write_timeout },
            shutdown_timeout: config.shutdown_timeout,
        }
    }
}

/// Whoever answers requests.
pub(crate) trait Answer: Clone + Send + Sync + 'static {
    fn answer(self, head: Parts, body: Body, ends: Ends) -> impl Future<Output = Answered> + Send;
}

/// An answer.
pub(crate) struct Answered {
    pub(crate) response: Response,
    pub(crate) aside: Aside,
}

impl Answer for Router {
    async fn answer(mut self, mut head: Parts, body: Body, ends: Ends) -> Answered {
        head.extensions.insert(ends);
        let Ok(response) = self.call(Request::from_parts(head, body)).await;
        Answered { response, aside: Aside::default() }
    }
}

/// Serves until `stop` turns true, then lets running requests finish.
pub(crate) async fn serve(
    listener: TcpListener,
    answerer: impl Answer,
    terms: Terms,
    metrics: Arc<Metrics>,
    mut stop: watch::Receiver<bool>,
) {
    let open = Crowd::new(terms.max, terms.max_per_address);
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            // A dropped sender means the same as a stop.
            _ = stop.wait_for(|stop| *stop) => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                accept_failed(&error).await;
                continue;
            }
        };
        let address = peer.ip().to_canonical();
        let exempt = terms.exempt.iter().any(|net| net.contains(&address));
        let place = if exempt { open.enter_freely(address) } else { open.enter(network(address)) };
        let Some(place) = place else {
            metrics.refused_connections.inc();
            refuse(&stream);
            continue;
        };
        let place = Counted::new(place, &metrics);
        match connection(stream, peer, answerer.clone(), &terms) {
            Ok(connection) => {
                let connection = graceful.watch(connection);
                tokio::spawn(async move {
                    // A broken connection is its client's business.
                    if let Err(error) = connection.await {
                        tracing::debug!(%error, %peer, "a connection ended badly");
                    }
                    drop(place);
                });
            }
            Err(error) => tracing::debug!(%error, %peer, "a connection could not be set up"),
        }
    }
    drop(listener);
    if tokio::time::timeout(terms.shutdown_timeout, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not finish in time and were cut off");
    }
}

fn connection<A: Answer>(
    stream: TcpStream,
    peer: SocketAddr,
    answerer: A,
    terms: &Terms,
) -> io::Result<impl hyper_util::server::graceful::GracefulConnection<Error = hyper::Error> + use<A>> {
    stream.set_nodelay(true)?;
    let ends = Ends { peer, local: stream.local_addr()? };
    let talk = Arc::new(Talk::default());
    let stream = Stream::new(stream, terms.patience, talk.clone());
    let service = service_fn(move |request: http::Request<Incoming>| {
        let (parts, body) = request.into_parts();
        let body = match Lingering::new(body, parts.headers.contains_key(EXPECT)) {
            // Most requests have none, and an empty body costs nothing.
            Ok(lingering) if lingering.is_end_stream() => Body::empty(),
            Ok(lingering) => Body::new(lingering),
            Err(plain) => Body::new(plain),
        };
        let (talk, answerer) = (talk.clone(), answerer.clone());
        talk.begin_answer();
        async move {
            // Asked for in here: a future that is brought along would be copied to where it is awaited.
            let Answered { response, aside: Aside { whole, in_file } } =
                answerer.answer(parts, body, ends).await;
            talk.end_answer(in_file);
            Ok::<_, Infallible>(response.map(|made| whole.map_or(Sent::Made(made), Sent::Whole)))
        }
    });
    Ok(http1::Builder::new()
        // Slow heads and idle connections are the stream's business.
        .header_read_timeout(None)
        // To look for a client's leaving while it is being answered would cost each request a buffer for nothing.
        .half_close(true)
        .max_buf_size(64 * 1024)
        .serve_connection(TokioIo::new(stream), service))
}

/// Says why in passing; a client we have no room for gets no more of our time.
fn refuse(stream: &TcpStream) {
    const ANSWER: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n\
        Content-Length: 93\r\nRetry-After: 1\r\nX-Error-Code: busy\r\nConnection: close\r\n\r\n\
        {\"error\":{\"message\":\"too many connections are open; close some, or try again in a moment\"}}\r\n";
    if let Err(error) = stream.try_write(ANSWER) {
        tracing::debug!(%error, "a refused client did not wait for the answer");
    }
}

async fn accept_failed(error: &io::Error) {
    // Out of file descriptors, mostly: closing connections will free some.
    tracing::warn!(%error, "cannot accept connections right now");
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// One open connection, as the metrics see it.
struct Counted {
    metrics: Arc<Metrics>,
    _place: Inside<IpAddr>,
}

impl Counted {
    fn new(place: Inside<IpAddr>, metrics: &Arc<Metrics>) -> Self {
        metrics.connections.inc();
        Self { metrics: metrics.clone(), _place: place }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.metrics.connections.dec();
    }
}
