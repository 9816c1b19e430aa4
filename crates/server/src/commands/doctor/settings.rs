//! Settings that are right by themselves and make no sense together.

use ops::Finding;

use crate::config::{Config, PublicUrl};

pub(super) fn examine(config: &Config) -> Vec<Finding> {
    let complaints: Vec<Finding> = [metrics(config), proxy(config), connections(config), patience(config)]
        .into_iter()
        .flatten()
        .collect();
    if complaints.is_empty() { vec![Finding::ok("settings", "they make sense together")] } else { complaints }
}

fn metrics(config: &Config) -> Option<Finding> {
    let address = config.admin_listen?;
    if address == config.listen && address.port() != 0 {
        return Some(
            Finding::problem("settings", format!("`listen` and `admin_listen` are both {address}"))
                .advice("Give the metrics an address of their own: the service will not start like this."),
        );
    }
    if !address.ip().is_loopback() && config.admin_token.is_none() {
        return Some(
            Finding::problem("settings", format!("whoever reaches {address} may read the metrics"))
                .advice("Set `admin_token`, or let `admin_listen` be an address of this machine only."),
        );
    }
    None
}

/// We speak no TLS ourselves, so https means that somebody stands before us.
fn proxy(config: &Config) -> Option<Finding> {
    let is_https = config.public_url.as_ref().is_some_and(PublicUrl::is_https);
    (is_https && config.trusted_proxies.is_empty()).then(|| {
        Finding::problem("settings", "`public_url` is https, but `trusted_proxies` names no proxy").advice(
            "Name the one that speaks https: without it all clients share its address and its rate limits.",
        )
    })
}

fn connections(config: &Config) -> Option<Finding> {
    (config.max_connections_per_address > config.max_connections).then(|| {
        Finding::note("settings", "`max_connections_per_address` is more than `max_connections`")
            .advice("Lower it: as it is, one address may take all connections.")
    })
}

fn patience(config: &Config) -> Option<Finding> {
    (config.body_timeout > config.upload_timeout).then(|| {
        Finding::note("settings", "`body_timeout` is longer than `upload_timeout`, and never counts")
            .advice("Make it shorter: it is the longest pause inside of an upload.")
    })
}

#[cfg(test)]
mod tests {
    use ops::Level;

    use super::*;
    use crate::config::Flags;

    fn found(settings: &[(&str, &str)]) -> Vec<(Level, String)> {
        let values = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let flags = Flags { config: None, values };
        let config = Config::load(&flags, [], |_| Err(std::io::ErrorKind::NotFound.into())).unwrap().config;
        examine(&config).into_iter().map(|finding| (finding.level, finding.what)).collect()
    }

    #[test]
    fn what_makes_no_sense_together_is_found() {
        assert_eq!(found(&[]), [(Level::Ok, "they make sense together".to_owned())]);
        for (setting, level, words) in [
            (("admin_listen", "127.0.0.1:8080"), Level::Problem, "both 127.0.0.1:8080"),
            (("admin_listen", "0.0.0.0:9090"), Level::Problem, "read the metrics"),
            (("public_url", "https://photos.example.org"), Level::Problem, "trusted_proxies"),
            (("max_connections", "10"), Level::Note, "max_connections_per_address"),
            (("body_timeout", "1h"), Level::Note, "body_timeout"),
        ] {
            let found = found(&[setting]);
            assert!(matches!(&found[..], [(l, what)] if *l == level && what.contains(words)), "{found:?}");
        }
        for fine in [
            &[("admin_listen", "0.0.0.0:9090"), ("admin_token", "hush")][..],
            &[("public_url", "https://photos.example.org"), ("trusted_proxies", "127.0.0.1")],
        ] {
            assert_eq!(found(fine).len(), 1);
            assert_eq!(found(fine)[0].0, Level::Ok, "{fine:?}");
        }
    }
}
