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
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection::{self, Peer, Surroundings};
use super::metrics::HttpMetrics;
use super::pace::Pace;
use super::slots::{Grant, Slot, Slots};
use crate::lifecycle::Readiness;
use crate::telemetry::LogLimit;

/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// The pause after a connection could not be accepted. Most such errors (too many open files) last, and a loop
/// without a pause would take a whole core.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// How long the system's queue of connections must stay empty before the socket is closed.
const REST: Duration = Duration::from_millis(50);

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
    /// How many connections may be open at once; for further ones, idle ones are closed.
    pub(crate) max_connections: usize,
    /// How long a connected client may begin a request after the server was told to end.
    pub(crate) grace: Duration,
    /// Whether clients should look for another server.
    pub(crate) readiness: Arc<Readiness>,
    /// Where it is counted.
    pub(crate) metrics: HttpMetrics,
}

impl Server {
    /// Serves until `drain` is cancelled, then until every request that has begun, or that a connected client may be
    /// about to send, is answered.
    pub(crate) async fn run(self, drain: CancellationToken) {
        let connections = TaskTracker::new();
        let mut accepting = Accepting::new(&self, &connections, &drain);
        tokio::select! {
            () = accepting.all() => {}
            () = drain.cancelled() => {}
        }
        accepting.rest().await;
        drop(self);
        connections.close();
        connections.wait().await;
    }

    /// Serves one connection; all that it needs is its own.
    fn serve(
        &self,
        stream: TcpStream,
        peer: Peer,
        (slot, pace): (Slot, Arc<Pace>),
        drain: CancellationToken,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (name, router, transport) = (self.name, self.router.clone(), self.transport.clone());
        let metrics = self.metrics.clone();
        let around = Surroundings {
            readiness: Arc::clone(&self.readiness),
            drain,
            grace: self.grace,
            gives_way: slot.gives_way().clone(),
        };
        async move {
            let _slot = slot;
            let _open = metrics.open(name);
            // Without it the last packet of an answer may wait 40 ms for an acknowledgement. A socket that
            // refuses the option is about to fail anyway, and says so below.
            let _ = stream.set_nodelay(true);
            let overdue = match transport {
                Transport::Plain => connection::serve(stream, peer, pace, router, around).await,
                Transport::Tls(acceptor) => match handshake(&acceptor, stream, &around.gives_way).await {
                    Ok(stream) => connection::serve(stream, peer, pace, router, around).await,
                    Err(failure) => {
                        metrics.handshake_failed(failure.reason());
                        // Not more than debug: load balancers and port scanners do this all day.
                        tracing::debug!(peer = %peer.0, reason = failure.reason(), error = %failure, "no handshake");
                        None
                    }
                },
            };
            if let Some(overdue) = overdue {
                metrics.overdue(name, overdue);
                tracing::debug!(server = name, peer = %peer.0, waiting_for = overdue.name(), "client overdue");
            }
        }
    }
}

/// The accept loop of a server.
struct Accepting<'a> {
    server: &'a Server,
    connections: &'a TaskTracker,
    drain: &'a CancellationToken,
    slots: Arc<Slots>,
    full: LogLimit,
    failing: bool,
}

impl<'a> Accepting<'a> {
    fn new(server: &'a Server, connections: &'a TaskTracker, drain: &'a CancellationToken) -> Self {
        Self {
            server,
            connections,
            drain,
            slots: Slots::new(server.max_connections),
            full: LogLimit::default(),
            failing: false,
        }
    }

    async fn all(&mut self) {
        loop {
            let accepted = self.server.listener.accept().await;
            self.take(accepted).await;
        }
    }

    /// Accepts what waits in the system's queue: closing the socket would reset it.
    async fn rest(&mut self) {
        for _ in 0..self.server.max_connections {
            let Ok(accepted) = timeout(REST, self.server.listener.accept()).await else {
                return;
            };
            self.take(accepted).await;
        }
    }

    /// Begins to serve a connection, if it has come about.
    async fn take(&mut self, accepted: io::Result<(TcpStream, SocketAddr)>) {
        let (server, name) = (self.server, self.server.name);
        let (stream, peer) = match accepted {
            Ok((stream, address)) => (stream, Peer::of(address)),
            Err(error) => {
                server.metrics.accept_failed(name);
                if !std::mem::replace(&mut self.failing, true) {
                    tracing::error!(server = name, %error, "connections cannot be accepted");
                }
                return sleep(ACCEPT_PAUSE).await;
            }
        };
        self.failing = false;
        let pace = Arc::new(Pace::default());
        let slot = match self.slots.take(peer.0, Arc::clone(&pace)) {
            Grant::Free(slot) => slot,
            Grant::Displacing(slot) => {
                server.metrics.displaced(name);
                self.tell(
                    "too many connections: the longest idle one is closed for a new one",
                    peer,
                );
                slot
            }
            Grant::Refused => {
                server.metrics.refused(name);
                return self.tell("too many connections, all at work: a new one is refused", peer);
            }
        };
        self.connections
            .spawn(server.serve(stream, peer, (slot, pace), self.drain.clone()));
        // Who gives way goes before the next one comes.
        yield_now().await;
    }

    fn tell(&self, what: &'static str, peer: Peer) {
        if let Some(left_out) = self.full.permit(what) {
            tracing::warn!(server = self.server.name, peer = %peer.0, left_out, "{what}");
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
    #[error("another connection took its place")]
    Displaced,
}

impl HandshakeError {
    /// The label in metrics: one of few.
    fn reason(&self) -> &'static str {
        let error = match self {
            Self::Timeout => return "timeout",
            Self::Displaced => return "displaced",
            Self::Failed(error) => error,
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
    gives_way: &CancellationToken,
) -> Result<TlsStream<TcpStream>, HandshakeError> {
    tokio::select! {
        shaken = timeout(HANDSHAKE, acceptor.accept(stream)) => {
            shaken.map_err(|_| HandshakeError::Timeout)?.map_err(HandshakeError::Failed)
        }
        () = gives_way.cancelled() => Err(HandshakeError::Displaced),
    }
}
