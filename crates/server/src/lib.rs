//! How the world reaches Pinhole: HTTP, the command line, configuration, the log.

mod admin;
mod announcement;
pub mod cli;
pub mod config;
mod demo;
pub mod doctor;
pub mod healthcheck;
mod http;
mod linger;
mod listener;
mod metrics;
pub mod moving;
mod progress;
mod sent;
mod service;
mod stream;
pub mod telemetry;

pub use announcement::announce;
pub use demo::{Demo, DemoError, Guest};
pub use http::openapi_document;
pub use service::{Service, StartError};
