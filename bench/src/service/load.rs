//! The load generator: closed-loop or open-loop connections on a thread of their own.
//!
//! Written by hand, because on two cores the CPU time of the generator is taken from the server: a request is
//! prepared once, and costs one write and mostly one read.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::histogram::Histogram;
use super::process::stay_on;
use super::wire::{Body, chunks, head};
use crate::error::Error;

/// How long the last answers may take after the window has closed.
const GRACE: Duration = Duration::from_secs(60);

/// A sequence of requests: the same one repeated, or a function of its number.
pub(super) struct Requests {
    asked: AtomicU64,
    write: Write,
}

type Write = Box<dyn Fn(u64, &mut Vec<u8>) + Send + Sync>;

impl Requests {
    pub(super) fn new(write: impl Fn(u64, &mut Vec<u8>) + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { asked: AtomicU64::new(0), write: Box::new(write) })
    }

    pub(super) fn same(request: Vec<u8>) -> Arc<Self> {
        Self::new(move |_, out| out.extend_from_slice(&request))
    }

    /// One after another, and from the beginning again.
    pub(super) fn cycle(requests: Vec<Vec<u8>>) -> Arc<Self> {
        Self::new(move |number, out| {
            out.extend_from_slice(&requests[number as usize % requests.len()]);
        })
    }

    pub(super) fn next(&self, out: &mut Vec<u8>) {
        out.clear();
        (self.write)(self.asked.fetch_add(1, Ordering::Relaxed), out);
    }
}

#[derive(Clone)]
pub(super) struct Load {
    /// Connections take them in turn.
    pub(super) addresses: Vec<SocketAddr>,
    pub(super) connections: usize,
    /// Requests per second over all connections; closed-loop if absent.
    pub(super) rate: Option<f64>,
    /// Where the generator runs.
    pub(super) core: Option<usize>,
    pub(super) requests: Arc<Requests>,
}

/// When answers count.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) from: Instant,
    pub(super) to: Instant,
}

impl Window {
    pub(super) fn after(warm_up: Duration, length: Duration) -> Self {
        let from = Instant::now() + warm_up;
        Self { from, to: from + length }
    }

    pub(super) fn length(&self) -> Duration {
        self.to - self.from
    }
}

/// What came back within the window.
pub(super) struct Answers {
    pub(super) latency: Histogram,
    /// Of all bodies.
    pub(super) bytes: u64,
    /// The generator's own CPU time, warming up included.
    pub(super) cpu: Duration,
    /// The first that was no success, whenever it came.
    refused: Option<u16>,
}

impl Answers {
    pub(super) fn new() -> Self {
        Self { latency: Histogram::new(), bytes: 0, cpu: Duration::ZERO, refused: None }
    }
}

pub(super) struct Running {
    thread: JoinHandle<Result<Answers, Error>>,
}

impl Load {
    pub(super) fn start(self, window: Window) -> Result<Running, Error> {
        Running::on_a_thread(move || self.run(window))
    }

    fn run(self, window: Window) -> Result<Answers, Error> {
        if let Some(core) = self.core {
            stay_on(core)?;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Error::system("the load"))?;
        let all = async {
            let load = Arc::new(self);
            let mut connections = JoinSet::new();
            for number in 0..load.connections {
                connections.spawn(Connection::run(load.clone(), number, window));
            }
            let mut all = Answers::new();
            while let Some(ended) = connections.join_next().await {
                let one = ended.map_err(Error::measure)??;
                all.latency.merge(&one.latency);
                all.bytes += one.bytes;
                all.refused = all.refused.or(one.refused);
            }
            Ok::<_, Error>(all)
        };
        let timeout = window.to.saturating_duration_since(Instant::now()) + GRACE;
        let ended = runtime.block_on(async { tokio::time::timeout(timeout, all).await });
        let mut answers = ended.map_err(|_| Error::measure("no response for a minute"))??;
        let cpu = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_err(Error::measure)?;
        answers.cpu = cpu.into();
        Ok(answers)
    }
}

impl Running {
    pub(super) fn on_a_thread(
        work: impl FnOnce() -> Result<Answers, Error> + Send + 'static,
    ) -> Result<Self, Error> {
        let thread = std::thread::Builder::new().name("load".into()).spawn(work);
        Ok(Self { thread: thread.map_err(Error::system("the load"))? })
    }

    /// A response other than 2xx voids the run.
    pub(super) fn finish(self) -> Result<Answers, Error> {
        let answers = self.thread.join().map_err(|_| Error::measure("the load panicked"))??;
        match answers.refused {
            None if answers.latency.total() > 0 => Ok(answers),
            None => Err(Error::measure("nothing was answered within the window")),
            Some(status) => Err(Error::measure(format!("void: a request was answered with {status}"))),
        }
    }
}

