//! Lingering close: drains a request body that the handler has not read to its end.
//!
//! A response that is sent while the client still sends the body (usually an error) would be lost if the
//! connection were closed: unread data makes the kernel send a reset, and the client discards the response.
//! So the rest of the body is read and discarded, up to limits.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::timeout;

/// Draining ends after this many bytes, this time in all, or this time without data.
const MAX_BYTES: u64 = 512 << 20;
const MAX_TIME: Duration = Duration::from_secs(10);
const MAX_IDLE: Duration = Duration::from_secs(1);

pub(crate) struct LingeringBody(Option<Incoming>);

impl LingeringBody {
    /// Returns the body unchanged if the client waits for `100 Continue`: draining would make hyper send it.
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
    while let Ok(Some(Ok(frame))) = timeout(MAX_IDLE, body.frame()).await {
        read += frame.data_ref().map_or(0, |data| data.len() as u64);
        if read > MAX_BYTES {
            return;
        }
    }
}
