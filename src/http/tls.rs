//! TLS as the API server speaks it.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::server::ResolvesServerCert;
use tokio_rustls::TlsAcceptor;

/// TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
#[error("TLS cannot be set up")]
pub(crate) struct TlsError(#[from] rustls::Error);

/// TLS 1.2 and 1.3 with the certificate that `certificate` names at each handshake, and HTTP/1.1 inside.
pub(crate) fn acceptor(certificate: Arc<dyn ResolvesServerCert>) -> Result<TlsAcceptor, TlsError> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(certificate);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
