//! The values of `sslmode`, with libpq's meaning: whether connections are encrypted, and the server verified.

use std::path::PathBuf;

use super::endpoint::Endpoint;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SslMode {
    Disable,
    /// Encrypted only if the server rejects connections that are not.
    Allow,
    /// Encrypted if the server can. An attacker on the way can turn that off.
    Prefer,
    /// Encrypted, but without protection against an impostor.
    Require,
    /// The server has a certificate of a CA in `ca_file`, for any name.
    VerifyCa {
        ca_file: PathBuf,
    },
    /// The certificate is for the host name, by a CA in `ca_file` or else one that this system trusts.
    VerifyFull {
        ca_file: Option<PathBuf>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encryption {
    Never,
    IfOffered,
    Required,
}

impl SslMode {
    /// `name` and `root_cert` are the values of `sslmode` and `sslrootcert`.
    pub(super) fn parse(name: &str, root_cert: Option<&str>) -> Result<Self, String> {
        match (name, root_cert) {
            ("verify-full", root_cert) => Ok(Self::verify_full(root_cert)),
            // Of the public CAs anyone gets a certificate for some name.
            ("verify-ca", None | Some("system")) => Err("expected sslmode=verify-ca with sslrootcert, the \
                file with the CA certificate; use verify-full for the CAs of the system"
                .into()),
            ("verify-ca", Some(file)) => Ok(Self::VerifyCa { ca_file: file.into() }),
            ("disable" | "allow" | "prefer" | "require", Some(_)) => {
                Err("expected sslmode=verify-full or verify-ca with sslrootcert: no other mode verifies \
                     certificates"
                    .into())
            }
            ("disable", None) => Ok(Self::Disable),
            ("allow", None) => Ok(Self::Allow),
            ("prefer", None) => Ok(Self::Prefer),
            ("require", None) => Ok(Self::Require),
            _ => {
                Err("expected sslmode to be disable, allow, prefer, require, verify-ca or verify-full".into())
            }
        }
    }

    /// For a URL without `sslmode`.
    pub(super) fn default_for(endpoint: &Endpoint, root_cert: Option<&str>) -> Self {
        let is_local = endpoint.is_local() && root_cert.is_none();
        if is_local { Self::Prefer } else { Self::verify_full(root_cert) }
    }

    fn verify_full(root_cert: Option<&str>) -> Self {
        Self::VerifyFull { ca_file: root_cert.filter(|file| *file != "system").map(PathBuf::from) }
    }

    /// What to try first, and what if the server rejects that before authentication.
    pub(super) fn encryption(&self) -> (Encryption, Option<Encryption>) {
        match self {
            Self::Disable => (Encryption::Never, None),
            Self::Allow => (Encryption::Never, Some(Encryption::IfOffered)),
            Self::Prefer => (Encryption::IfOffered, Some(Encryption::Never)),
            Self::Require | Self::VerifyCa { .. } | Self::VerifyFull { .. } => (Encryption::Required, None),
        }
    }
}
