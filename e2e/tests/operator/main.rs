//! The program as its operator meets it: starting, failing to start, being watched, keeping its bounds.

#![allow(clippy::unwrap_used, reason = "a broken expectation must stop the story where it stands")]

mod backup;
mod cache;
mod demo;
mod doctor;
mod metrics;
mod migrate;
mod originals;
mod round_trip;
mod slow_pictures;
mod snapshot;
mod start;
