//! The program as its operator meets it: starting, failing to start, being watched.

mod metrics;
mod start;
