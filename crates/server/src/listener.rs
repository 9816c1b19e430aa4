//! The listener: accepts connections within limits and serves HTTP on them.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use app::{Crowd, Inside};
use axum::body::Body;
use http::header::EXPECT;
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use ipnet::IpNet;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::config::Config;
use crate::connection::{ConnectionAddrs, HandledResponse, RequestHandler, network};
use crate::linger::LingeringBody;
use crate::metrics::Metrics;
use crate::response_body::{BodyOverride, ResponseBody};
use crate::stream::{ConnectionState, Stream, Timeouts};

/// What a connection may do, and how many there may be.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionLimits {
    max: usize,
    max_per_address: usize,
    /// Trusted proxies, whose connections carry requests of many clients.
    exempt: Vec<IpNet>,
    timeouts: Timeouts,
    shutdown_timeout: Duration,
}

impl ConnectionLimits {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            max: config.max_connections as usize,
            max_per_address: config.max_connections_per_address as usize,
            exempt: config.trusted_proxies.clone(),
            timeouts: Timeouts { head: config.header_timeout, write: config.write_timeout },
            shutdown_timeout: config.shutdown_timeout,
        }
    }
}

/// Serves until `stop` turns true, then lets running requests finish.
pub(crate) async fn serve(
    listener: TcpListener,
    handler: impl RequestHandler,
    limits: ConnectionLimits,
    metrics: Arc<Metrics>,
    mut stop: watch::Receiver<bool>,
) {
    let open = Crowd::new(limits.max, limits.max_per_address);
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
        let exempt = limits.exempt.iter().any(|net| net.contains(&address));
        let place = if exempt { open.enter_freely(address) } else { open.enter(network(address)) };
        let Some(place) = place else {
            metrics.refused_connections.inc();
            refuse(&stream);
            continue;
        };
        let place = CountedConnection::new(place, &metrics);
        match connection(stream, peer, handler.clone(), &limits) {
            Ok(connection) => {
                let connection = graceful.watch(connection);
                tokio::spawn(async move {
                    // Clients may drop a connection at any time.
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
    if tokio::time::timeout(limits.shutdown_timeout, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not finish in time and were cut off");
    }
}

fn connection<H: RequestHandler>(
    stream: TcpStream,
    peer: SocketAddr,
    handler: H,
    limits: &ConnectionLimits,
) -> io::Result<impl hyper_util::server::graceful::GracefulConnection<Error = hyper::Error> + use<H>> {
    stream.set_nodelay(true)?;
    let addrs = ConnectionAddrs { peer, local: stream.local_addr()? };
    let state = Arc::new(ConnectionState::default());
    let stream = Stream::new(stream, limits.timeouts, state.clone());
    let service = service_fn(move |request: http::Request<Incoming>| {
        let (parts, body) = request.into_parts();
        let body = match LingeringBody::new(body, parts.headers.contains_key(EXPECT)) {
            // Most requests have no body, and an empty one costs nothing.
            Ok(lingering) if lingering.is_end_stream() => Body::empty(),
            Ok(lingering) => Body::new(lingering),
            Err(plain) => Body::new(plain),
        };
        let (state, handler) = (state.clone(), handler.clone());
        state.begin_response();
        async move {
            // Created in here: a future that is passed in would be copied to where it is awaited.
            let HandledResponse { response, body: BodyOverride { full, sendfile } } =
                handler.handle(parts, body, addrs).await;
            state.end_response(sendfile);
            Ok::<_, Infallible>(
                response.map(|stream| full.map_or(ResponseBody::Stream(stream), ResponseBody::Full)),
            )
        }
    });
    Ok(http1::Builder::new()
        // The stream itself times slow heads and idle connections.
        .header_read_timeout(None)
        // Detecting a disconnect during a request would cost every request a buffer.
        .half_close(true)
        .max_buf_size(64 * 1024)
        .serve_connection(TokioIo::new(stream), service))
}

/// Sends an error without waiting for the client to read it.
fn refuse(stream: &TcpStream) {
    const RESPONSE: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n\
        Content-Length: 93\r\nRetry-After: 1\r\nX-Error-Code: busy\r\nConnection: close\r\n\r\n\
        {\"error\":{\"message\":\"too many connections are open; close some, or try again in a moment\"}}\r\n";
    if let Err(error) = stream.try_write(RESPONSE) {
        tracing::debug!(%error, "a refused client did not read the response");
    }
}

async fn accept_failed(error: &io::Error) {
    // Out of file descriptors, mostly: closing connections will free some.
    tracing::warn!(%error, "cannot accept connections right now");
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// One open connection, as the metrics see it.
struct CountedConnection {
    metrics: Arc<Metrics>,
    _place: Inside<IpAddr>,
}

impl CountedConnection {
    fn new(place: Inside<IpAddr>, metrics: &Arc<Metrics>) -> Self {
        metrics.connections.inc();
        Self { metrics: metrics.clone(), _place: place }
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.metrics.connections.dec();
    }
}
