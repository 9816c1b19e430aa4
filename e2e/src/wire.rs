//! A bare connection, for those who count bytes, send half a request, or none that makes sense.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;
use socket2::{Domain, Socket, Type};

use crate::{Body, Service};

/// How long an answer may take before the wire counts as dead.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Wire {
    stream: TcpStream,
    received: Vec<u8>,
}

/// An answer as it stood on the wire.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    /// Names in lower case, in the order they came.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Wire {
    pub fn connect(service: &Service) -> Self {
        Self::connect_from(service, "127.0.0.1").expect("the service takes connections")
    }

    /// From a chosen address of this machine.
    pub fn connect_from(service: &Service, source: &str) -> std::io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        if service.address().ip().is_loopback() {
            socket.bind(&SocketAddr::new(source.parse().unwrap(), 0).into())?;
        }
        socket.connect(&service.address().into())?;
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, received: Vec::new() })
    }

    /// A connection of its own for one request and its answer; `head` ends without a line break.
    #[track_caller]
    pub fn ask(service: &Service, head: &str, body: &[u8]) -> Reply {
        let mut wire = Self::connect(service);
        wire.send(format!("{head}\r\n\r\n")).expect("the head is sent");
        wire.send(body).expect("the body is sent");
        let is_head = head.starts_with("HEAD ");
        wire.receive(is_head).unwrap_or_else(|| panic!("no answer to {head}"))
    }

    /// The head of a request with a body of this length, for a body that is sent later or never.
    pub fn head_for(method: &str, path: &str, token: &str, body: &Body, length: usize) -> String {
        let kind = body.content_type.as_deref().unwrap();
        format!(
            "{method} {path} HTTP/1.1\r\nHost: e2e\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: {kind}\r\nContent-Length: {length}\r\n"
        )
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
        self.stream.write_all(bytes.as_ref())
    }

    /// A second hand on the same wire, to write while the first one reads.
    pub fn writer(&self) -> TcpStream {
        self.stream.try_clone().unwrap()
    }

    /// Ends the sending half: the other side reads an end where more was promised.
    pub fn stop_sending(&self) {
        // Already gone is ended too.
        self.stream.shutdown(Shutdown::Write).ok();
    }

    /// Ends both halves, also for a second hand that is still writing.
    pub fn hang_up(self) {
        self.stream.shutdown(Shutdown::Both).ok();
    }

    /// The next answer, or nothing when the other side closed without one.
    pub fn receive(&mut self, head_only: bool) -> Option<Reply> {
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
        let mut reply = Reply::parse(&head)?;
        if !head_only && reply.status >= 200 && ![204, 304].contains(&reply.status) {
            reply.body = self.body(&reply);
        }
        Some(reply)
    }

    fn body(&mut self, reply: &Reply) -> Vec<u8> {
        let chunked = reply.header("transfer-encoding").is_some();
        let length: Option<usize> = reply.header("content-length").map(|raw| raw.parse().unwrap());
        loop {
            let whole = match length {
                Some(length) => self.received.len() >= length,
                None => chunked && self.received.ends_with(b"0\r\n\r\n"),
            };
            if whole || !self.read_more() {
                let length = length.unwrap_or(self.received.len()).min(self.received.len());
                return self.received.drain(..length).collect();
            }
        }
    }

    /// Everything that comes until the other side closes: what is left behind an answer.
    pub fn rest(&mut self) -> Vec<u8> {
        while self.read_more() {}
        std::mem::take(&mut self.received)
    }

    /// Feeds `drip` again and again, slowly, until the other side has had enough. Tells how long it bore
    /// it, and its last words.
    pub fn drip_until_cut_off(mut self, drip: &[u8]) -> (Duration, Option<Reply>) {
        let began = Instant::now();
        self.stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        while find(&self.received, b"\r\n\r\n").is_none() {
            assert!(began.elapsed() < PATIENCE, "neither an answer nor an end for {PATIENCE:?}");
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
        self.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        (took, self.receive(false))
    }

    /// False when the other side is done, by a clean end or a reset.
    fn read_more(&mut self) -> bool {
        let mut buffer = [0; 64 * 1024];
        match self.stream.read(&mut buffer) {
            Ok(0) => false,
            Ok(count) => {
                self.received.extend_from_slice(&buffer[..count]);
                true
            }
            Err(error) if is_timeout(&error) => {
                panic!("neither an answer nor an end for {PATIENCE:?}")
            }
            Err(_) => false,
        }
    }
}

impl Reply {
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
