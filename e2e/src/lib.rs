//! What the stories of this crate are told with: the running service, the people who use it, the
//! pictures they share, and the bare wire for those who do not behave.

#![allow(
    clippy::unwrap_used,
    reason = "this crate only serves tests: a broken expectation must stop the story where it stands"
)]

mod client;
pub mod cluster;
mod crowd;
mod daemon;
mod form;
pub mod ledger;
mod patience;
pub mod picture;
mod service;
pub mod shape;
mod stores;
mod unique;
mod wire;

pub use client::{Answer, Carrier, Client, PASSWORD, Request, browser};
pub use crowd::at_once;
pub use form::{Body, Encoding, Form};
pub use patience::eventually;
pub use service::{Service, program};
pub use stores::afterglow;
pub use unique::unique;
pub use wire::{Reply, Wire};
