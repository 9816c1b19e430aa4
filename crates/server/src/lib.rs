//! HTTP, the command line, configuration and telemetry.

mod admin;
mod banner;
mod cli;
mod commands;
pub mod config;
mod demo;
mod http;
mod linger;
mod listener;
mod metrics;
mod process;
mod progress;
mod sent;
mod service;
mod stream;
mod telemetry;

pub use cli::run;
pub use http::openapi_document;
pub use service::{Service, StartError};
