//! The listener: accepts TCP connections up to the connection limits and serves HTTP/1.1 on them.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use app::{Client, FairPermit, FairSemaphore, PermitLimits, Revocation};
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
use crate::connection::{Connection, RequestHandler};
use crate::linger::LingeringBody;
use crate::metrics::Metrics;
use crate::stream::{ConnectionState, Stream, Timeouts};

/// The largest head of a request, and so the largest buffer of a connection, in bytes.
const MAX_HEAD: usize = 32 << 10;

/// Connection limits and timeouts of a listener.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionLimits {
    max: usize,
    max_per_address: usize,
    /// Trusted proxies. The limit per address does not apply to them: they carry requests of many clients.
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

/// Serves until `stop` is true, then shuts down gracefully: requests in progress get `shutdown_timeout` to
/// finish.
pub(crate) async fn serve(
    listener: TcpListener,
    handler: impl RequestHandler,
    limits: ConnectionLimits,
    metrics: Arc<Metrics>,
    mut stop: watch::Receiver<bool>,
) {
    let admission = Admission::new(&limits);
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            // An error means that the sender was dropped, which is a stop too.
            _ = stop.wait_for(|stop| *stop) => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                accept_failed(&error).await;
                continue;
            }
        };
        let Some(admitted) = admission.admit(peer) else {
            metrics.refused_connections.inc();
            refuse(&stream);
            continue;
        };
        if admitted.is_reserve {
            metrics.refused_connections.inc();
        }
        let counted = CountedConnection::new(&metrics);
        match connection(stream, peer, handler.clone(), limits.timeouts, &admitted) {
            Ok(connection) => {
                let connection = graceful.watch(connection);
                tokio::spawn(async move {
                    tokio::select! {
                        // At level debug: clients may drop a connection at any time.
                        ended = connection => if let Err(error) = ended {
                            tracing::debug!(%error, %peer, "connection failed");
                        },
                        () = admitted.permit.holder().revoked() => {
                            tracing::debug!(%peer, "connection closed in favour of another");
                        }
                    }
                    drop(counted);
                });
            }
            Err(error) => tracing::debug!(%error, %peer, "connection setup failed"),
        }
    }
    drop(listener);
    if tokio::time::timeout(limits.shutdown_timeout, graceful.shutdown()).await.is_err() {
        tracing::warn!("graceful shutdown timed out; connections closed");
    }
}

/// Admits connections up to the limits. Beyond them, an idle connection is closed in favour of a new one, or
/// else the one without progress for the longest time of the network that holds most. If that is the
/// newcomer's own, a small reserve accepts connections for health probes, which an overload must not fail.
struct Admission {
    connections: Arc<FairSemaphore>,
    reserve: Arc<FairSemaphore>,
    exempt: Vec<IpNet>,
}

struct AdmittedConnection {
    permit: FairPermit,
    is_reserve: bool,
}

const RESERVE: PermitLimits =
    PermitLimits { max: 64, max_per_network: 8, max_per_user: 8, revocation: Revocation::IdleFirst };

/// Of a connection of the reserve: a probe sends its request at once.
const RESERVE_HEAD_TIMEOUT: Duration = Duration::from_secs(2);

impl Admission {
    fn new(limits: &ConnectionLimits) -> Self {
        let connections = FairSemaphore::new(PermitLimits {
            max: limits.max,
            max_per_network: limits.max_per_address,
            max_per_user: limits.max_per_address,
            revocation: Revocation::IdleFirst,
        });
        Self { connections, reserve: FairSemaphore::new(RESERVE), exempt: limits.exempt.clone() }
    }

    fn admit(&self, peer: SocketAddr) -> Option<AdmittedConnection> {
        let address = peer.ip().to_canonical();
        let client = Client::anonymous(address);
        let permit = if self.exempt.iter().any(|net| net.contains(&address)) {
            self.connections.try_acquire_exempt(client)
        } else {
            self.connections.try_acquire(client)
        };
        match permit {
            Some(permit) => Some(AdmittedConnection { permit, is_reserve: false }),
            None => {
                let permit = self.reserve.try_acquire(client)?;
                Some(AdmittedConnection { permit, is_reserve: true })
            }
        }
    }
}

fn connection<H: RequestHandler>(
    stream: TcpStream,
    peer: SocketAddr,
    handler: H,
    mut timeouts: Timeouts,
    admitted: &AdmittedConnection,
) -> io::Result<impl hyper_util::server::graceful::GracefulConnection<Error = hyper::Error> + use<H>> {
    stream.set_nodelay(true)?;
    let is_reserve = admitted.is_reserve;
    if is_reserve {
        timeouts.head = timeouts.head.min(RESERVE_HEAD_TIMEOUT);
    }
    let holder = admitted.permit.holder().clone();
    let state = Arc::new(ConnectionState::new(holder.clone()));
    let connection = Arc::new(Connection { peer, local: stream.local_addr()?, is_reserve, holder });
    let stream = Stream::new(stream, timeouts, state.clone());
    let service = service_fn(move |request: http::Request<Incoming>| {
        let (parts, body) = request.into_parts();
        let body = match LingeringBody::new(body, parts.headers.contains_key(EXPECT)) {
            // Most requests have no body, and `Body::empty` does not allocate.
            Ok(lingering) if lingering.is_end_stream() => Body::empty(),
            Ok(lingering) => Body::new(lingering),
            Err(plain) => Body::new(plain),
        };
        let (state, handler, connection) = (state.clone(), handler.clone(), connection.clone());
        state.begin_response();
        async move {
            // Called in here, because a future that is moved into the block would be copied.
            let response = handler.handle(parts, body, connection).await;
            state.end_response();
            Ok::<_, Infallible>(response)
        }
    });
    Ok(http1::Builder::new()
        // `Stream` has the timeouts for slow request heads and idle keep-alive connections.
        .header_read_timeout(None)
        // Without this, hyper reads ahead to detect a disconnect, which allocates a buffer for every request.
        .half_close(true)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service))
}

/// Sends a 503 without waiting for the client to read it.
fn refuse(stream: &TcpStream) {
    const RESPONSE: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n\
        Content-Length: 93\r\nRetry-After: 1\r\nX-Error-Code: busy\r\nConnection: close\r\n\r\n\
        {\"error\":{\"message\":\"too many connections are open; close some, or try again in a moment\"}}\r\n";
    if let Err(error) = stream.try_write(RESPONSE) {
        tracing::debug!(%error, "503 not sent to refused connection");
    }
}

async fn accept_failed(error: &io::Error) {
    // Usually EMFILE: closing connections frees file descriptors.
    tracing::warn!(%error, "accept failed; retrying");
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// Counts an open connection in the metrics.
struct CountedConnection(Arc<Metrics>);

impl CountedConnection {
    fn new(metrics: &Arc<Metrics>) -> Self {
        metrics.connections.inc();
        Self(metrics.clone())
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.0.connections.dec();
    }
}
