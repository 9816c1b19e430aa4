//! How the world reaches Pinhole: HTTP, the command line, configuration, the log.

mod admin;
pub mod cli;
pub mod config;
pub mod healthcheck;
mod http;
mod linger;
mod listener;
mod metrics;
mod service;
pub mod telemetry;

pub use http::openapi_document;
pub use service::{Service, StartError};
