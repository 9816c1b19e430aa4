//! Who we are to the store and where it is: what the usual `AWS_…` variables say.

use std::ffi::OsString;
use std::fmt;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, Checksum};
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, RetryConfig};

use crate::Error;

/// Longer than any network takes that a photo should go over.
const CONNECT: Duration = Duration::from_secs(3);

const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Connections kept open for the next request.
const IDLE: usize = 32;

/// Address, region and keys. Without keys the store's library asks the container or the machine it runs on.
#[derive(Clone, Default)]
pub struct Account {
    settings: Vec<(AmazonS3ConfigKey, String)>,
}

/// How long something is worth waiting for.
pub(super) struct Patience {
    /// For one attempt, from connecting to the last byte of the answer.
    pub(super) request: Duration,
    pub(super) retries: usize,
    /// When this has passed, no further attempt begins.
    pub(super) keep_trying: Duration,
    pub(super) longest_pause: Duration,
}

impl Account {
    /// Reads `AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL` and their like. An empty one counts as none.
    pub fn from_variables(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let known = |(name, value): (OsString, OsString)| {
            let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
            let key = name.starts_with("AWS_").then(|| name.to_ascii_lowercase().parse().ok()).flatten();
            key.filter(|_| !value.is_empty()).map(|key| (key, value))
        };
        Self { settings: variables.into_iter().filter_map(known).collect() }
    }

    pub(super) fn has_key(&self) -> bool {
        self.settings.iter().any(|(key, _)| *key == AmazonS3ConfigKey::AccessKeyId)
    }

    pub(super) fn connect(&self, bucket: &str, patience: &Patience) -> Result<AmazonS3, Error> {
        self.check_encryption()?;
        provide_tls();
        let Patience { request, retries, keep_trying, longest_pause } = *patience;
        let client = ClientOptions::new()
            .with_connect_timeout(CONNECT)
            .with_timeout(request)
            .with_pool_max_idle_per_host(IDLE);
        let retry = RetryConfig {
            backoff: BackoffConfig { init_backoff: FIRST_PAUSE, max_backoff: longest_pause, base: 2.0 },
            max_retries: retries,
            retry_timeout: keep_trying,
        };
        let ours = AmazonS3Builder::new()
            .with_client_options(client)
            .with_retry(retry)
            .with_checksum_algorithm(Checksum::SHA256)
            // Not every store has the request that removes several objects at once.
            .with_disable_bulk_delete(true);
        let theirs = self.settings.iter();
        let all = theirs.fold(ours, |builder, (key, value)| builder.with_config(*key, value));
        all.with_bucket_name(bucket)
            .build()
            .map_err(|error| Error::Account(format!("the AWS_… variables cannot be used: {error}")))
    }

    /// Photos and a signature of every request would travel for all to read: somebody has to want that.
    fn check_encryption(&self) -> Result<(), Error> {
        let value =
            |wanted| self.settings.iter().find(|(key, _)| *key == wanted).map(|(_, value)| value.as_str());
        let endpoint = value(AmazonS3ConfigKey::S3Endpoint).or(value(AmazonS3ConfigKey::Endpoint));
        let plain = endpoint.filter(|endpoint| endpoint.to_ascii_lowercase().starts_with("http://"));
        let allowed = value(AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp))
            .is_some_and(|word| word == "1" || word.eq_ignore_ascii_case("true"));
        match plain {
            Some(endpoint) if !allowed => Err(Error::Account(format!(
                "the store at {endpoint} would be reached without encryption; use https, or set AWS_ALLOW_HTTP=true \
                 if nobody else can listen on the way"
            ))),
            _ => Ok(()),
        }
    }
}

/// The store's library leaves it to the program to choose who encrypts.
fn provide_tls() {
    match rustls::crypto::ring::default_provider().install_default() {
        // Somebody has chosen before, which does as well.
        Ok(()) | Err(_) => {}
    }
}

/// Names only: a value may be a secret.
impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.settings.iter().map(|(key, _)| key.as_ref())).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(variables: &[(&str, &str)]) -> Account {
        Account::from_variables(variables.iter().map(|(name, value)| (name.into(), value.into())))
    }

    const PATIENCE: Patience = Patience {
        request: Duration::from_secs(1),
        retries: 0,
        keep_trying: Duration::ZERO,
        longest_pause: FIRST_PAUSE,
    };

    #[test]
    fn takes_what_is_for_the_store_and_shows_no_secret() {
        let account = account(&[
            ("AWS_ACCESS_KEY_ID", "the-key"),
            ("AWS_SECRET_ACCESS_KEY", "the-secret"),
            ("AWS_SESSION_TOKEN", ""),
            ("AWS_PROFILE", "work"),
            ("PATH", "/bin"),
        ]);
        assert_eq!(format!("{account:?}"), r#"["aws_access_key_id", "aws_secret_access_key"]"#);
    }

    #[test]
    fn plain_http_has_to_be_wanted() {
        let keys = [("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s")];
        let connect =
            |more: &[(&str, &str)]| account(&[&keys[..], more].concat()).connect("photos", &PATIENCE);
        for name in ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT"] {
            let refused = connect(&[(name, "http://127.0.0.1:8333")]).unwrap_err().to_string();
            assert!(refused.contains("AWS_ALLOW_HTTP=true"), "{refused}");
        }
        connect(&[("AWS_ENDPOINT_URL", "http://127.0.0.1:8333"), ("AWS_ALLOW_HTTP", "true")]).unwrap();
        connect(&[("AWS_ENDPOINT_URL", "https://s3.example.org")]).unwrap();
        connect(&[]).unwrap();
    }

    #[test]
    fn half_a_key_is_told() {
        let refused = account(&[("AWS_ACCESS_KEY_ID", "k")]).connect("photos", &PATIENCE).unwrap_err();
        assert!(refused.to_string().starts_with("the AWS_… variables cannot be used: "), "{refused}");
    }
}
