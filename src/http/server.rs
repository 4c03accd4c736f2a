//! The accept loop: from a listening socket to connections that are served, and to their orderly end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::server::ResolvesServerCert;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection;
use super::metrics::HttpMetrics;
use crate::lifecycle::Readiness;

/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// The pause after a connection could not be accepted. Most such errors (too many open files) last, and a loop
/// without a pause would take a whole core.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// What lies between TCP and HTTP.
#[derive(Clone)]
pub(crate) enum Transport {
    /// Nothing.
    Plain,
    /// TLS.
    Tls(TlsAcceptor),
}

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

/// A socket and what is served on it.
pub(crate) struct Server {
    /// The name in metrics and logs.
    pub(crate) name: &'static str,
    /// The socket.
    pub(crate) listener: TcpListener,
    /// What lies between TCP and HTTP.
    pub(crate) transport: Transport,
    /// What is answered.
    pub(crate) router: Router,
    /// How many connections may be open at once; further ones wait in the system's queue.
    pub(crate) max_connections: usize,
    /// Whether clients should look for another server.
    pub(crate) readiness: Arc<Readiness>,
    /// Where it is counted.
    pub(crate) metrics: HttpMetrics,
}

impl Server {
    /// Serves until `drain` is cancelled, then until every request that has begun is answered.
    pub(crate) async fn run(self, drain: CancellationToken) {
        let connections = TaskTracker::new();
        tokio::select! {
            () = self.accept_all(&connections, &drain) => {}
            () = drain.cancelled() => {}
        }
        drop(self);
        connections.close();
        connections.wait().await;
    }

    async fn accept_all(&self, connections: &TaskTracker, drain: &CancellationToken) {
        let places = Arc::new(Semaphore::new(self.max_connections));
        let mut failing = false;
        while let Ok(place) = Self::take_place(&places, self.name).await {
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    failing = false;
                    connections.spawn(self.serve(stream, peer, place, drain.clone()));
                }
                Err(error) => {
                    self.metrics.accept_failed(self.name);
                    if !std::mem::replace(&mut failing, true) {
                        tracing::error!(server = self.name, %error, "connections cannot be accepted");
                    }
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Waits until one more connection may be open. An error is impossible: the semaphore is never closed.
    async fn take_place(
        places: &Arc<Semaphore>,
        server: &'static str,
    ) -> Result<OwnedSemaphorePermit, tokio::sync::AcquireError> {
        if places.available_permits() == 0 {
            tracing::warn!(
                server,
                "the limit of open connections is reached; further ones wait"
            );
        }
        Arc::clone(places).acquire_owned().await
    }

    /// Serves one connection; all that it needs is its own.
    fn serve(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        place: OwnedSemaphorePermit,
        drain: CancellationToken,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (name, router, transport) = (self.name, self.router.clone(), self.transport.clone());
        let (readiness, metrics) = (Arc::clone(&self.readiness), self.metrics.clone());
        async move {
            let _place = place;
            let _open = metrics.open(name);
            // Without it the last packet of an answer may wait 40 ms for an acknowledgement. A socket that
            // refuses the option is about to fail anyway, and says so below.
            let _ = stream.set_nodelay(true);
            let overdue = match transport {
                Transport::Plain => connection::serve(stream, router, readiness, drain).await,
                Transport::Tls(acceptor) => match handshake(&acceptor, stream).await {
                    Ok(stream) => connection::serve(stream, router, readiness, drain).await,
                    Err(failure) => {
                        metrics.handshake_failed(failure.reason());
                        // Not more than debug: load balancers and port scanners do this all day.
                        tracing::debug!(%peer, reason = failure.reason(), error = %failure, "no handshake");
                        None
                    }
                },
            };
            if let Some(overdue) = overdue {
                metrics.overdue(name, overdue);
                tracing::debug!(server = name, %peer, waiting_for = overdue.name(), "client overdue");
            }
        }
    }
}

/// Why a handshake came to nothing.
#[derive(Debug, thiserror::Error)]
enum HandshakeError {
    #[error("the client took longer than {} s", HANDSHAKE.as_secs())]
    Timeout,
    #[error("{0}")]
    Failed(io::Error),
}

impl HandshakeError {
    /// The label in metrics: one of few.
    fn reason(&self) -> &'static str {
        let Self::Failed(error) = self else {
            return "timeout";
        };
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return "client_left";
        }
        match error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<rustls::Error>())
        {
            // Such as a client that does not know our CA.
            Some(rustls::Error::AlertReceived(_)) => "client_refused",
            Some(_) => "not_acceptable",
            None => "io",
        }
    }
}

async fn handshake(
    acceptor: &TlsAcceptor,
    stream: TcpStream,
) -> Result<TlsStream<TcpStream>, HandshakeError> {
    timeout(HANDSHAKE, acceptor.accept(stream))
        .await
        .map_err(|_| HandshakeError::Timeout)?
        .map_err(HandshakeError::Failed)
}
