//! The TCP stream of a connection, with timeouts for request heads and writes, a minimum drain rate, and
//! sendfile(2).
//!
//! The head timeout uses one timer for each connection that is reset only when it expires, which is cheaper
//! than to set and clear a timer for each request.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use app::{Holder, ImageFile};
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
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

/// A response body that is both in memory and in a file.
#[derive(Debug, Clone)]
pub(crate) struct SendfileSource {
    /// Identifies the body by its address, so the memory must not be reused before the file is sent.
    pub(crate) bytes: Bytes,
    pub(crate) file: Arc<ImageFile>,
}

/// The state of a connection that the request handler shares with the stream.
#[derive(Debug)]
pub(crate) struct ConnectionState {
    /// The holder of the connection's permit, which may be revoked while the connection is idle.
    holder: Arc<Holder>,
    is_handling: AtomicBool,
    /// The body of the response that the stream writes next.
    next_sendfile: Mutex<Option<SendfileSource>>,
}

impl ConnectionState {
    pub(crate) fn new(holder: Arc<Holder>) -> Self {
        Self { holder, is_handling: AtomicBool::new(false), next_sendfile: Mutex::default() }
    }

    pub(crate) fn begin_response(&self) {
        self.is_handling.store(true, Ordering::Release);
        self.holder.set_busy(true);
    }

    pub(crate) fn end_response(&self, body: Option<SendfileSource>) {
        if body.is_some() {
            *self.next_sendfile.lock() = body;
        }
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
    sendfile: Option<SendfileSource>,
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
            sendfile: None,
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

    /// Writes a body with sendfile(2), together with the response head before it. `None` if `bufs` hold no
    /// body that is in a file, or sendfile fails.
    fn poll_sendfile(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Option<Poll<io::Result<usize>>> {
        if let Some(next) = self.state.next_sendfile.lock().take() {
            self.sendfile = Some(next);
        }
        let SendfileSource { bytes, file } = self.sendfile.as_ref()?;
        let offset_in_body = |buf: &IoSlice<'_>| {
            let offset = (buf.as_ptr() as usize).checked_sub(bytes.as_ptr() as usize)?;
            (offset + buf.len() <= bytes.len() && !buf.is_empty()).then_some(offset)
        };
        let (index, offset) =
            bufs.iter().enumerate().find_map(|(at, buf)| Some((at, offset_in_body(buf)?)))?;
        let body = || os::send_file(&self.tcp, &**file, offset, bufs[index].len());
        let sent = poll_io(&self.tcp, cx, || match index {
            0 => body(),
            1 => {
                let head = os::send_more(&self.tcp, &bufs[0])?;
                // An error of the body is ignored here: the next call writes the body alone and returns it.
                Ok(if head == bufs[0].len() { head + body().unwrap_or(0) } else { head })
            }
            _ => os::send_more(&self.tcp, &bufs[0]),
        });
        match sent {
            // Falls back to a copying write, for systems without sendfile; it returns any other error again.
            Poll::Ready(Err(_)) => {
                self.sendfile = None;
                None
            }
            Poll::Ready(Ok(count)) => {
                let before: usize = bufs[..index].iter().map(|buf| buf.len()).sum();
                if count.checked_sub(before).is_some_and(|sent| offset + sent == bytes.len()) {
                    self.sendfile = None;
                }
                Some(sent)
            }
            Poll::Pending => Some(sent),
        }
    }
}

/// Retries `send` until it succeeds, fails, or the socket is not writable.
fn poll_io(
    tcp: &TcpStream,
    cx: &mut Context<'_>,
    mut send: impl FnMut() -> io::Result<usize>,
) -> Poll<io::Result<usize>> {
    loop {
        ready!(tcp.poll_write_ready(cx))?;
        match tcp.try_io(Interest::WRITABLE, &mut send) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            done => return Poll::Ready(done),
        }
    }
}

#[cfg(target_os = "linux")]
mod os {
    use std::io;
    use std::os::fd::AsFd;

    use rustix::fs::sendfile;
    use rustix::net::{SendFlags, send};

    pub(super) fn send_file(
        socket: impl AsFd,
        file: impl AsFd,
        offset: usize,
        length: usize,
    ) -> io::Result<usize> {
        Ok(sendfile(socket, file, Some(&mut (offset as u64)), length)?)
    }

    /// MSG_MORE makes the kernel send these bytes in one segment with those that follow.
    pub(super) fn send_more(socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(socket, bytes, SendFlags::MORE | SendFlags::NOSIGNAL)?)
    }
}

/// The sendfile cache is Linux-only, so these are never called.
#[cfg(not(target_os = "linux"))]
mod os {
    use std::io::{self, ErrorKind};
    use std::os::fd::AsFd;

    pub(super) fn send_file(_: impl AsFd, _: impl AsFd, _: usize, _: usize) -> io::Result<usize> {
        Err(ErrorKind::Unsupported.into())
    }

    pub(super) fn send_more(_: impl AsFd, _: &[u8]) -> io::Result<usize> {
        Err(ErrorKind::Unsupported.into())
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
        let written = match stream.poll_sendfile(cx, bufs) {
            Some(written) => written,
            None => Pin::new(&mut stream.tcp).poll_write_vectored(cx, bufs),
        };
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
            PermitLimits { max: 1, max_per_network: 1, max_per_user: 1, revocation: Revocation::Idle };
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
