//! Hostile clients: the service rejects them with an error object, and other clients are not affected.

#![allow(clippy::unwrap_used, reason = "a failed expectation must stop the test at once")]

mod attacks_at_once;
mod bodies;
mod bombs;
mod budgets;
mod fairness;
mod floods;
mod malformed_http;
mod memory;
mod overload;
mod pictures;
mod probe;
mod slow_clients;
mod spoofing;
mod streams;

use std::sync::LazyLock;

use e2e::Service;

/// The service shared by all tests that need no special flags; never the one at `PINHOLE_E2E_URL`.
fn shared_service() -> &'static Service {
    static SERVICE: LazyLock<Service> = LazyLock::new(|| Service::start_static(&[]));
    &SERVICE
}
