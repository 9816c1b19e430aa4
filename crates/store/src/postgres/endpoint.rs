//! Where a PostgreSQL server listens, and sockets to it.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio_postgres::Config;
use tokio_postgres::config::Host;

const DEFAULT_PORT: u16 = 5432;

/// A connection to a server that no longer responds is closed after about this time.
const KEEPALIVE: Duration = Duration::from_secs(8);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Endpoint {
    /// `ip` is `hostaddr`, which replaces the lookup of the name.
    Tcp { host: String, ip: Option<IpAddr>, port: u16 },
    /// A socket in a folder.
    Unix { folder: PathBuf, port: u16 },
}

impl Endpoint {
    /// All servers of a configuration; `host`, `hostaddr` and `port` are lists.
    pub(super) fn all_of(config: &Config) -> Result<Vec<Self>, String> {
        let (hosts, ips, ports) = (config.get_hosts(), config.get_hostaddrs(), config.get_ports());
        let count = hosts.len().max(ips.len());
        let fits = |length| length == 0 || length == count;
        if !fits(hosts.len()) || !fits(ips.len()) || !(ports.len() <= 1 || fits(ports.len())) {
            return Err("expected as many of host, hostaddr and port, if there are several".into());
        }
        let endpoint = |at: usize| {
            let port = ports.get(at).or(ports.first()).copied().unwrap_or(DEFAULT_PORT);
            let ip = ips.get(at).copied();
            match hosts.get(at) {
                Some(Host::Unix(folder)) if ip.is_none() => Self::Unix { folder: folder.clone(), port },
                Some(Host::Tcp(host)) => Self::Tcp { host: host.clone(), ip, port },
                _ => Self::Tcp { host: ip.map_or_else(String::new, |ip| ip.to_string()), ip, port },
            }
        };
        Ok((0..count).map(endpoint).collect())
    }

    /// Whether connections stay on this machine.
    pub(super) fn is_local(&self) -> bool {
        let is_loopback = |ip: IpAddr| ip.to_canonical().is_loopback();
        match self {
            Self::Unix { .. } => true,
            Self::Tcp { ip: Some(ip), .. } => is_loopback(*ip),
            Self::Tcp { host, .. } => {
                host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(is_loopback)
            }
        }
    }

    /// The name that the server's certificate must have.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Tcp { host, .. } => host,
            Self::Unix { .. } => "",
        }
    }

    pub(super) async fn resolve(&self) -> io::Result<Vec<Address>> {
        match self {
            Self::Unix { folder, port } => Ok(vec![Address::Unix(folder.join(format!(".s.PGSQL.{port}")))]),
            Self::Tcp { ip: Some(ip), port, .. } => Ok(vec![Address::Tcp((*ip, *port).into())]),
            Self::Tcp { host, port, .. } => {
                Ok(lookup_host((host.as_str(), *port)).await?.map(Address::Tcp).collect())
            }
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port, .. } => write!(f, "{host}:{port}"),
            Self::Unix { folder, port: DEFAULT_PORT } => write!(f, "{}", folder.display()),
            Self::Unix { folder, port } => write!(f, "{}:{port}", folder.display()),
        }
    }
}

#[derive(Debug)]
pub(super) enum Address {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// A byte stream to a server: TCP, a Unix socket, or TLS over TCP.
pub(super) trait Transport: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Transport for S {}

impl Address {
    pub(super) async fn connect(&self) -> io::Result<Box<dyn Transport>> {
        let socket = match self {
            Self::Unix(path) => return Ok(Box::new(UnixStream::connect(path).await?)),
            Self::Tcp(address) => TcpStream::connect(address).await?,
        };
        socket.set_nodelay(true)?;
        let options = SockRef::from(&socket);
        let keepalive = TcpKeepalive::new().with_time(KEEPALIVE / 2).with_interval(KEEPALIVE / 8);
        options.set_tcp_keepalive(&keepalive.with_retries(4))?;
        #[cfg(target_os = "linux")]
        options.set_tcp_user_timeout(Some(KEEPALIVE))?;
        Ok(Box::new(socket))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}
