//! Asking a running service whether it is ready, for container images that carry no other tool.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(5);

/// `Ok` when the service that listens on `listen` says that it is ready.
pub fn ask(listen: SocketAddr) -> io::Result<()> {
    asked(listen).map_err(|error| match error.kind() {
        // Which of the two it is depends on the system.
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            io::Error::other(format!("no answer within {} s", PATIENCE.as_secs()))
        }
        _ => error,
    })
}

fn asked(listen: SocketAddr) -> io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&reachable(listen), PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.lines().next().unwrap_or("no answer");
    if status.starts_with("HTTP/1.1 200 ") {
        Ok(())
    } else {
        Err(io::Error::other(format!("it answered: {status}")))
    }
}

/// "Any address" is one to listen on, not one to connect to.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}
