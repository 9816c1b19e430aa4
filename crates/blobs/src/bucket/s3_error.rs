//! A failed request to the S3 store: its message in one line, and the remedy for the operator.

use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use model::error_chain;
use object_store::Error;
use object_store::client::{HttpError, HttpErrorKind};

use super::BucketUrl;

#[derive(Debug, Clone)]
pub struct S3Error {
    text: String,
    reason: Reason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    Unreachable,
    UntrustedCertificate,
    Timeout,
    NoAccessKey,
    UnknownAccessKey,
    WrongSecret,
    ExpiredToken,
    AccessDenied,
    NoSuchBucket,
    ClockSkew,
    WrongRegion,
    Other,
}

impl S3Error {
    pub(super) fn new(operation: &str, object: &str, error: &Error) -> Self {
        let chain = error_chain(error);
        let text = match error_response(&chain) {
            Some((code, message)) => format!("{operation} {object}: {code}: {message}"),
            None => format!("{operation} {object}: {chain}"),
        };
        Self { text, reason: reason(&chain, transport(error)) }
    }

    /// Without an access key, the request for credentials from the metadata service may be what timed out.
    pub(super) fn timed_out(url: &BucketUrl, after: Duration, has_access_key: bool) -> Self {
        let text = format!("{url} did not respond within {} s", after.as_secs());
        Self { text, reason: if has_access_key { Reason::Timeout } else { Reason::NoAccessKey } }
    }

    /// What the operator can do.
    pub fn remedy(&self) -> &'static str {
        match self.reason {
            Reason::Unreachable => {
                "The store is unreachable: check that it runs, and that AWS_ENDPOINT_URL is its address."
            }
            Reason::UntrustedCertificate => {
                "The store's certificate is not trusted: add its CA to this machine, or name it by SSL_CERT_FILE."
            }
            Reason::Timeout => "The store does not respond in time: check its health and the network to it.",
            Reason::NoAccessKey => {
                "There is no access key: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give this machine a role."
            }
            Reason::UnknownAccessKey => "The store does not know this access key: correct AWS_ACCESS_KEY_ID.",
            Reason::WrongSecret => {
                "The secret does not match the access key: correct AWS_SECRET_ACCESS_KEY, and check AWS_REGION."
            }
            Reason::ExpiredToken => {
                "The session token has expired: renew AWS_SESSION_TOKEN and its access key."
            }
            Reason::AccessDenied => {
                "The access key lacks a permission: allow it to put, get and delete objects and to list the bucket \
                 (s3:PutObject, s3:GetObject, s3:DeleteObject, s3:ListBucket)."
            }
            Reason::NoSuchBucket => {
                "The bucket does not exist: create it, or correct --blobs-url or PINHOLE_BLOBS_URL."
            }
            Reason::ClockSkew => {
                "The clocks of this machine and of the store differ too much: synchronise both with a time server."
            }
            Reason::WrongRegion => "The bucket is in another region: correct AWS_REGION.",
            Reason::Other => "Check PINHOLE_BLOBS_URL, the AWS_… variables and the store's own log.",
        }
    }
}

impl fmt::Display for S3Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A missing bucket is reported as 404 as well, but says nothing about the object.
pub(super) fn is_missing_object(error: &Error) -> bool {
    matches!(error, Error::NotFound { .. })
        && error_response(&error_chain(error)).is_none_or(|(code, _)| code != "NoSuchBucket")
}

/// Code and message of the store's XML error response.
fn error_response(text: &str) -> Option<(&str, &str)> {
    let between = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        rest.split_once(&format!("</{tag}>")).map(|(content, _)| content)
    };
    Some((between("Code")?, between("Message").unwrap_or_default()))
}

/// How a request failed that got no response.
fn transport(error: &Error) -> Option<HttpErrorKind> {
    let mut causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.find_map(|cause| cause.downcast_ref::<HttpError>()).map(HttpError::kind)
}

