//! `pinhole healthcheck`: a readiness probe for container images without curl.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

use crate::config::Config;
use crate::process::fail;

const TIMEOUT: Duration = Duration::from_secs(5);

pub(super) fn run(config: &Config) -> ExitCode {
    match probe(config.listen) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(format!("{} is not ready: {error}", config.listen)),
    }
}

fn probe(listen: SocketAddr) -> io::Result<()> {
    request(listen).map_err(|error| match error.kind() {
        // Which of the two depends on the operating system.
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            io::Error::other(format!("no response within {} s", TIMEOUT.as_secs()))
        }
        _ => error,
    })
}

fn request(listen: SocketAddr) -> io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&reachable(listen), TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    let status = response.lines().next().unwrap_or("an empty response");
    if status.starts_with("HTTP/1.1 200 ") {
        Ok(())
    } else {
        Err(io::Error::other(format!("/readyz returned {status}")))
    }
}

/// An unspecified address such as 0.0.0.0 can be bound, but not connected to.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}
