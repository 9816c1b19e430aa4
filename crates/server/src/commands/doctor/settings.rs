//! Checks of settings that are valid one by one, but conflict with each other.

use ops::Finding;

use crate::config::{Config, PublicUrl};

pub(super) fn check(config: &Config) -> Vec<Finding> {
    let findings: Vec<Finding> = [metrics(config), proxy(config), connections(config), timeouts(config)]
        .into_iter()
        .flatten()
        .collect();
    if findings.is_empty() { vec![Finding::ok("settings", "no conflicts")] } else { findings }
}

fn metrics(config: &Config) -> Option<Finding> {
    let address = config.admin_listen?;
    if address == config.listen && address.port() != 0 {
        return Some(
            Finding::error("settings", format!("`listen` and `admin_listen` are both {address}"))
                .advice("Give `admin_listen` another address: the service cannot bind both."),
        );
    }
    if !address.ip().is_loopback() && config.admin_token.is_none() {
        return Some(
            Finding::error("settings", format!("anyone who can reach {address} can read the metrics"))
                .advice("Set `admin_token`, or bind `admin_listen` to a loopback address."),
        );
    }
    None
}

/// Pinhole does not terminate TLS, so a public https URL implies a reverse proxy.
fn proxy(config: &Config) -> Option<Finding> {
    let is_https = config.public_url.as_ref().is_some_and(PublicUrl::is_https);
    (is_https && config.trusted_proxies.is_empty()).then(|| {
        Finding::error("settings", "`public_url` is https, but `trusted_proxies` names no proxy").advice(
            "Add the reverse proxy that terminates TLS: without it all clients share its address and its rate limits.",
        )
    })
}

fn connections(config: &Config) -> Option<Finding> {
    (config.max_connections_per_address > config.max_connections).then(|| {
        Finding::note("settings", "`max_connections_per_address` is larger than `max_connections`")
            .advice("Lower it: one address can use all connections.")
    })
}

fn timeouts(config: &Config) -> Option<Finding> {
    (config.body_timeout > config.upload_timeout).then(|| {
        Finding::note("settings", "`body_timeout` is longer than `upload_timeout`, so it has no effect")
            .advice("Lower it: it limits the time between two reads of an upload.")
    })
}

#[cfg(test)]
mod tests {
    use ops::Level;

    use super::*;
    use crate::config::Flags;

    fn findings(settings: &[(&str, &str)]) -> Vec<(Level, String)> {
        let values = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let flags = Flags { config: None, values };
        let config = Config::load(&flags, [], |_| Err(std::io::ErrorKind::NotFound.into())).unwrap().config;
        check(&config).into_iter().map(|finding| (finding.level, finding.what)).collect()
    }

    #[test]
    fn conflicting_settings_are_found() {
        assert_eq!(findings(&[]), [(Level::Ok, "no conflicts".to_owned())]);
        for (setting, level, fragment) in [
            (("admin_listen", "127.0.0.1:8080"), Level::Error, "both 127.0.0.1:8080"),
            (("admin_listen", "0.0.0.0:9090"), Level::Error, "read the metrics"),
            (("public_url", "https://photos.example.org"), Level::Error, "trusted_proxies"),
            (("max_connections", "10"), Level::Note, "max_connections_per_address"),
            (("body_timeout", "1h"), Level::Note, "body_timeout"),
        ] {
            let findings = findings(&[setting]);
            assert!(
                matches!(&findings[..], [(l, what)] if *l == level && what.contains(fragment)),
                "{findings:?}"
            );
        }
        for valid in [
            &[("admin_listen", "0.0.0.0:9090"), ("admin_token", "hush")][..],
            &[("public_url", "https://photos.example.org"), ("trusted_proxies", "127.0.0.1")],
        ] {
            assert_eq!(findings(valid).len(), 1);
            assert_eq!(findings(valid)[0].0, Level::Ok, "{valid:?}");
        }
    }
}
