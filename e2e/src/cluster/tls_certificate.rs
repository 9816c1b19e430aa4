//! A self-signed TLS certificate, which a client trusts when it is configured as the root certificate.

use std::path::{Path, PathBuf};

use super::TempHome;
use super::host::run;

pub struct TlsCertificate {
    pub cert_file: PathBuf,
    pub key_file: PathBuf,
}

impl TlsCertificate {
    /// For a server called `localhost` whose files are in `home`.
    pub fn self_signed_in(home: &TempHome) -> Self {
        let certificate =
            Self { cert_file: home.path().join("server.crt"), key_file: home.path().join("server.key") };
        let mut openssl = home.unprivileged_command(Path::new("openssl"));
        openssl.args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
        ]);
        openssl.args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]);
        // An end-entity certificate: webpki rejects a server that presents a CA certificate
        // (CaUsedAsEndEntity).
        openssl.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
        run(openssl.arg("-keyout").arg(&certificate.key_file).arg("-out").arg(&certificate.cert_file));
        certificate
    }
}
