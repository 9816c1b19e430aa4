//! A request body, read piece by piece within its bounds of size and time.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout, timeout_at};

use super::error::FormError;

#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyLimits {
    pub(crate) max_bytes: u64,
    /// The longest pause between two pieces.
    pub(crate) pause: Duration,
    /// The longest the whole body may take.
    pub(crate) total: Duration,
}

pub(crate) struct Source {
    body: Body,
    limits: BodyLimits,
    deadline: Instant,
    read: u64,
}

impl Source {
    pub(crate) fn new(body: Body, limits: BodyLimits) -> Self {
        Self { body, limits, deadline: Instant::now() + limits.total, read: 0 }
    }

    /// The next piece; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, FormError> {
        loop {
            let frame = timeout_at(self.deadline, timeout(self.limits.pause, self.body.frame())).await;
            let Ok(Ok(frame)) = frame else { return Err(FormError::Timeout) };
            let Some(frame) = frame else { return Ok(None) };
            let frame =
                frame.map_err(|error| FormError::Malformed(format!("the body broke off: {error}")))?;
            // Trailers carry no parameters.
            let Ok(data) = frame.into_data() else { continue };
            self.read += data.len() as u64;
            if self.read > self.limits.max_bytes {
                return Err(FormError::TooLarge);
            }
            if !data.is_empty() {
                return Ok(Some(data));
            }
        }
    }

    /// All of it, for bodies that are small by their limits.
    pub(crate) async fn collect(&mut self) -> Result<Vec<u8>, FormError> {
        let mut all = Vec::new();
        while let Some(piece) = self.next().await? {
            all.extend_from_slice(&piece);
        }
        Ok(all)
    }
}
