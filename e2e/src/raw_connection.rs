//! A raw TCP connection, for requests that an HTTP client cannot send: partial, slow or malformed ones.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;
use socket2::{Domain, Socket, Type};

use crate::{Body, Service};

/// The read and write timeout: a response that takes longer fails the test.
const IO_TIMEOUT: Duration = Duration::from_secs(30);

pub struct RawConnection {
    stream: TcpStream,
    received: Vec<u8>,
}

/// A response as received, with all its headers.
#[derive(Debug, Clone)]
pub struct RawResponse {
    pub status: u16,
    /// Names in lower case, in the order of the response.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl RawConnection {
    pub fn connect(service: &Service) -> Self {
        Self::connect_from(service, "127.0.0.1").expect("the service accepts connections")
    }

    /// Binds to a source address of this machine, such as 127.0.0.2.
    pub fn connect_from(service: &Service, source: &str) -> std::io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        if service.address().ip().is_loopback() {
            socket.bind(&SocketAddr::new(source.parse().unwrap(), 0).into())?;
        }
        socket.connect(&service.address().into())?;
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(IO_TIMEOUT))?;
        stream.set_write_timeout(Some(IO_TIMEOUT))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, received: Vec::new() })
    }

    /// Sends one request on a new connection and returns the response. `head` has no line break at its end.
    #[track_caller]
    pub fn exchange(service: &Service, head: &str, body: &[u8]) -> RawResponse {
        let mut connection = Self::connect(service);
        connection.send(format!("{head}\r\n\r\n")).expect("the head is sent");
        connection.send(body).expect("the body is sent");
        let is_head = head.starts_with("HEAD ");
        connection.receive(is_head).unwrap_or_else(|| panic!("no response to {head}"))
    }

    /// The head of a request with this `Content-Length`, for a body that is sent later or never.
    pub fn request_head(method: &str, path: &str, token: &str, body: &Body, length: usize) -> String {
        let kind = body.content_type.as_deref().unwrap();
        format!(
            "{method} {path} HTTP/1.1\r\nHost: e2e\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: {kind}\r\nContent-Length: {length}\r\n"
        )
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
        self.stream.write_all(bytes.as_ref())
    }

    /// A second handle to the connection, to write on another thread while this one reads.
    pub fn writer(&self) -> TcpStream {
        self.stream.try_clone().unwrap()
    }

    /// Shuts the sending half down: the service reads EOF, perhaps in the middle of a request.
    pub fn shutdown_write(&self) {
        // Fails when the service has closed the connection, which is fine.
        self.stream.shutdown(Shutdown::Write).ok();
    }

    /// Closes both halves, also for a `writer` that is still in use.
    pub fn close(self) {
        self.stream.shutdown(Shutdown::Both).ok();
    }

    /// The next response, or `None` when the service closed the connection without one.
    pub fn receive(&mut self, head_only: bool) -> Option<RawResponse> {
        let end = loop {
            if let Some(end) = find(&self.received, b"\r\n\r\n") {
                break end;
            }
            if !self.read_more() {
                return None;
            }
        };
        let head = String::from_utf8_lossy(&self.received[..end]).into_owned();
        self.received.drain(..end + 4);
        let mut response = RawResponse::parse(&head)?;
        if !head_only && response.status >= 200 && ![204, 304].contains(&response.status) {
            response.body = self.body(&response);
        }
        Some(response)
    }

    fn body(&mut self, response: &RawResponse) -> Vec<u8> {
        let chunked = response.header("transfer-encoding").is_some();
        let length: Option<usize> = response.header("content-length").map(|raw| raw.parse().unwrap());
        loop {
            let is_complete = match length {
                Some(length) => self.received.len() >= length,
                None => chunked && self.received.ends_with(b"0\r\n\r\n"),
            };
            if is_complete || !self.read_more() {
                let length = length.unwrap_or(self.received.len()).min(self.received.len());
                return self.received.drain(..length).collect();
            }
        }
    }

    /// All bytes until the service closes the connection.
    pub fn read_to_end(&mut self) -> Vec<u8> {
        while self.read_more() {}
        std::mem::take(&mut self.received)
    }

    /// Sends `drip` every 100 ms until the service responds or closes the connection. Returns how long that
    /// took, and the response, if any.
    pub fn drip_until_closed(mut self, drip: &[u8]) -> (Duration, Option<RawResponse>) {
        let began = Instant::now();
        self.stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        while find(&self.received, b"\r\n\r\n").is_none() {
            assert!(began.elapsed() < IO_TIMEOUT, "neither a response nor EOF for {IO_TIMEOUT:?}");
            let mut buffer = [0; 4096];
            match self.stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => self.received.extend_from_slice(&buffer[..count]),
                Err(error) if is_timeout(&error) => {
                    if self.send(drip).is_err() {
                        break;
                    }
                }
                Err(_) => break,
            }
        }
        let took = began.elapsed();
        self.stream.set_read_timeout(Some(IO_TIMEOUT)).unwrap();
        (took, self.receive(false))
    }

    /// False when the service has closed the connection, with EOF or a reset.
    fn read_more(&mut self) -> bool {
        let mut buffer = [0; 64 * 1024];
        match self.stream.read(&mut buffer) {
            Ok(0) => false,
            Ok(count) => {
                self.received.extend_from_slice(&buffer[..count]);
                true
            }
            Err(error) if is_timeout(&error) => {
                panic!("neither a response nor EOF for {IO_TIMEOUT:?}")
            }
            Err(_) => false,
        }
    }
}

impl RawResponse {
    fn parse(head: &str) -> Option<Self> {
        let mut lines = head.split("\r\n");
        let status = lines.next()?.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        Some(Self { status, headers, body: Vec::new() })
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
