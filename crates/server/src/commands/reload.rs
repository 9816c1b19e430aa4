//! The reload of the configuration, which SIGHUP asks a running service for.

use crate::config::LoadedConfig;
use crate::process::load_config;
use crate::telemetry::LogFilter;

/// The settings that a reload applies; the others take effect at a start.
const RELOADED: [&str; 1] = ["log"];

/// Loads the configuration again and applies the log filter. An invalid configuration changes nothing.
pub(super) fn reload(started: &LoadedConfig, log: &LogFilter) {
    let loaded = match load_config(&started.flags) {
        Ok(loaded) => loaded,
        Err(error) => {
            tracing::error!(%error, "configuration not reloaded; the settings stay as they are");
            return;
        }
    };
    if let Err(error) = log.replace(&loaded.config) {
        tracing::error!(%error, "log filter not reloaded");
        return;
    }
    let file = loaded.file.as_ref().map(|file| file.display().to_string());
    tracing::info!(file, log = loaded.config.log, "configuration reloaded");
    let mut changed = started.config.differing(&loaded.config);
    changed.retain(|key| !RELOADED.contains(key));
    if !changed.is_empty() {
        let settings = changed.join(", ");
        tracing::warn!(settings, "these settings have changed; restart the service to apply them");
    }
}
