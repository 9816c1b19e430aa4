//! What went wrong at the store, in one line, and what an operator can do about it.

use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use model::error_chain;
use object_store::Error;
use object_store::client::{HttpError, HttpErrorKind};

use super::BucketUrl;

#[derive(Debug, Clone)]
pub struct Trouble {
    text: String,
    reason: Reason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    Unreachable,
    Untrusted,
    TooSlow,
    NoKey,
    UnknownKey,
    WrongSecret,
    Expired,
    Denied,
    NoBucket,
    Clock,
    Region,
    Other,
}

impl Trouble {
    pub(super) fn new(deed: &str, object: &str, error: &Error) -> Self {
        let all = error_chain(error);
        let text = match told(&all) {
            Some((code, message)) => format!("{deed} {object}: {code}: {message}"),
            None => format!("{deed} {object}: {all}"),
        };
        Self { text, reason: reason(&all, transport(error)) }
    }

    /// Who has no key of their own asks the machine for one first, and that may be all they have waited for.
    pub(super) fn too_slow(url: &BucketUrl, after: Duration, has_key: bool) -> Self {
        let text = format!("{url} did not answer within {} s", after.as_secs());
        Self { text, reason: if has_key { Reason::TooSlow } else { Reason::NoKey } }
    }

    /// What to do, for whoever runs the service.
    pub fn remedy(&self) -> &'static str {
        match self.reason {
            Reason::Unreachable => {
                "Nothing answers there: see that the store runs, and that AWS_ENDPOINT_URL is its address."
            }
            Reason::Untrusted => {
                "The store's certificate is not trusted: add its authority to this machine, or name it by SSL_CERT_FILE."
            }
            Reason::TooSlow => {
                "The store does not answer in time: see that it is well, and the network to it."
            }
            Reason::NoKey => {
                "There is no key: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give this machine a role."
            }
            Reason::UnknownKey => "The store does not know this key: correct AWS_ACCESS_KEY_ID.",
            Reason::WrongSecret => {
                "The secret does not belong to the key: correct AWS_SECRET_ACCESS_KEY (and see that AWS_REGION is right)."
            }
            Reason::Expired => "The session has ended: renew AWS_SESSION_TOKEN and its key.",
            Reason::Denied => {
                "The key may not do this: let it put, get and delete objects, and list the bucket \
                 (s3:PutObject, s3:GetObject, s3:DeleteObject, s3:ListBucket)."
            }
            Reason::NoBucket => "Make the bucket first, or correct --blobs-url or PINHOLE_BLOBS_URL.",
            Reason::Clock => {
                "The clocks of this machine and of the store differ too much: let both follow a time server."
            }
            Reason::Region => "The bucket is in another region: correct AWS_REGION.",
            Reason::Other => "See that PINHOLE_BLOBS_URL and the AWS_… variables name a store that works.",
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A bucket that is not there also answers "not found", but then nothing is known of the object.
pub(super) fn is_missing_object(error: &Error) -> bool {
    matches!(error, Error::NotFound { .. })
        && told(&error_chain(error)).is_none_or(|(code, _)| code != "NoSuchBucket")
}

/// Code and message of the store's own answer.
fn told(text: &str) -> Option<(&str, &str)> {
    let between = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        rest.split_once(&format!("</{tag}>")).map(|(words, _)| words)
    };
    Some((between("Code")?, between("Message").unwrap_or_default()))
}

/// How a request failed that got no answer.
fn transport(error: &Error) -> Option<HttpErrorKind> {
    let mut causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.find_map(|cause| cause.downcast_ref::<HttpError>()).map(HttpError::kind)
}

fn reason(text: &str, transport: Option<HttpErrorKind>) -> Reason {
    if let Some((code, _)) = told(text) {
        return match code {
            "InvalidAccessKeyId" => Reason::UnknownKey,
            "SignatureDoesNotMatch" => Reason::WrongSecret,
            "ExpiredToken" | "InvalidToken" | "TokenRefreshRequired" => Reason::Expired,
            "AccessDenied" | "AllAccessDisabled" | "AccountProblem" => Reason::Denied,
            "NoSuchBucket" => Reason::NoBucket,
            "RequestTimeTooSkewed" | "RequestExpired" => Reason::Clock,
            "AuthorizationHeaderMalformed" | "PermanentRedirect" | "IllegalLocationConstraintException" => {
                Reason::Region
            }
            "SlowDown" | "RequestTimeout" | "ServiceUnavailable" => Reason::TooSlow,
            _ => Reason::Other,
        };
    }
    // Where machines ask for their role.
    if text.contains("169.254.169.254") || text.contains("169.254.170.2") {
        return Reason::NoKey;
    }
    if text.contains("incorrectly configured region") {
        return Reason::Region;
    }
    match transport {
        Some(HttpErrorKind::Connect) if text.contains("certificate") => Reason::Untrusted,
        Some(HttpErrorKind::Connect) => Reason::Unreachable,
        Some(HttpErrorKind::Timeout) => Reason::TooSlow,
        _ => Reason::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(code: &str) -> String {
        let body = format!("<Error><Code>{code}</Code><Message>No.</Message></Error>");
        format!(
            "Error performing PUT http://x/y in 3ms - Server returned non-2xx status code: 403 Forbidden: {body}"
        )
    }

    fn not_found(text: &str) -> Error {
        Error::NotFound { path: "photos/x".into(), source: text.into() }
    }

    #[test]
    fn the_stores_own_words_are_told() {
        let error = Error::Generic { store: "S3", source: answer("InvalidAccessKeyId").into() };
        let trouble = Trouble::new("put", "s3://photos/x", &error);
        assert_eq!(trouble.to_string(), "put s3://photos/x: InvalidAccessKeyId: No.");
        assert!(trouble.remedy().contains("AWS_ACCESS_KEY_ID"));
    }

    #[test]
    fn reasons_lead_to_remedies() {
        for (code, expected) in [
            ("SignatureDoesNotMatch", Reason::WrongSecret),
            ("RequestTimeTooSkewed", Reason::Clock),
            ("NoSuchBucket", Reason::NoBucket),
            ("AccessDenied", Reason::Denied),
            ("PermanentRedirect", Reason::Region),
            ("SomethingNew", Reason::Other),
        ] {
            assert_eq!(reason(&answer(code), None), expected, "{code}");
        }
        let connect = Some(HttpErrorKind::Connect);
        assert_eq!(reason("error sending request: Connection refused", connect), Reason::Unreachable);
        assert_eq!(reason("invalid peer certificate: UnknownIssuer", connect), Reason::Untrusted);
        assert_eq!(reason("PUT http://169.254.169.254/latest/api/token", connect), Reason::NoKey);
        assert_eq!(reason("operation timed out", Some(HttpErrorKind::Timeout)), Reason::TooSlow);
    }

    #[test]
    fn who_waits_without_a_key_is_told_of_it() {
        let url: BucketUrl = "s3://photos".parse().unwrap();
        let remedy = |has_key| Trouble::too_slow(&url, Duration::from_secs(20), has_key).remedy();
        assert!(remedy(false).contains("AWS_ACCESS_KEY_ID") && !remedy(true).contains("AWS_ACCESS_KEY_ID"));
    }

    #[test]
    fn a_missing_bucket_is_no_missing_object() {
        assert!(is_missing_object(&not_found(&answer("NoSuchKey"))));
        assert!(is_missing_object(&not_found("404 without a word")));
        assert!(!is_missing_object(&not_found(&answer("NoSuchBucket"))));
        assert!(!is_missing_object(&Error::Generic { store: "S3", source: answer("NoSuchKey").into() }));
    }
}