fn reason(text: &str, transport: Option<HttpErrorKind>) -> Reason {
    if let Some((code, _)) = error_response(text) {
        return match code {
            "InvalidAccessKeyId" => Reason::UnknownAccessKey,
            "SignatureDoesNotMatch" => Reason::WrongSecret,
            "ExpiredToken" | "InvalidToken" | "TokenRefreshRequired" => Reason::ExpiredToken,
            "AccessDenied" | "AllAccessDisabled" | "AccountProblem" => Reason::AccessDenied,
            "NoSuchBucket" => Reason::NoSuchBucket,
            "RequestTimeTooSkewed" | "RequestExpired" => Reason::ClockSkew,
            "AuthorizationHeaderMalformed" | "PermanentRedirect" | "IllegalLocationConstraintException" => {
                Reason::WrongRegion
            }
            "SlowDown" | "RequestTimeout" | "ServiceUnavailable" => Reason::Timeout,
            _ => Reason::Other,
        };
    }
    // The metadata services that provide the credentials of a role.
    if text.contains("169.254.169.254") || text.contains("169.254.170.2") {
        return Reason::NoAccessKey;
    }
    if text.contains("incorrectly configured region") {
        return Reason::WrongRegion;
    }
    match transport {
        Some(HttpErrorKind::Connect) if text.contains("certificate") => Reason::UntrustedCertificate,
        Some(HttpErrorKind::Connect) => Reason::Unreachable,
        Some(HttpErrorKind::Timeout) => Reason::Timeout,
        _ => Reason::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(code: &str) -> String {
        let body = format!("<Error><Code>{code}</Code><Message>No.</Message></Error>");
        format!(
            "Error performing PUT http://x/y in 3ms - Server returned non-2xx status code: 403 Forbidden: {body}"
        )
    }

    fn not_found(text: &str) -> Error {
        Error::NotFound { path: "photos/x".into(), source: text.into() }
    }

    #[test]
    fn the_message_contains_the_stores_code_and_message() {
        let error = Error::Generic { store: "S3", source: response("InvalidAccessKeyId").into() };
        let error = S3Error::new("put", "s3://photos/x", &error);
        assert_eq!(error.to_string(), "put s3://photos/x: InvalidAccessKeyId: No.");
        assert!(error.remedy().contains("AWS_ACCESS_KEY_ID"));
    }

    #[test]
    fn error_codes_and_transport_errors_map_to_reasons() {
        for (code, expected) in [
            ("SignatureDoesNotMatch", Reason::WrongSecret),
            ("RequestTimeTooSkewed", Reason::ClockSkew),
            ("NoSuchBucket", Reason::NoSuchBucket),
            ("AccessDenied", Reason::AccessDenied),
            ("PermanentRedirect", Reason::WrongRegion),
            ("SomethingNew", Reason::Other),
        ] {
            assert_eq!(reason(&response(code), None), expected, "{code}");
        }
        let connect = Some(HttpErrorKind::Connect);
        assert_eq!(reason("error sending request: Connection refused", connect), Reason::Unreachable);
        assert_eq!(reason("invalid peer certificate: UnknownIssuer", connect), Reason::UntrustedCertificate);
        assert_eq!(reason("PUT http://169.254.169.254/latest/api/token", connect), Reason::NoAccessKey);
        assert_eq!(reason("operation timed out", Some(HttpErrorKind::Timeout)), Reason::Timeout);
    }

    #[test]
    fn a_timeout_without_an_access_key_suggests_to_set_one() {
        let url: BucketUrl = "s3://photos".parse().unwrap();
        let remedy =
            |has_access_key| S3Error::timed_out(&url, Duration::from_secs(20), has_access_key).remedy();
        assert!(remedy(false).contains("AWS_ACCESS_KEY_ID") && !remedy(true).contains("AWS_ACCESS_KEY_ID"));
    }

    #[test]
    fn a_missing_bucket_is_not_a_missing_object() {
        assert!(is_missing_object(&not_found(&response("NoSuchKey"))));
        assert!(is_missing_object(&not_found("404 without a body")));
        assert!(!is_missing_object(&not_found(&response("NoSuchBucket"))));
        assert!(!is_missing_object(&Error::Generic { store: "S3", source: response("NoSuchKey").into() }));
    }
}
