//! Response bodies. Most are complete in memory, and are sent without the allocation of axum's boxed body.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::stream::SendfileSource;

/// A body that replaces the body of a response.
#[derive(Debug, Default)]
pub(crate) struct BodyOverride {
    /// The body in memory; the body of the response is empty then.
    pub(crate) full: Option<Bytes>,
    /// The same body in a file, to be sent with sendfile(2).
    pub(crate) sendfile: Option<SendfileSource>,
}

#[derive(Debug)]
pub(crate) enum ResponseBody {
    /// Empty after it was sent.
    Full(Bytes),
    Stream(Body),
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match self.get_mut() {
            Self::Full(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Stream(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(bytes) => bytes.is_empty(),
            Self::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(body) => body.size_hint(),
        }
    }
}
