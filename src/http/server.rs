//! The accept loop: accepts connections, serves each by a task, and closes them cleanly when the server stops.

use std::fmt::Display;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderName, StatusCode, header};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection::{self, ConnectionContext, Peer};
use super::metrics::HttpMetrics;
use super::slots::{Grant, Slot, Slots};
use super::tls::Tls;
use crate::lifecycle::Readiness;
use crate::telemetry::LogLimit;

/// The pause after a connection could not be accepted. Most such errors (too many open files) last, and a loop
/// without a pause would take a whole core.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// How long the system's queue of connections must stay empty before the socket is closed.
const REST: Duration = Duration::from_millis(50);

/// A socket and what is served on it.
pub struct Server {
    /// The name in metrics and logs.
    pub name: &'static str,
    /// The socket.
    pub listener: TcpListener,
    /// The layer between TCP and HTTP, if there is one.
    pub tls: Option<Arc<Tls>>,
    /// The answers, by path.
    pub router: Router,
    /// How many connections may be open at once; for further ones, idle ones are closed.
    pub max_connections: usize,
    /// How long a connected client may still begin a request after the server was asked to stop.
    pub grace: Duration,
    /// Whether clients should look for another server.
    pub readiness: Arc<Readiness>,
    /// Its metrics.
    pub metrics: HttpMetrics,
}

impl Server {
    /// Serves until `drain` is cancelled, then until every request that has begun, or that a connected client may be
    /// about to send, is answered.
    pub async fn run(self, drain: CancellationToken) {
        let connections = TaskTracker::new();
        let mut accepting = Accepting {
            server: &self,
            connections: &connections,
            drain: &drain,
            slots: Slots::new(self.max_connections, self.metrics.connections(self.name)),
            full: LogLimit::default(),
            denied: Arc::default(),
            failing: false,
        };
        tokio::select! {
            () = accepting.all() => {}
            () = drain.cancelled() => {}
        }
        accepting.rest().await;
        // The socket closes before the connections do.
        drop(self.listener);
        connections.close();
        connections.wait().await;
    }

    /// Serves one connection. The future does not borrow the server.
    fn serve(
        &self,
        stream: TcpStream,
        peer: Peer,
        slot: Slot,
        denied: &Arc<LogLimit>,
        drain: CancellationToken,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (name, router, tls) = (self.name, self.router.clone(), self.tls.clone());
        let metrics = self.metrics.clone();
        let context = ConnectionContext {
            readiness: Arc::clone(&self.readiness),
            drain,
            grace: self.grace,
        };
        let denied = Arc::clone(denied);
        async move {
            let (progress, _held) = (Arc::clone(slot.progress()), slot);
            // Without it the last packet of an answer may wait 40 ms for an acknowledgement. A socket that
            // does not take the option is about to fail anyway, which is reported below.
            let _ = stream.set_nodelay(true);
            let deny = |reason: &'static str, why: &dyn Display| {
                metrics.denied.inc(reason);
                if let Some(left_out) = denied.permit(reason) {
                    tracing::warn!(server = name, peer = %peer.0, reason = %why, left_out, "client denied");
                }
            };
            let overdue = match tls {
                None => connection::serve(stream, peer, progress, router, context).await,
                Some(tls) => match tls.handshake(stream, &progress.gives_way).await {
                    Ok((stream, objection)) => {
                        let router = match objection {
                            Some(objection) => {
                                deny("name", &objection);
                                forbidden(objection)
                            }
                            None => router,
                        };
                        connection::serve(stream, peer, progress, router, context).await
                    }
                    Err(failure) => {
                        metrics.handshake_failures.inc(failure.reason());
                        // Not more than debug: load balancers and port scanners do this all day.
                        tracing::debug!(peer = %peer.0, reason = failure.reason(), error = %failure, "no handshake");
                        if let Some(denial) = failure.denial() {
                            deny(denial, &failure);
                        }
                        failure.close().await;
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

/// The answer to every request of a client that is denied.
fn forbidden(objection: String) -> Router {
    let close: [(HeaderName, &str); 1] = [(header::CONNECTION, "close")];
    let answer = (StatusCode::FORBIDDEN, close, objection + "\n");
    Router::new().fallback(async move || answer.clone())
}

/// The accept loop of a server.
struct Accepting<'a> {
    server: &'a Server,
    connections: &'a TaskTracker,
    drain: &'a CancellationToken,
    slots: Arc<Slots>,
    full: LogLimit,
    denied: Arc<LogLimit>,
    failing: bool,
}

impl Accepting<'_> {
    async fn all(&mut self) {
        loop {
            let accepted = self.server.listener.accept().await;
            self.take(accepted).await;
        }
    }

    /// Accepts the connections in the system's queue: closing the socket would reset them.
    async fn rest(&mut self) {
        for _ in 0..self.server.max_connections {
            let Ok(accepted) = timeout(REST, self.server.listener.accept()).await else {
                return;
            };
            self.take(accepted).await;
        }
    }

    /// Begins to serve a connection, if it was accepted without an error.
    async fn take(&mut self, accepted: io::Result<(TcpStream, SocketAddr)>) {
        let (server, name) = (self.server, self.server.name);
        let (stream, peer) = match accepted {
            Ok((stream, address)) => (stream, Peer::of(address)),
            Err(error) => {
                server.metrics.accept_errors.inc(name);
                if !std::mem::replace(&mut self.failing, true) {
                    tracing::error!(server = name, %error, "connections cannot be accepted");
                }
                return sleep(ACCEPT_PAUSE).await;
            }
        };
        self.failing = false;
        let slot = match self.slots.take(peer.0) {
            Grant::Free(slot) => slot,
            Grant::Displacing(slot) => {
                server.metrics.displaced.inc(name);
                self.warn(
                    "too many connections: the longest idle one is closed for a new one",
                    peer,
                );
                slot
            }
            Grant::Refused => {
                server.metrics.refused.inc(name);
                return self.warn("too many connections, all at work: a new one is refused", peer);
            }
        };
        self.connections
            .spawn(server.serve(stream, peer, slot, &self.denied, self.drain.clone()));
        // A displaced connection closes before the next one is accepted.
        yield_now().await;
    }

    fn warn(&self, what: &'static str, peer: Peer) {
        if let Some(left_out) = self.full.permit(what) {
            tracing::warn!(server = self.server.name, peer = %peer.0, left_out, "{what}");
        }
    }
}
