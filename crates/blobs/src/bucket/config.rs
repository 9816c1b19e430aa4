//! The configuration of the S3 client, from the usual `AWS_…` variables.

use std::ffi::OsString;
use std::fmt;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, Checksum};
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, RetryConfig};

use crate::Error;

/// A store that takes longer to connect to counts as unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

const INITIAL_BACKOFF: Duration = Duration::from_millis(100);

/// Idle connections in the pool.
const MAX_IDLE_CONNECTIONS: usize = 32;

/// Endpoint, region and credentials. Without an access key, `object_store` requests credentials from the
/// container or instance metadata service.
#[derive(Clone, Default)]
pub struct S3Config {
    settings: Vec<(AmazonS3ConfigKey, String)>,
}

/// Timeouts and retries of requests.
pub(super) struct RetryPolicy {
    /// The time of one attempt, from connecting to the last byte of the response.
    pub(super) request_timeout: Duration,
    pub(super) max_retries: usize,
    /// No retry starts later than this after the first attempt.
    pub(super) retry_timeout: Duration,
    pub(super) max_backoff: Duration,
}

impl S3Config {
    /// Reads the variables that `object_store` knows, such as `AWS_ACCESS_KEY_ID`. An empty value counts as
    /// unset.
    pub fn from_variables(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let parse = |(name, value): (OsString, OsString)| {
            let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
            let key = name.starts_with("AWS_").then(|| name.to_ascii_lowercase().parse().ok()).flatten();
            key.filter(|_| !value.is_empty()).map(|key| (key, value))
        };
        Self { settings: variables.into_iter().filter_map(parse).collect() }
    }

    pub(super) fn has_access_key(&self) -> bool {
        self.settings.iter().any(|(key, _)| *key == AmazonS3ConfigKey::AccessKeyId)
    }

    pub(super) fn connect(&self, bucket: &str, policy: &RetryPolicy) -> Result<AmazonS3, Error> {
        self.check_encryption()?;
        install_crypto_provider();
        let RetryPolicy { request_timeout, max_retries, retry_timeout, max_backoff } = *policy;
        let client = ClientOptions::new()
            .with_connect_timeout(CONNECT_TIMEOUT)
            .with_timeout(request_timeout)
            .with_pool_max_idle_per_host(MAX_IDLE_CONNECTIONS);
        let retry = RetryConfig {
            backoff: BackoffConfig { init_backoff: INITIAL_BACKOFF, max_backoff, base: 2.0 },
            max_retries,
            retry_timeout,
        };
        let defaults = AmazonS3Builder::new()
            .with_client_options(client)
            .with_retry(retry)
            .with_checksum_algorithm(Checksum::SHA256)
            // Not every store supports multi-object deletes.
            .with_disable_bulk_delete(true);
        let settings = self.settings.iter();
        let builder = settings.fold(defaults, |builder, (key, value)| builder.with_config(*key, value));
        builder
            .with_bucket_name(bucket)
            .build()
            .map_err(|error| Error::S3Config(format!("the AWS_… variables cannot be used: {error}")))
    }

    /// Rejects plain HTTP unless it is allowed explicitly: photos and request signatures would be readable on
    /// the network.
    fn check_encryption(&self) -> Result<(), Error> {
        let value =
            |name| self.settings.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_str());
        let endpoint = value(AmazonS3ConfigKey::S3Endpoint).or(value(AmazonS3ConfigKey::Endpoint));
        let plain = endpoint.filter(|endpoint| endpoint.to_ascii_lowercase().starts_with("http://"));
        let allowed = value(AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp))
            .is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("true"));
        match plain {
            Some(endpoint) if !allowed => Err(Error::S3Config(format!(
                "the store at {endpoint} would be reached without encryption; use https, or set AWS_ALLOW_HTTP=true \
                 if the network between is private"
            ))),
            _ => Ok(()),
        }
    }
}

/// `object_store` and other users of `reqwest` need the process-wide default provider of rustls.
pub fn install_crypto_provider() {
    match rustls::crypto::ring::default_provider().install_default() {
        // An error means that one is installed already.
        Ok(()) | Err(_) => {}
    }
}

/// Without values, which may be secrets.
impl fmt::Debug for S3Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.settings.iter().map(|(key, _)| key.as_ref())).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(variables: &[(&str, &str)]) -> S3Config {
        S3Config::from_variables(variables.iter().map(|(name, value)| (name.into(), value.into())))
    }

    const NO_RETRIES: RetryPolicy = RetryPolicy {
        request_timeout: Duration::from_secs(1),
        max_retries: 0,
        retry_timeout: Duration::ZERO,
        max_backoff: INITIAL_BACKOFF,
    };

    #[test]
    fn only_store_variables_are_read_and_debug_output_has_no_values() {
        let config = config(&[
            ("AWS_ACCESS_KEY_ID", "the-key"),
            ("AWS_SECRET_ACCESS_KEY", "the-secret"),
            ("AWS_SESSION_TOKEN", ""),
            ("AWS_PROFILE", "work"),
            ("PATH", "/bin"),
        ]);
        assert_eq!(format!("{config:?}"), r#"["aws_access_key_id", "aws_secret_access_key"]"#);
    }

    #[test]
    fn plain_http_must_be_allowed_explicitly() {
        let keys = [("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s")];
        let connect =
            |more: &[(&str, &str)]| config(&[&keys[..], more].concat()).connect("photos", &NO_RETRIES);
        for name in ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT"] {
            let error = connect(&[(name, "http://127.0.0.1:8333")]).unwrap_err().to_string();
            assert!(error.contains("AWS_ALLOW_HTTP=true"), "{error}");
        }
        connect(&[("AWS_ENDPOINT_URL", "http://127.0.0.1:8333"), ("AWS_ALLOW_HTTP", "true")]).unwrap();
        connect(&[("AWS_ENDPOINT_URL", "https://s3.example.org")]).unwrap();
        connect(&[]).unwrap();
    }

    #[test]
    fn an_access_key_without_its_secret_is_an_error() {
        let error = config(&[("AWS_ACCESS_KEY_ID", "k")]).connect("photos", &NO_RETRIES).unwrap_err();
        assert!(error.to_string().starts_with("the AWS_… variables cannot be used: "), "{error}");
    }
}
