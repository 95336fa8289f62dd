//! Kubeconfig files and certificates for the fake API server.

use super::apiserver::ApiServer;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Who a kubeconfig says that we are.
#[derive(Debug, Clone)]
pub enum User {
    Nobody,
    Token(String),
    TokenFile(PathBuf),
    /// A credential plugin: a line for `sh -c`.
    Plugin(String),
    /// Certificate chain and key in PEM form.
    Certificate(String, String),
}

impl User {
    /// A plugin that prints a token.
    pub fn plugin_with_token(token: &str) -> Self {
        let credential = json!({
            "apiVersion": "client.authentication.k8s.io/v1",
            "kind": "ExecCredential",
            "status": {"token": token},
        });
        Self::Plugin(format!("echo '{credential}'"))
    }

    fn object(&self) -> Value {
        let encode = |text: &str| BASE64_STANDARD.encode(text);
        match self {
            Self::Nobody => json!({}),
            Self::Token(token) => json!({"token": token}),
            Self::TokenFile(path) => json!({"tokenFile": path}),
            Self::Plugin(line) => json!({"exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": "sh",
                "args": ["-c", line],
                "interactiveMode": "IfAvailable",
            }}),
            Self::Certificate(chain, key) => json!({
                "client-certificate-data": encode(chain),
                "client-key-data": encode(key),
            }),
        }
    }
}

impl ApiServer {
    /// A kubeconfig for this server, as an object that may be changed before it is written.
    /// Its context is `fake`, its namespace `prod`.
    pub fn kubeconfig(&self, user: &User) -> Value {
        let mut cluster = json!({"server": self.url()});
        if let Some(certificates) = &self.certificates {
            let ca = BASE64_STANDARD.encode(&certificates.ca);
            cluster["certificate-authority-data"] = ca.into();
        }
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "cluster", "cluster": cluster}],
            "users": [{"name": "user", "user": user.object()}],
            "contexts": [{
                "name": "fake",
                "context": {"cluster": "cluster", "user": "user", "namespace": "prod"},
            }],
            "current-context": "fake",
        })
    }

    /// Writes a kubeconfig for this server.
    pub fn write_kubeconfig(&self, directory: &Path, user: &User) -> PathBuf {
        write_kubeconfig(directory, &self.kubeconfig(user))
    }
}

/// Writes a kubeconfig. JSON is YAML too.
pub fn write_kubeconfig(directory: &Path, object: &Value) -> PathBuf {
    let path = directory.join("kubeconfig");
    std::fs::write(&path, object.to_string()).unwrap();
    path
}

/// An authority, what a server shows and what a client shows, in PEM form.
#[derive(Debug, Clone)]
pub struct Certificates {
    pub ca: String,
    pub server: (String, String),
    pub client: (String, String),
}

impl Certificates {
    /// A new authority; the server is called `localhost` and `127.0.0.1`.
    pub fn new() -> Self {
        let ca_key = KeyPair::generate().unwrap();
        let mut ca = CertificateParams::new(Vec::new()).unwrap();
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca_certificate = ca.self_signed(&ca_key).unwrap();
        let issuer = Issuer::new(ca, ca_key);
        let issue = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(names).unwrap();
            let certificate = params.signed_by(&key, &issuer).unwrap();
            (certificate.pem(), key.serialize_pem())
        };
        Self {
            ca: ca_certificate.pem(),
            server: issue(&["localhost", "127.0.0.1"]),
            client: issue(&["client"]),
        }
    }

    /// A server that takes our clients' certificates, and clients without one.
    pub fn server_config(&self) -> Arc<ServerConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(certificate(&self.ca)).unwrap();
        let provider = Arc::new(ring::default_provider());
        let clients =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
                .allow_unauthenticated()
                .build()
                .unwrap();
        let (chain, key) = &self.server;
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(clients)
            .with_single_cert(
                vec![certificate(chain)],
                PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
            )
            .unwrap();
        Arc::new(config)
    }
}

fn certificate(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}

/// A client that checks nothing, as the API server's proxy is to pods.
pub fn trusting_config() -> Arc<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trusting))
        .with_no_client_auth();
    Arc::new(config)
}

#[derive(Debug)]
struct Trusting;

impl ServerCertVerifier for Trusting {
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
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let provider = ring::default_provider();
        provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
