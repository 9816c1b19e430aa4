//! TLS connections to PostgreSQL, by rustls.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsConnector;

use super::endpoint::Transport;
use super::ssl_mode::SslMode;

/// The length of the message, 8, and the code of an SSLRequest.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// Asks the server for TLS. It is not read further than the response, so that nothing sent before the
/// handshake is taken for encrypted.
pub(super) async fn is_offered(socket: &mut dyn Transport) -> io::Result<bool> {
    socket.write_all(&SSL_REQUEST).await?;
    Ok(socket.read_u8().await? == b'S')
}

/// The TLS configuration for a server.
pub(super) struct Tls(TlsConnector);

impl Tls {
    /// Loads the CA certificates; the error is a message for the operator.
    pub(super) fn new(mode: &SslMode) -> Result<Self, String> {
        let provider = Arc::new(ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let config = match mode {
            SslMode::VerifyFull { ca_file: Some(path) } => {
                config.with_root_certificates(roots_from_file(path)?)
            }
            SslMode::VerifyFull { ca_file: None } => config.with_root_certificates(system_roots()?),
            SslMode::VerifyCa { ca_file } => {
                let roots = Some(roots_from_file(ca_file)?);
                config.dangerous().with_custom_certificate_verifier(Arc::new(AnyName { provider, roots }))
            }
            SslMode::Disable | SslMode::Allow | SslMode::Prefer | SslMode::Require => config
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AnyName { provider, roots: None })),
        };
        Ok(Self(TlsConnector::from(Arc::new(config.with_no_client_auth()))))
    }

    /// Encrypts a connection; `name` is the host of the URL.
    pub(super) async fn handshake(
        &self,
        socket: Box<dyn Transport>,
        name: &str,
    ) -> io::Result<Box<dyn Transport>> {
        let name = ServerName::try_from(name.to_owned())
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(Box::new(self.0.connect(name, socket).await?))
    }
}

fn roots_from_file(path: &Path) -> Result<RootCertStore, String> {
    let unreadable = |reason: String| format!("sslrootcert {}: {reason}", path.display());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unreadable(error.to_string()))? {
        let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
        roots.add(certificate).map_err(|error| unreadable(error.to_string()))?;
    }
    if roots.is_empty() { Err(unreadable("the file contains no certificate".into())) } else { Ok(roots) }
}

fn system_roots() -> Result<RootCertStore, String> {
    let loaded = rustls_native_certs::load_native_certs();
    for error in &loaded.errors {
        tracing::warn!(%error, "system CA certificate unreadable; skipped");
    }
    let mut roots = RootCertStore::empty();
    // Systems ship some certificates that rustls cannot parse; the others are usable.
    let (added, _) = roots.add_parsable_certificates(loaded.certs);
    if added == 0 {
        return Err(
            "this system has no usable CA certificates; install ca-certificates, or set sslrootcert to a file"
                .into(),
        );
    }
    Ok(roots)
}

/// Accepts a certificate for any name, by a CA in `roots`, or by anyone without. Handshake signatures are
/// still verified: the server has the key of its certificate.
#[derive(Debug)]
struct AnyName {
    provider: Arc<CryptoProvider>,
    roots: Option<RootCertStore>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(roots) = &self.roots {
            verify_server_cert_signed_by_trust_anchor(
                &ParsedCertificate::try_from(certificate)?,
                roots,
                intermediates,
                now,
                self.provider.signature_verification_algorithms.all,
            )?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