struct Connection {
    address: SocketAddr,
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    async fn run(load: Arc<Load>, number: usize, window: Window) -> Result<Answers, Error> {
        let mut connection = Self::open(load.addresses[number % load.addresses.len()]).await?;
        let mut answers = Answers::new();
        let mut request = Vec::new();
        let pause = load.rate.map(|rate| Duration::from_secs_f64(load.connections as f64 / rate));
        // Not all at the same moment.
        let mut due =
            Instant::now() + pause.unwrap_or_default().mul_f64(number as f64 / load.connections as f64);
        while Instant::now() < window.to {
            let mut sent = Instant::now();
            if let Some(pause) = pause {
                if sent < due {
                    tokio::time::sleep_until(due.into()).await;
                    // The timer's lateness is not the server's latency.
                    sent = Instant::now();
                } else {
                    // It waited for the answer before: that is part of how long this one takes.
                    sent = due;
                }
                due += pause;
            }
            load.requests.next(&mut request);
            let (status, bytes) = connection.ask(&request).await?;
            let now = Instant::now();
            if !(200..300).contains(&status) {
                answers.refused = Some(status);
                break;
            }
            if now >= window.from && now < window.to {
                answers.latency.add(now - sent);
                answers.bytes += bytes as u64;
            }
        }
        Ok(answers)
    }

    async fn open(address: SocketAddr) -> Result<Self, Error> {
        let stream = TcpStream::connect(address).await.map_err(Error::system(address))?;
        stream.set_nodelay(true).map_err(Error::system(address))?;
        Ok(Self { address, stream, buffer: vec![0; 1 << 17] })
    }

    /// The status and the length of the body.
    async fn ask(&mut self, request: &[u8]) -> Result<(u16, usize), Error> {
        self.stream.write_all(request).await.map_err(Error::system(self.address))?;
        let mut filled = 0;
        let head = loop {
            filled += self.read(filled).await?;
            if let Some(head) = head(&self.buffer[..filled])? {
                break head;
            }
        };
        let length = match head.body {
            Body::Length(length) => {
                // The body is discarded, so each read overwrites the last.
                let mut missing = (head.length + length).saturating_sub(filled);
                while missing > 0 {
                    missing = missing.saturating_sub(self.read(0).await?);
                }
                length
            }
            Body::Chunked => loop {
                if let Some((whole, _)) = chunks(&self.buffer[head.length..filled])? {
                    break whole.len();
                }
                filled += self.read(filled).await?;
            },
        };
        if head.last {
            *self = Self::open(self.address).await?;
        }
        Ok((head.status, length))
    }

    async fn read(&mut self, from: usize) -> Result<usize, Error> {
        if from == self.buffer.len() {
            self.buffer.resize(2 * from, 0);
        }
        match self.stream.read(&mut self.buffer[from..]).await.map_err(Error::system(self.address))? {
            0 => Err(Error::measure(format!("{} closed the connection", self.address))),
            count => Ok(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::super::wire::get;
    use super::*;

    /// A server that answers every request with the same response.
    fn fixed_server(answer: &'static str) -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                std::thread::spawn(move || {
                    let (mut stream, mut request) = (stream.unwrap(), [0; 1024]);
                    while stream.read(&mut request).unwrap() > 0 {
                        stream.write_all(answer.as_bytes()).unwrap();
                    }
                });
            }
        });
        address
    }

    fn loaded(answer: &'static str, rate: Option<f64>) -> Result<Answers, Error> {
        let address = fixed_server(answer);
        let requests = Requests::same(get(address, "/", &[]));
        let load = Load { addresses: vec![address], connections: 3, rate, core: None, requests };
        load.start(Window::after(Duration::from_millis(20), Duration::from_millis(200)))?.finish()
    }

    #[test]
    fn counts_what_comes_back() {
        for answer in [
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
        ] {
            let answers = loaded(answer, None).unwrap();
            assert!(answers.latency.total() > 10);
            assert_eq!(answers.bytes, 5 * answers.latency.total());
        }
    }

    #[test]
    fn keeps_to_a_rate() {
        let answers = loaded("HTTP/1.1 204 No Content\r\n\r\n", Some(100.0)).unwrap();
        assert!(answers.latency.total() <= 25, "{}", answers.latency.total());
    }

    #[test]
    fn a_failed_request_voids_the_run() {
        let refused = loaded("HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n", None).err().unwrap();
        assert!(refused.to_string().contains("503"), "{refused}");
    }
}
