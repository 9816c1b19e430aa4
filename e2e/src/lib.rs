//! Test support: the running service, HTTP clients, test images, raw TCP connections, cluster servers.

#![allow(
    clippy::unwrap_used,
    reason = "this crate only serves tests: a failed expectation must stop the test at once"
)]

mod archive;
mod client;
pub mod cluster;
mod concurrent;
mod daemon;
pub mod faults;
mod form;
pub mod oracle;
pub mod picture;
mod poll;
mod raw_connection;
mod service;
pub mod shape;
mod small_disk;
mod stores;
mod unique;

pub use archive::{archive_of, unzip, zip};
pub use client::{AuthMethod, Client, PASSWORD, Request, Response, client_builder};
pub use concurrent::concurrently;
pub use form::{Body, Encoding, FormData};
pub use poll::eventually;
pub use raw_connection::{RawConnection, RawResponse};
pub use service::{Service, program};
pub use small_disk::SmallDisk;
pub use unique::unique;
