//! Lingering close: a request body that is drained when the handler has not read it.
//!
//! An answer that comes before the whole body has been read (an error, mostly) must not be lost to a
//! client that is still sending: closing on it would reset the connection and destroy the answer on its
//! way. So what is left is read and thrown away for a while, within bounds.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::timeout;

/// How much and how long is read for nothing at most, and how long a pause is waited for.
const MAX_BYTES: u64 = 512 << 20;
const MAX_TIME: Duration = Duration::from_secs(10);
const MAX_PAUSE: Duration = Duration::from_secs(1);

pub(crate) struct LingeringBody(Option<Incoming>);

impl LingeringBody {
    /// A client that waits for `100 Continue` is not sending yet: reading on would ask it to.
    pub(crate) fn new(body: Incoming, expects_continue: bool) -> Result<Self, Incoming> {
        if expects_continue { Err(body) } else { Ok(Self(Some(body))) }
    }
}

impl Body for LingeringBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.0 else { return Poll::Ready(None) };
        let frame = Pin::new(body).poll_frame(cx);
        if matches!(frame, Poll::Ready(None | Some(Err(_)))) {
            self.0 = None;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or(SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for LingeringBody {
    fn drop(&mut self) {
        if let Some(body) = self.0.take().filter(|body| !body.is_end_stream()) {
            tokio::spawn(timeout(MAX_TIME, drain(body)));
        }
    }
}

async fn drain(mut body: Incoming) {
    let mut read = 0;
    while let Ok(Some(Ok(frame))) = timeout(MAX_PAUSE, body.frame()).await {
        read += frame.data_ref().map_or(0, |data| data.len() as u64);
        if read > MAX_BYTES {
            return;
        }
    }
}
