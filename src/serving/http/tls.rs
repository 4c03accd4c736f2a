//! The TLS handshake: which certificate is shown, which one a client must show, and why a handshake failed.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, ResolvesServerCert, WebPkiClientVerifier};
use rustls::{ConfigBuilder, ServerConfig, WantsVerifier};
use tokio::io::BufReader;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// How much of what has come is read in one call. rustls asks for 4 KiB, and a usual review has more.
const SOCKET_BYTES: usize = 16 * 1024;

/// What TLS reads and writes.
type Socket = BufReader<TcpStream>;

/// TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
#[error("could not set up TLS")]
pub struct TlsError(#[from] rustls::Error);

/// Why the client with this certificate is denied, though a client CA signed it.
type Objection = dyn Fn(&CertificateDer<'_>) -> Option<String> + Send + Sync;

/// The server's side of TLS 1.2 and 1.3, with HTTP/1.1 inside.
pub struct Tls {
    builder: ConfigBuilder<ServerConfig, WantsVerifier>,
    certificate: Arc<dyn ResolvesServerCert>,
    objection: Box<Objection>,
    /// By which the next handshake is done.
    config: ArcSwap<ServerConfig>,
}

impl Tls {
    /// Shows the certificate that `certificate` returns at each handshake. Accepts clients without a certificate, until
    /// [`accept_only`](Self::accept_only) is called. A client that has shown one to which there is an objection gets an
    /// answer that says so.
    pub fn new(
        certificate: Arc<dyn ResolvesServerCert>,
        objection: Box<Objection>,
    ) -> Result<Self, TlsError> {
        let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()?;
        let config = config(&builder, &certificate, WebPkiClientVerifier::no_client_auth());
        Ok(Self {
            builder,
            certificate,
            objection,
            config: ArcSwap::from_pointee(config),
        })
    }

    /// From the next handshake on accepts only clients whose certificate `verifier` accepts.
    pub fn accept_only(&self, verifier: Arc<dyn ClientCertVerifier>) {
        let mut config = config(&self.builder, &self.certificate, verifier);
        // A resumed session would not show its certificate again, even if the client CA has changed.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        self.config.store(Arc::new(config));
    }

    /// Does the handshake. Also returns why the client is denied, if it is.
    pub async fn handshake(
        &self,
        stream: TcpStream,
    ) -> Result<(TlsStream<Socket>, Option<String>), HandshakeError> {
        let acceptor = TlsAcceptor::from(self.config.load_full());
        let stream = Socket::with_capacity(SOCKET_BYTES, stream);
        let stream = timeout(HANDSHAKE, acceptor.accept(stream).into_fallible())
            .await
            .map_err(|_| HandshakeError::Timeout)?
            .map_err(|(error, stream)| HandshakeError::Failed(error, stream))?;
        let (_, session) = stream.get_ref();
        let shown = session.peer_certificates().and_then(|chain| chain.first());
        let objection = shown.and_then(|certificate| (self.objection)(certificate));
        Ok((stream, objection))
    }
}

fn config(
    builder: &ConfigBuilder<ServerConfig, WantsVerifier>,
    certificate: &Arc<dyn ResolvesServerCert>,
    verifier: Arc<dyn ClientCertVerifier>,
) -> ServerConfig {
    let builder = builder.clone().with_client_cert_verifier(verifier);
    let mut config = builder.with_cert_resolver(Arc::clone(certificate));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

/// Why a handshake failed.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    #[error("the client took longer than {} s", HANDSHAKE.as_secs())]
    Timeout,
    #[error("{0}")]
    Failed(io::Error, Socket),
}

impl HandshakeError {
    /// The label in metrics: one of few.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Failed(error, _) if error.kind() == io::ErrorKind::UnexpectedEof => "client_left",
            Self::Failed(..) => match self.tls() {
                // Such as a client that does not know our CA.
                Some(rustls::Error::AlertReceived(_)) => "client_refused",
                Some(_) => "not_acceptable",
                None => "io",
            },
        }
    }

    /// The problem of the client's certificate, if that was the reason: the label in metrics.
    pub fn denial(&self) -> Option<&'static str> {
        match self.tls()? {
            rustls::Error::NoCertificatesPresented => Some("no_certificate"),
            // It is of another CA, has expired, or is not for clients.
            rustls::Error::InvalidCertificate(_) => Some("invalid_certificate"),
            _ => None,
        }
    }

    /// The connection, on which the client has still to read what was wrong.
    pub fn into_stream(self) -> Option<Socket> {
        match self {
            Self::Failed(_, stream) => Some(stream),
            Self::Timeout => None,
        }
    }

    fn tls(&self) -> Option<&rustls::Error> {
        match self {
            Self::Failed(error, _) => error.get_ref()?.downcast_ref(),
            Self::Timeout => None,
        }
    }
}
