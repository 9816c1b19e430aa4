//! Reads a request body chunk by chunk, within limits of size, time and throughput.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body::Body as _;
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout_at};

use super::error::FormError;

#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyLimits {
    pub(crate) max_bytes: u64,
    /// The longest wait for the next chunk.
    pub(crate) idle_timeout: Duration,
    /// The longest time that the whole body may take.
    pub(crate) total_timeout: Duration,
}

/// A body must arrive at this rate on average, in bytes per second. Chunks that arrive faster save up at most
/// `idle_timeout` for a pause.
const MIN_THROUGHPUT: u32 = 1024;

/// The first pause, which an upload has not saved up, may last this long.
const GRACE: Duration = Duration::from_secs(10);

pub(crate) struct BodyReader {
    body: Body,
    limits: BodyLimits,
    deadline: Instant,
    /// When the throughput falls below the minimum, unless more data arrives.
    next_chunk_by: Instant,
    bytes_read: u64,
}

impl BodyReader {
    pub(crate) fn new(body: Body, limits: BodyLimits) -> Self {
        let now = Instant::now();
        let next_chunk_by = now + limits.idle_timeout.min(GRACE);
        Self { body, limits, deadline: now + limits.total_timeout, next_chunk_by, bytes_read: 0 }
    }

    /// The next chunk; `None` at the end of the body.
    pub(crate) async fn next_chunk(&mut self) -> Result<Option<Bytes>, FormError> {
        loop {
            let frame = timeout_at(self.deadline.min(self.next_chunk_by), self.body.frame()).await;
            let Ok(frame) = frame else { return Err(FormError::Timeout) };
            let Some(frame) = frame else { return Ok(None) };
            let frame = frame
                .map_err(|error| FormError::Malformed(format!("the request body ended early: {error}")))?;
            // Trailers carry no parameters.
            let Ok(data) = frame.into_data() else { continue };
            let saved = Duration::from_secs(data.len() as u64) / MIN_THROUGHPUT;
            self.next_chunk_by = (self.next_chunk_by + saved).min(Instant::now() + self.limits.idle_timeout);
            self.bytes_read += data.len() as u64;
            if self.bytes_read > self.limits.max_bytes {
                return Err(FormError::TooLarge);
            }
            if !data.is_empty() {
                return Ok(Some(data));
            }
        }
    }

    /// The length of the body as far as its head tells it, within the limit.
    pub(crate) fn announced_bytes(&self) -> usize {
        usize::try_from(self.body.size_hint().lower().min(self.limits.max_bytes)).unwrap_or(0)
    }
}
