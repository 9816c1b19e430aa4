//! The service: starts the listeners and background tasks, and shuts them down gracefully.

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
use crate::operator::OperatorSocket;
use crate::settings::{app_settings, base_url};
use crate::{admin, http, links};

/// Why the service did not start. The first line of a message says what is wrong, the others what to do.
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
    #[error("the startup task failed: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

#[derive(Debug)]
pub struct Service {
    address: SocketAddr,
    admin_address: Option<SocketAddr>,
    stop: watch::Sender<bool>,
    listeners: Vec<JoinHandle<()>>,
    maintenance: JoinHandle<()>,
    operator_socket: Option<OperatorSocket>,
    owner_link: Option<String>,
    app: App,
}

impl Service {
    pub async fn start(config: &Config, clock: Clock) -> Result<Self, StartError> {
        Self::start_after(config, false, clock, async |_| Ok(())).await
    }

    /// `init` makes a new instance even where that looks like a mistake. `prepare` runs before the first
    /// request: connections wait in the listen backlog until it is done.
    pub(crate) async fn start_after<E: From<StartError>>(
        config: &Config,
        init: bool,
        clock: Clock,
        prepare: impl AsyncFnOnce(&App) -> Result<(), E>,
    ) -> Result<Self, E> {
        // Ports are bound first: that fails fast, and creates no files.
        let listener = bind(config.listen, "listen", "PINHOLE_LISTEN").await?;
        let admin_listener = match config.admin_listen {
            Some(address) => Some(bind(address, "admin-listen", "PINHOLE_ADMIN_LISTEN").await?),
            None => None,
        };
        let address = listener.local_addr().unwrap_or(config.listen);
        let admin_address = admin_listener.as_ref().and_then(|listener| listener.local_addr().ok());

        let settings = app::Settings { init, ..app_settings(config) };
        let app_clock = clock.clone();
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
            // Requests to the admin listener are not part of the metrics that it serves.
            let admin_metrics = Arc::new(Metrics::new());
            listeners.push(tokio::spawn(listener::serve(listener, router, limits, admin_metrics, stopping)));
        }
        let maintenance = tokio::spawn(app.clone().run_maintenance());
        let base_url = base_url(config, address);
        let owner_link = match app.owner_invitation().await {
            Ok(code) => code.map(|code| links::invitation(&base_url, &code)),
            Err(error) => {
                tracing::warn!(%error, "no link for the first owner; `pinhole user add --owner` makes one");
                None
            }
        };
        let operator_socket = match OperatorSocket::listen(app.clone(), &config.data_dir, base_url) {
            Ok(socket) => Some(socket),
            Err(error) => {
                tracing::warn!(%error, "no socket for `pinhole user` and others; stop the service to use them");
                None
            }
        };
        Ok(Self { address, admin_address, stop, listeners, maintenance, operator_socket, owner_link, app })
    }

    /// The bound address: with `listen` at port 0, the port that the kernel chose.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The link with which the first owner joins; `None` if there is an owner.
    pub fn owner_link(&self) -> Option<&str> {
        self.owner_link.as_deref()
    }

    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin_address
    }

    /// Graceful shutdown: stops accepting, drains requests in progress, closes the database.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        for listener in self.listeners {
            if let Err(error) = listener.await {
                tracing::error!(%error, "listener failed");
            }
        }
        if let Some(socket) = self.operator_socket {
            socket.close().await;
        }
        self.maintenance.abort();
        // Awaited so that its clone of the app is dropped; the error is the abort.
        drop(self.maintenance.await);
        if let Err(error) = tokio::task::spawn_blocking(move || drop(self.app)).await {
            tracing::error!(%error, "closing the database failed");
        }
    }
}

fn reason(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::AddrInUse => "Another process is listening on this port.",
        io::ErrorKind::PermissionDenied => "Ports below 1024 need root or CAP_NET_BIND_SERVICE.",
        io::ErrorKind::AddrNotAvailable => "This machine has no such address.",
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
