//! The program as its operator meets it: starting, failing to start, being watched, keeping its bounds.

#![allow(clippy::unwrap_used, reason = "a broken expectation must stop the story where it stands")]

mod cache;
mod demo;
mod metrics;
mod originals;
mod slow_pictures;
mod start;
