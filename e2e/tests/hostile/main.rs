//! Guests who do not behave. The service refuses them in its own words, and everyone else goes on.

#![allow(clippy::unwrap_used, reason = "a broken expectation must stop the story where it stands")]

mod bodies;
mod bombs;
mod bystander;
mod fairness;
mod load;
mod memory;
mod names;
mod pictures;
mod slowness;
mod wires;

use std::sync::LazyLock;

use e2e::Service;

/// The house all guests without special flags come to; never a foreign one.
fn house() -> &'static Service {
    static HOUSE: LazyLock<Service> = LazyLock::new(|| Service::lasting(&[]));
    &HOUSE
}
