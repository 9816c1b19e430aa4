//! The environment layer: every variable with the prefix `PINHOLE_` must be a setting.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use super::error::SettingError;
use super::origin::Values;
use super::setting::{Table, variable};
use super::suggest::nearest_key;

pub(super) struct Environment {
    /// The configuration file that `PINHOLE_CONFIG` names.
    pub(super) config: Option<PathBuf>,
    pub(super) values: Values,
}

pub(super) fn read(
    table: Table,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    errors: &mut Vec<SettingError>,
) -> Environment {
    let known: BTreeMap<String, String> = table.keys().map(|key| (variable(&key), key)).collect();
    let mut environment = Environment { config: None, values: Values::new() };
    for (name, value) in variables {
        // A name that is not UTF-8 has not the prefix of a setting.
        let Some(name) = name.to_str() else { continue };
        let Some(rest) = name.strip_prefix("PINHOLE_") else { continue };
        if rest == "CONFIG" {
            environment.config = Some(value.into());
            continue;
        }
        match (known.get(name), value.into_string()) {
            (Some(key), Ok(value)) => {
                environment.values.insert(key.clone(), value);
            }
            (Some(_), Err(_)) => errors.push(SettingError::NotUtf8 { name: name.to_owned() }),
            (None, value) => {
                if !is_foreign(rest, &value.unwrap_or_else(|raw| raw.to_string_lossy().into_owned())) {
                    let nearest = nearest_key(table, rest).map(|key| variable(&key));
                    errors.push(SettingError::UnknownVariable { name: name.to_owned(), nearest });
                }
            }
        }
    }
    environment
}

/// Variables with our prefix that are no settings: those of the test suite, and those that Kubernetes and
/// Docker set for a service called `pinhole`, such as `PINHOLE_SERVICE_HOST` and `PINHOLE_PORT=tcp://…`.
fn is_foreign(rest: &str, value: &str) -> bool {
    let words: Vec<&str> = rest.split('_').collect();
    let number = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());

    let test_suite = matches!(words.first(), Some(&"E2E" | &"TEST"));
    let service = words.windows(2).any(|pair| matches!(pair, ["SERVICE", "HOST" | "PORT"]));
    let port =
        words.windows(3).any(|three| matches!(three, ["PORT", n, "TCP" | "UDP" | "SCTP"] if number(n)));
    let link = words.last() == Some(&"PORT") && value.contains("://");
    test_suite || service || port || link
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_kubernetes_docker_and_the_tests_are_ignored() {
        let foreign = [
            ("E2E_SEED", "1"),
            ("TEST_S3_URL", "s3://photos"),
            ("TEST_POSTGRES_URL", "postgres://db/x"),
            ("SERVICE_HOST", "10.0.0.1"),
            ("SERVICE_PORT_HTTP", "8080"),
            ("PORT", "tcp://10.0.0.1:8080"),
            ("PORT_8080_TCP_ADDR", "10.0.0.1"),
            ("METRICS_PORT_9090_TCP", "tcp://10.0.0.1:9090"),
        ];
        for (name, value) in foreign {
            assert!(is_foreign(name, value), "{name}={value}");
        }
        // An operator sets these for Pinhole, so they must be an error.
        for (name, value) in [("PORT", "8080"), ("PORTS", "tcp://x"), ("HOST", "0.0.0.0"), ("E2EX", "1")] {
            assert!(!is_foreign(name, value), "{name}={value}");
        }
    }
}
