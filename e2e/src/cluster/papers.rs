//! A certificate that vouches for itself, as good as one from an authority for whoever is told to trust it.

use std::path::{Path, PathBuf};

use super::House;
use super::house::run;

pub struct Papers {
    pub certificate: PathBuf,
    pub(super) key: PathBuf,
}

impl Papers {
    /// For a server called `localhost` that lives there.
    pub fn made_in(house: &House) -> Self {
        let papers =
            Self { certificate: house.path().join("server.crt"), key: house.path().join("server.key") };
        let mut openssl = house.ordinary_command(Path::new("openssl"));
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
        // It is to be believed, and not to vouch for others.
        openssl.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
        run(openssl.arg("-keyout").arg(&papers.key).arg("-out").arg(&papers.certificate));
        papers
    }
}
