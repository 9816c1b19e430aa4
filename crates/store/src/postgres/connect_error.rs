//! Why a connection could not be opened, and what to do about it.

use std::fmt;
use std::io;

use model::error_chain;

use super::authentication::Refusal;

#[derive(Debug)]
pub(super) enum ConnectError {
    Socket(io::Error),
    /// The `sslmode` requires it.
    TlsNotOffered,
    Tls(io::Error),
    /// The server closed the connection before it asked for authentication.
    Rejected(tokio_postgres::Error),
    Refused(Refusal),
    Postgres(tokio_postgres::Error),
    /// `target_session_attrs` is `read-write`.
    ReadOnly,
    /// `target_session_attrs` is `read-only`.
    ReadWrite,
}

impl ConnectError {
    /// Whether the same server may accept a connection with or without TLS instead. After authentication
    /// began it may not: a password that was wrong with TLS must not be repeated without.
    pub(super) fn depends_on_encryption(&self) -> bool {
        matches!(self, Self::Tls(_) | Self::Rejected(_))
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(error) => write!(f, "{}", error_chain(error)),
            Self::TlsNotOffered => f.write_str(
                "the server does not offer TLS, which sslmode=require, verify-ca and verify-full need \
                 (verify-full is the default, except on loopback). Set ssl = on in postgresql.conf, or add \
                 sslmode=disable to the database URL if the network in between is trusted: it could read \
                 and change everything",
            ),
            Self::Tls(error) => {
                let chain = error_chain(error);
                write!(f, "TLS: {chain}")?;
                tls_hint(&chain).map_or(Ok(()), |hint| write!(f, " ({hint})"))
            }
            Self::Rejected(error) | Self::Postgres(error) => write!(f, "{}", error_chain(error)),
            Self::Refused(refusal) => refusal.fmt(f),
            Self::ReadOnly => f.write_str(
                "the server does not allow writes: it is a standby; put the primary, or both, into the URL",
            ),
            Self::ReadWrite => f.write_str("the server is not read-only, as target_session_attrs demands"),
        }
    }
}

/// What to do about an error of rustls that does not say it.
fn tls_hint(chain: &str) -> Option<&'static str> {
    const UNKNOWN_ISSUER: &str = "set sslrootcert to the file with the CA certificate; sslmode=require would \
        encrypt without verifying, so that an impostor could pose as the server";
    let hints = [
        ("UnknownIssuer", UNKNOWN_ISSUER),
        // A CA of the same name with another key is trusted.
        ("BadSignature", UNKNOWN_ISSUER),
        ("UnsupportedSignatureAlgorithm", UNKNOWN_ISSUER),
        ("CaUsedAsEndEntity", "the server uses a CA certificate as its own; issue it one with CA:FALSE"),
        (
            "not valid for name",
            "use the host name of the certificate in the URL, or sslmode=verify-ca, with which any server \
             with a certificate of the CA could pose as this one",
        ),
    ];
    hints.into_iter().find_map(|(pattern, hint)| chain.contains(pattern).then_some(hint))
}
