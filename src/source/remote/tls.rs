//! The TLS side of a connection, for URLs and for pods alike.
//!
//! Knows certificates and keys in PEM files. Must not know what is asked over the connection.

use super::access::TlsFiles;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_platform_verifier::BuilderVerifierExt;
use std::path::Path;
use std::sync::Arc;

/// The configuration that the files ask for.
///
/// # Errors
/// A sentence with the path of the file that cannot be used.
pub(super) fn client_config(files: &TlsFiles) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match (&files.cacert, files.insecure) {
        (_, true) => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(NoVerifier(provider))),
        (Some(path), false) => builder.with_root_certificates(read_roots(path)?),
        (None, false) => builder
            .with_platform_verifier()
            .map_err(|error| format!("the system's certificates: {error}"))?,
    };
    match (&files.cert, &files.key) {
        (None, None) => Ok(builder.with_no_client_auth()),
        (Some(cert), key) => {
            // One file may hold both, as curl allows.
            let key_file = key.as_ref().unwrap_or(cert);
            let chain = read_certificates(cert)?;
            let key = PrivateKeyDer::from_pem_file(key_file)
                .map_err(|error| format!("{}: no private key: {error}", key_file.display()))?;
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| format!("{}: {error}", cert.display()))
        }
        (None, Some(key)) => Err(format!("{}: a key without --cert", key.display())),
    }
}

fn read_roots(path: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in read_certificates(path)? {
        roots
            .add(certificate)
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(roots)
}

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let certificates: Vec<_> = CertificateDer::pem_file_iter(path)
        .and_then(|certificates| certificates.collect())
        .map_err(|error| wrong(&error))?;
    match certificates.is_empty() {
        true => Err(wrong(&"no certificate in PEM form in this file")),
        false => Ok(certificates),
    }
}

/// Takes any certificate: `--insecure`. Signatures of the handshake are still checked, so that
/// the server at least holds the key of what it shows.
#[derive(Debug)]
struct NoVerifier(Arc<CryptoProvider>);

impl ServerCertVerifier for NoVerifier {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_file_is_said_with_its_path() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ca.pem");
        let files = TlsFiles {
            cacert: Some(path.clone()),
            ..TlsFiles::default()
        };
        let missing = client_config(&files).unwrap_err();
        assert!(missing.contains("ca.pem"), "{missing}");
        std::fs::write(&path, "hello").unwrap();
        let empty = client_config(&files).unwrap_err();
        assert!(empty.contains("no certificate in PEM form"), "{empty}");
        let files = TlsFiles {
            key: Some(path),
            insecure: true,
            ..TlsFiles::default()
        };
        let alone = client_config(&files).unwrap_err();
        assert!(alone.contains("a key without --cert"), "{alone}");
    }
}
