//! The TLS handshake: which certificate is shown, which one a client must show, and why a handshake failed.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, ResolvesServerCert};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// How long a client may take to read why there is no handshake.
const LINGER: Duration = Duration::from_secs(1);

/// TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
#[error("TLS cannot be set up")]
pub(crate) struct TlsError(#[from] rustls::Error);

/// Why the client with this certificate is denied, though a client CA signed it.
type Objection = dyn Fn(&CertificateDer<'_>) -> Option<String> + Send + Sync;

/// Which clients are accepted.
#[derive(Clone)]
pub(crate) struct Clients {
    /// Whether a client CA signed a certificate: without such a certificate there is no handshake.
    pub(crate) verifier: Arc<dyn ClientCertVerifier>,
    /// Why a certificate is denied, if it is: the client gets an answer that says so.
    pub(crate) objection: Arc<Objection>,
}

/// The server's side of TLS.
#[derive(Clone)]
pub(crate) struct Tls {
    acceptor: TlsAcceptor,
    clients: Option<Clients>,
}

/// A connection whose handshake has succeeded.
pub(super) struct Secured {
    pub(super) stream: TlsStream<TcpStream>,
    /// Why its client is denied.
    pub(super) objection: Option<String>,
}

impl Tls {
    /// TLS 1.2 and 1.3 with the certificate that `certificate` returns at each handshake, and HTTP/1.1 inside. If `clients`
    /// is given, only they are accepted.
    pub(crate) fn new(
        certificate: Arc<dyn ResolvesServerCert>,
        clients: Option<Clients>,
    ) -> Result<Self, TlsError> {
        let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()?;
        let builder = match &clients {
            Some(clients) => builder.with_client_cert_verifier(Arc::clone(&clients.verifier)),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_cert_resolver(certificate);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        if clients.is_some() {
            // A resumed session would not show its certificate again, even if the client CA has changed.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            clients,
        })
    }

    /// Does the handshake, unless the slot of this connection is needed for another one.
    pub(super) async fn handshake(
        &self,
        stream: TcpStream,
        gives_way: &CancellationToken,
    ) -> Result<Secured, HandshakeError> {
        let stream = tokio::select! {
            shaken = timeout(HANDSHAKE, self.acceptor.accept(stream).into_fallible()) => {
                match shaken.map_err(|_| HandshakeError::Timeout)? {
                    Ok(stream) => stream,
                    Err((error, stream)) => return Err(HandshakeError::Failed(error, stream)),
                }
            }
            () = gives_way.cancelled() => return Err(HandshakeError::Displaced),
        };
        let objection = self.clients.as_ref().and_then(|clients| {
            let (_, session) = stream.get_ref();
            let leaf = session.peer_certificates()?.first()?;
            (clients.objection)(leaf)
        });
        Ok(Secured { stream, objection })
    }
}

/// Why a handshake failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum HandshakeError {
    #[error("the client took longer than {} s", HANDSHAKE.as_secs())]
    Timeout,
    #[error("{0}")]
    Failed(io::Error, TcpStream),
    #[error("another connection got its slot")]
    Displaced,
}

impl HandshakeError {
    /// The label in metrics: one of few.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Displaced => "displaced",
            Self::Failed(error, _) if error.kind() == io::ErrorKind::UnexpectedEof => "client_left",
            Self::Failed(..) => match self.tls() {
                // Such as a client that does not know our CA.
                Some(rustls::Error::AlertReceived(_)) => "client_refused",
                Some(_) => "not_acceptable",
                None => "io",
            },
        }
    }

    /// What was wrong with the client's certificate, if that was the reason.
    pub(super) fn denial(&self) -> Option<Denial> {
        match self.tls()? {
            rustls::Error::NoCertificatesPresented => Some(Denial::NoCertificate),
            rustls::Error::InvalidCertificate(_) => Some(Denial::InvalidCertificate),
            _ => None,
        }
    }

    /// Closes the connection when the client has read what was wrong, or after a deadline. A socket that is closed with
    /// unread bytes, such as a request that the client has already sent, is reset, and the client would lose the reason.
    pub(super) async fn close(self) {
        let Self::Failed(_, mut stream) = self else {
            return;
        };
        let mut bytes = [0; 1024];
        let read = async {
            stream.shutdown().await?;
            while stream.read(&mut bytes).await? > 0 {}
            io::Result::Ok(())
        };
        let _ = timeout(LINGER, read).await;
    }

    fn tls(&self) -> Option<&rustls::Error> {
        match self {
            Self::Failed(error, _) => error.get_ref()?.downcast_ref(),
            Self::Timeout | Self::Displaced => None,
        }
    }
}

/// Why a client is denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Denial {
    /// It showed no certificate.
    NoCertificate,
    /// Its certificate is of another CA, has expired, or is not for clients.
    InvalidCertificate,
    /// Its certificate has another name.
    Name,
}

impl Denial {
    /// The label in metrics.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::NoCertificate => "no_certificate",
            Self::InvalidCertificate => "invalid_certificate",
            Self::Name => "name",
        }
    }
}
