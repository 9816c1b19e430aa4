//! The startup banner: that the service is ready, and where.

use crate::config::Config;
use crate::demo::Guest;
use crate::service::Service;
use crate::telemetry;

/// Text for people, or an event where the log is JSON. `guest` is the account of a demo.
pub(crate) fn announce(config: &Config, service: &Service, guest: Option<&Guest>) {
    let address = format!("http://{}", service.address());
    let metrics = service.admin_address().map(|address| format!("http://{address}/metrics"));
    let folder = config.data_dir.display();
    if !telemetry::is_text(config) {
        let (username, password) =
            guest.map(|guest| (guest.username.as_str(), guest.password.as_str())).unzip();
        tracing::info!(address, metrics, data_dir = %folder, username, password, "ready");
        return;
    }
    let public = config.public_url.as_ref().map_or(address.clone(), ToString::to_string);
    eprintln!("\n  Pinhole is ready.  Open {public}\n");
    if public != address {
        eprintln!("  Listening on: {address}");
    }
    if let Some(Guest { username, password }) = guest {
        eprintln!("  Sign in as {username} with the password {password}.");
        eprintln!("  Everything is in {folder} and will be deleted at the end.");
        eprintln!("  The photos are other people's work: `pinhole demo --help` names them.");
    } else {
        eprintln!("  Photos and database: {folder}");
    }
    if let Some(metrics) = metrics {
        eprintln!("  Metrics: {metrics}");
    }
    eprintln!("  Stop with Ctrl+C.\n");
}
