//! The TCP stream of a connection, with timeouts for request heads and writes, and a minimum drain rate.
//!
//! The head timeout uses one timer for each connection that is reset only when it expires, which is cheaper
//! than to set and clear a timer for each request.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use app::Holder;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

/// The timeouts of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeouts {
    /// From the previous response (or the accept) to the end of the next request head; also the keep-alive
    /// timeout.
    pub(crate) head: Duration,
    /// The longest pause between two writes of a response that make progress.
    pub(crate) write: Duration,
}

/// A client must read a response at this rate on average, in bytes per second: slower ones would hold a
/// connection and the memory of a response for as long as they like.
const MIN_DRAIN_RATE: u32 = 2048;

/// The state of a connection that the request handler shares with the stream.
#[derive(Debug)]
pub(crate) struct ConnectionState {
    /// The holder of the connection's permit, which may be revoked while the connection is idle.
    holder: Arc<Holder>,
    is_handling: AtomicBool,
}

impl ConnectionState {
    pub(crate) fn new(holder: Arc<Holder>) -> Self {
        Self { holder, is_handling: AtomicBool::new(false) }
    }

    pub(crate) fn begin_response(&self) {
        self.is_handling.store(true, Ordering::Release);
        self.holder.set_busy(true);
    }

    pub(crate) fn end_response(&self) {
        self.is_handling.store(false, Ordering::Release);
    }
}

pub(crate) struct Stream {
    tcp: TcpStream,
    timeouts: Timeouts,
    state: Arc<ConnectionState>,
    /// When a write last made progress, or the connection was accepted. The head timeout starts here.
    last_progress: Instant,
    head_timer: Option<Pin<Box<Sleep>>>,
    /// Whether a write is blocked because the client does not read.
    is_write_blocked: bool,
    /// Set when a write of this response was blocked: when the client has been too slow, unless it reads.
    write_timer: Option<Pin<Box<Sleep>>>,
}

impl Stream {
    pub(crate) fn new(tcp: TcpStream, timeouts: Timeouts, state: Arc<ConnectionState>) -> Self {
        let last_progress = Instant::now();
        Self {
            tcp,
            timeouts,
            state,
            last_progress,
            head_timer: None,
            is_write_blocked: false,
            write_timer: None,
        }
    }

    /// Whether the head timeout has expired. It is suspended while a request is handled or its response is
    /// written.
    fn head_timed_out(&mut self, cx: &mut Context<'_>) -> bool {
        let is_awaiting_head = !self.state.is_handling.load(Ordering::Acquire) && !self.is_write_blocked;
        if is_awaiting_head {
            self.write_timer = None;
            self.state.holder.set_busy(false);
        }
        let deadline = self.last_progress + self.timeouts.head;
        let timer = self.head_timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        while timer.as_mut().poll(cx).is_ready() {
            // Reset while suspended too: after a response is sent, nothing polls the timer to start it.
            if !is_awaiting_head {
                timer.as_mut().reset(Instant::now() + self.timeouts.head);
            } else if timer.deadline() < deadline {
                timer.as_mut().reset(deadline);
            } else {
                return true;
            }
        }
        false
    }

    /// Applies the write timeout and the minimum drain rate to the result of a write: each byte extends the
    /// deadline, up to the write timeout from now.
    fn with_write_timeout(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        self.is_write_blocked = written.is_pending();
        let latest = || Instant::now() + self.timeouts.write;
        let Poll::Ready(written) = written else {
            let timer = self.write_timer.get_or_insert_with(|| Box::pin(sleep_until(latest())));
            return timer.as_mut().poll(cx).map(|()| Err(ErrorKind::TimedOut.into()));
        };
        self.last_progress = Instant::now();
        self.state.holder.record_progress(self.last_progress);
        if let (Some(timer), Ok(count)) = (&mut self.write_timer, &written) {
            let extended = timer.deadline() + Duration::from_secs(*count as u64) / MIN_DRAIN_RATE;
            timer.as_mut().reset(extended.min(self.last_progress + self.timeouts.write));
        }
        Poll::Ready(written)
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let stream = self.get_mut();
        match Pin::new(&mut stream.tcp).poll_read(cx, buf) {
            Poll::Pending if stream.head_timed_out(cx) => Poll::Ready(Err(ErrorKind::TimedOut.into())),
            read => read,
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let stream = self.get_mut();
        let written = Pin::new(&mut stream.tcp).poll_write_vectored(cx, bufs);
        stream.with_write_timeout(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().tcp).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().tcp).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use app::{Client, FairSemaphore, PermitLimits, Revocation};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpSocket;

    use super::*;

    const TIMEOUTS: Timeouts = Timeouts { head: Duration::from_secs(60), write: Duration::from_secs(4) };

    /// Writes 64 KiB to a client that reads `count` bytes every 100 ms, with the smallest socket buffers.
    async fn write_to_reader_of(count: usize) -> io::Result<()> {
        let local: SocketAddr = ([127, 0, 0, 1], 0).into();
        let socket = TcpSocket::new_v4()?;
        socket.set_send_buffer_size(1)?;
        socket.bind(local)?;
        let listener = socket.listen(1)?;
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(1)?;
        let mut client = socket.connect(listener.local_addr()?).await?;
        let (accepted, _) = listener.accept().await?;

        let limits =
            PermitLimits { max: 1, max_per_network: 1, max_per_user: 1, revocation: Revocation::IdleFirst };
        let permit = FairSemaphore::new(limits).try_acquire(Client::LOCAL).unwrap();
        let state = Arc::new(ConnectionState::new(permit.holder().clone()));
        let mut stream = Stream::new(accepted, TIMEOUTS, state);
        let reader = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(Duration::from_millis(100));
            while client.read(&mut vec![0; count]).await.is_ok_and(|count| count > 0) {
                ticks.tick().await;
            }
        });
        let written = stream.write_all(&[0; 64 << 10]).await;
        reader.abort();
        written
    }

    #[tokio::test]
    async fn a_client_must_read_at_the_minimum_drain_rate() {
        // The client makes progress well within the write timeout, so only its rate is too low.
        let slow = write_to_reader_of(100).await;
        assert_eq!(slow.expect_err("1,000 bytes per second are too slow").kind(), ErrorKind::TimedOut);
        write_to_reader_of(4 << 10).await.expect("40 KiB per second are enough");
    }
}
