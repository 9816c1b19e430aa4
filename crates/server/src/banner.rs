//! The startup banner: reports readiness, with the addresses of the service.

use crate::config::Config;
use crate::demo::Guest;
use crate::service::Service;
use crate::telemetry;

/// Prints text, or logs a `ready` event if the log is JSON. `guest` is the account of a demo.
pub(crate) fn print_banner(config: &Config, service: &Service, guest: Option<&Guest>) {
    let address = format!("http://{}", service.address());
    let metrics = service.admin_address().map(|address| format!("http://{address}/metrics"));
    let folder = config.data_dir.display();
    if !telemetry::is_text(config) {
        let (username, password) =
            guest.map(|guest| (guest.username.as_str(), guest.password.as_str())).unzip();
        if let Some(link) = service.owner_link().filter(|_| guest.is_none()) {
            tracing::info!(link, "this instance has no owner; join with this link to become it");
        }
        tracing::info!(address, metrics, data_dir = %folder, username, password, "ready");
        return;
    }
    let public = config.public_url.as_ref().map_or(address.clone(), ToString::to_string);
    eprintln!("\n  Pinhole is ready.  Open {public}\n");
    if public != address {
        eprintln!("  Listening on: {address}");
    }
    if let Some(Guest { username, password }) = guest {
        eprintln!("  Log in as {username} with the password {password}.");
        eprintln!("  All data is in {folder}, and is deleted on exit.");
        eprintln!("  Photo credits and licences: `pinhole demo --help`.");
    } else {
        if let Some(link) = service.owner_link() {
            eprintln!("  Become the owner:    {link}");
        }
        eprintln!("  Photos and database: {folder}");
    }
    if let Some(metrics) = metrics {
        eprintln!("  Metrics: {metrics}");
    }
    eprintln!("  Stop with Ctrl+C.\n");
}
