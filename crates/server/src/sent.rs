//! What goes out. Most answers lie in memory as they are sent, and go on without the box that axum's body is.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::stream::InFile;

/// What goes beside a response.
#[derive(Debug, Default)]
pub(crate) struct Aside {
    /// Its body, where that lies in memory; the response itself has an empty one then.
    pub(crate) whole: Option<Bytes>,
    /// For the stream, which may send the body from there.
    pub(crate) in_file: Option<InFile>,
}

/// The body of an answer.
#[derive(Debug)]
pub(crate) enum Sent {
    /// Empty when it has been sent.
    Whole(Bytes),
    Made(Body),
}

impl http_body::Body for Sent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match self.get_mut() {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Made(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_empty(),
            Self::Made(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Made(body) => body.size_hint(),
        }
    }
}
