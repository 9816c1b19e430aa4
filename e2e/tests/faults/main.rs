//! File operations of the service fail, one after the other: a full disk, an I/O error, a short write, a
//! failed fsync, a power failure. Nothing acknowledged is lost, an error has its cause in the log, and the
//! service recovers without a restart or says why it stops.

#![allow(clippy::unwrap_used, reason = "a failed expectation must stop the test at once")]

mod checkpoint;
mod fixture;
mod operations;
mod power_failure;
mod reads;
mod start;
mod writes;
