//! A connection's stream: it does not wait for ever, and sends what lies in a file straight from there.
//!
//! One timer a connection, moved only when it goes off, instead of one that is set and cleared for every
//! request.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use app::ImageFile;
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep, sleep_until};

/// The timeouts of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeouts {
    /// From the start of the wait for a request to the end of its head.
    pub(crate) head: Duration,
    /// From one write of a response to the next that makes progress.
    pub(crate) write: Duration,
}

/// A body that is in a file as well.
#[derive(Debug, Clone)]
pub(crate) struct SendfileSource {
    /// Held, so that their memory is not reused while the file is sent.
    pub(crate) bytes: Bytes,
    pub(crate) file: Arc<ImageFile>,
}

/// The state that the request handler shares with the stream.
#[derive(Debug, Default)]
pub(crate) struct ConnectionState {
    /// Odd while a request is handled.
    turn: AtomicU64,
    next: Mutex<Option<SendfileSource>>,
}

impl ConnectionState {
    pub(crate) fn begin_response(&self) {
        self.turn.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn end_response(&self, body: Option<SendfileSource>) {
        if body.is_some() {
            *self.next.lock() = body;
        }
        self.turn.fetch_add(1, Ordering::Release);
    }
}

pub(crate) struct Stream {
    tcp: TcpStream,
    timeouts: Timeouts,
    state: Arc<ConnectionState>,
    /// When the client last took something, or came: the wait for its next request begins there.
    since: Instant,
    timer: Option<Pin<Box<Sleep>>>,
    /// Goes off when the client has taken nothing for too long.
    stalled: Option<Pin<Box<Sleep>>>,
    sendfile: Option<SendfileSource>,
}

impl Stream {
    pub(crate) fn new(tcp: TcpStream, timeouts: Timeouts, state: Arc<ConnectionState>) -> Self {
        let since = Instant::now();
        Self { tcp, timeouts, state, since, timer: None, stalled: None, sendfile: None }
    }

    /// Whether a head should have come by now. Nothing is due while a request is being answered, or its
    /// answer is on its way.
    fn is_overdue(&mut self, cx: &mut Context<'_>) -> bool {
        let waiting = self.state.turn.load(Ordering::Acquire).is_multiple_of(2) && self.stalled.is_none();
        let due = self.since + self.timeouts.head;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
        while timer.as_mut().poll(cx).is_ready() {
            // It is set again and again, also while nothing is due: nobody asks once more when the answer has
            // gone.
            if !waiting {
                timer.as_mut().reset(Instant::now() + self.timeouts.head);
            } else if timer.deadline() < due {
                timer.as_mut().reset(due);
            } else {
                return true;
            }
        }
        false
    }

    /// Takes note of how a write went.
    fn watched(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            (self.stalled, self.since) = (None, Instant::now());
            return written;
        }
        let limit = self.timeouts.write;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
        stalled.as_mut().poll(cx).map(|()| Err(ErrorKind::TimedOut.into()))
    }

    /// Writes a body from its file, and what stands before it so that both go out together.
    fn poll_write_file(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Option<Poll<io::Result<usize>>> {
        if let Some(next) = self.state.next.lock().take() {
            self.sendfile = Some(next);
        }
        let SendfileSource { bytes, file } = self.sendfile.as_ref()?;
        let place = |buf: &IoSlice<'_>| {
            let offset = (buf.as_ptr() as usize).checked_sub(bytes.as_ptr() as usize)?;
            (offset + buf.len() <= bytes.len() && !buf.is_empty()).then_some(offset)
        };
        let (index, offset) = bufs.iter().enumerate().find_map(|(at, buf)| Some((at, place(buf)?)))?;
        let body = || os::send_file(&self.tcp, &**file, offset, bufs[index].len());
        let sent = poll_io(&self.tcp, cx, || match index {
            0 => body(),
            1 => {
                let head = os::send_more(&self.tcp, &bufs[0])?;
                // Whatever is wrong with the body will be so when it is asked for again, by itself.
                Ok(if head == bufs[0].len() { head + body().unwrap_or(0) } else { head })
            }
            _ => os::send_more(&self.tcp, &bufs[0]),
        });
        match sent {
            // A system that cannot do this can still copy; any other trouble comes back there.
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

/// Tries until it is done or the stream takes no more.
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

    /// More follows at once: the network shall get both in one piece.
    pub(super) fn send_more(socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(socket, bytes, SendFlags::MORE | SendFlags::NOSIGNAL)?)
    }
}

/// There are no such files elsewhere.
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
            Poll::Pending if stream.is_overdue(cx) => Poll::Ready(Err(ErrorKind::TimedOut.into())),
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
        let written = match stream.poll_write_file(cx, bufs) {
            Some(written) => written,
            None => Pin::new(&mut stream.tcp).poll_write_vectored(cx, bufs),
        };
        stream.watched(cx, written)
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
