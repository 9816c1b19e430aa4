//! HTTP, the command line, configuration and telemetry.

mod account_archive;
mod admin;
mod banner;
mod cli;
mod commands;
pub mod config;
mod connection;
mod demo;
mod exposition;
mod http;
mod linger;
mod links;
mod listener;
mod metrics;
mod operator;
mod process;
mod progress;
mod service;
mod settings;
mod stream;
mod telemetry;

pub use cli::run;
pub use http::openapi_document;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub use http::{check_forms, check_multipart};
pub use service::{Service, StartError};
