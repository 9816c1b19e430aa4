//! The service as one thing that starts, has an address, and stops.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use app::App;
use model::Clock;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::config::Config;
use crate::listener::{self, ConnectionLimits};
use crate::metrics::Metrics;
use crate::settings::app_settings;
use crate::{admin, http};

/// Why it did not start, in words that say what to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(
        "cannot listen on {address}: {cause}\n\
         {} Choose another with --{flag} or {variable}, e.g. {suggestion}.",
        reason(cause)
    )]
    Listen {
        address: SocketAddr,
        cause: io::Error,
        flag: &'static str,
        variable: &'static str,
        suggestion: SocketAddr,
    },
    #[error(transparent)]
    Open(#[from] app::OpenError),
    #[error("the start was interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

#[derive(Debug)]
pub struct Service {
    address: SocketAddr,
    admin_address: Option<SocketAddr>,
    stop: watch::Sender<bool>,
    listeners: Vec<JoinHandle<()>>,
    housekeeping: JoinHandle<()>,
    app: App,
}

impl Service {
    pub async fn start(config: &Config, clock: Clock) -> Result<Self, StartError> {
        Self::start_after(config, clock, async |_| Ok(())).await
    }

    /// `prepare` has the service to itself: whoever connects meanwhile waits until it is done.
    pub(crate) async fn start_after<E: From<StartError>>(
        config: &Config,
        clock: Clock,
        prepare: impl AsyncFnOnce(&App) -> Result<(), E>,
    ) -> Result<Self, E> {
        // Ports first: it is the cheapest thing to fail, and leaves nothing behind.
        let listener = bind(config.listen, "listen", "PINHOLE_LISTEN").await?;
        let admin_listener = match config.admin_listen {
            Some(address) => Some(bind(address, "admin-listen", "PINHOLE_ADMIN_LISTEN").await?),
            None => None,
        };
        let address = listener.local_addr().unwrap_or(config.listen);
        let admin_address = admin_listener.as_ref().and_then(|listener| listener.local_addr().ok());

        let (settings, app_clock) = (app_settings(config), clock.clone());
        let runtime = Handle::current();
        let opened =
            tokio::task::spawn_blocking(move || runtime.block_on(App::open(settings, app_clock))).await;
        let app = opened.map_err(StartError::from)?.map_err(StartError::from)?;
        prepare(&app).await?;
        let metrics = Arc::new(Metrics::new());
        let (stop, stopping) = watch::channel(false);
        let limits = ConnectionLimits::new(config);

        let (dispatcher, responses) = http::dispatcher(app.clone(), clock, config, metrics.clone());
        let serving =
            listener::serve(listener, dispatcher, limits.clone(), metrics.clone(), stopping.clone());
        let mut listeners = vec![tokio::spawn(serving)];
        if let Some(listener) = admin_listener {
            let router = admin::router(app.clone(), metrics, responses, config.admin_token.clone());
            let own = Arc::new(Metrics::new());
            listeners.push(tokio::spawn(listener::serve(listener, router, limits, own, stopping)));
        }
        let housekeeping = tokio::spawn(app.clone().keep_house());
        Ok(Self { address, admin_address, stop, listeners, housekeeping, app })
    }

    /// Where it listens; with port 0 asked for, the port it got.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin_address
    }

    /// Takes no new requests, finishes those that run, closes the database.
    pub async fn stop(self) {
        // Nobody listening any more is what we want.
        self.stop.send_replace(true);
        for listener in self.listeners {
            if let Err(error) = listener.await {
                tracing::error!(%error, "a listener had failed");
            }
        }
        self.housekeeping.abort();
        // Aborted on purpose; waiting for it lets go of its share of the service.
        drop(self.housekeeping.await);
        if let Err(error) = tokio::task::spawn_blocking(move || drop(self.app)).await {
            tracing::error!(%error, "closing down failed");
        }
    }
}

fn reason(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::AddrInUse => "Another program uses this port.",
        io::ErrorKind::PermissionDenied => "Ports below 1024 need special rights.",
        io::ErrorKind::AddrNotAvailable => "This machine does not have that address.",
        _ => "The address cannot be used.",
    }
}

async fn bind(
    address: SocketAddr,
    flag: &'static str,
    variable: &'static str,
) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).await.map_err(|cause| {
        let ip = match cause.kind() {
            io::ErrorKind::AddrNotAvailable => std::net::Ipv4Addr::LOCALHOST.into(),
            _ => address.ip(),
        };
        let port = if address.port() < 1024 { 8080 } else { address.port().checked_add(1).unwrap_or(8081) };
        let suggestion = SocketAddr::new(ip, port);
        StartError::Listen { address, cause, flag, variable, suggestion }
    })
}
