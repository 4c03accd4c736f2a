//! Accepts connections, answers their requests with hyper, and closes them when the server stops.

use std::convert::Infallible;
use std::error::Error as _;
use std::fmt::Display;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, copy, sink};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service;

use super::metrics::HttpMetrics;
use super::places::{Place, Places, Seat};
use super::threads::Threads;
use super::tls::Tls;
use super::writing::Writing;
use crate::runtime::lifecycle::Readiness;
use crate::runtime::telemetry::LogLimit;

/// The pause after a connection could not be accepted. Most such errors (too many open files) last, and a loop
/// without a pause would take a whole core.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// How long connections that the system has taken for us are still accepted when the server stops: closing the socket
/// resets them.
const REST: Duration = Duration::from_millis(50);

/// The size of a request's headers, and of each chunk of a body. The API server's headers have about 400 bytes.
const BUFFER_BYTES: usize = 64 * 1024;

/// How long we still read and discard data from a client after our last answer. A socket that is closed with unread
/// bytes is reset, and the client would lose the answer (such as 413) that it has not read yet.
const LINGER: Duration = Duration::from_secs(1);

/// The client, as an extension of each request.
#[derive(Debug, Clone)]
pub struct Peer(Arc<Seat>);

impl Peer {
    /// Its address.
    pub fn address(&self) -> IpAddr {
        self.0.address
    }

    /// Its whole request is there: the connection stays open until that is answered.
    pub fn begin(&self) {
        self.0.begin();
    }
}

/// The server of a socket.
pub struct Server {
    /// The name in metrics and logs.
    pub name: &'static str,
    /// The layer between TCP and HTTP, if there is one.
    pub tls: Option<Arc<Tls>>,
    /// The answers, by path.
    pub router: Router,
    /// What its connections are served on.
    pub threads: Threads,
    /// How many connections may be open simultaneously.
    pub max_connections: usize,
    /// When a connection ends whatever it does. After two thirds of it the next answer asks the client to open another
    /// one, which may lead to a server with less to do.
    pub lifetime: Duration,
    /// How long a client may take to send the head of its next request: hyper counts the time that a connection idles.
    pub idle: Duration,
    /// How long a connected client may still begin a request after the stop signal.
    pub grace: Duration,
    /// Whether clients should look for another server.
    pub readiness: Arc<Readiness>,
    /// Its metrics.
    pub metrics: HttpMetrics,
}

impl Server {
    /// Serves until `drain` is cancelled, then until every request that has begun, or that a connected client may be
    /// about to send, is answered.
    pub async fn run(self, listener: TcpListener, drain: CancellationToken) {
        let (grace, connections) = (self.grace, TaskTracker::new());
        let serving = Arc::new(Serving::new(self));
        let mut stopped = pin!(async {
            drain.cancelled().await;
            sleep(REST).await;
        });
        while let Some(accepted) = unless(stopped.as_mut(), listener.accept()).await {
            match serving.admit(accepted, &connections) {
                Ok(()) => {}
                Err(_) if drain.is_cancelled() => break,
                Err(error) => {
                    serving.could_not_accept(&error);
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        drop(listener);
        connections.close();
        let _ = timeout(grace, connections.wait()).await;
        serving.closing.cancel();
        connections.wait().await;
    }
}

/// What comes, unless `stopped`. That is looked at first: a flood of connections would postpone it otherwise.
async fn unless<T>(stopped: impl Future<Output = ()>, comes: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = stopped => None,
        comes = comes => Some(comes),
    }
}

/// A server that runs.
struct Serving {
    server: Server,
    places: Arc<Places>,
    /// Cancelled when no client is waited for any more.
    closing: CancellationToken,
    log: LogLimit,
}

impl Serving {
    fn new(server: Server) -> Self {
        let open = server.metrics.connections(server.name);
        Self {
            places: Places::new(server.max_connections, open),
            server,
            closing: CancellationToken::new(),
            log: LogLimit::default(),
        }
    }

    /// Serves an accepted connection on one of the threads, if there is a place for it.
    fn admit(
        self: &Arc<Self>,
        accepted: io::Result<(TcpStream, SocketAddr)>,
        connections: &TaskTracker,
    ) -> io::Result<()> {
        let server = &self.server;
        let (stream, address) = accepted?;
        let peer = address.ip().to_canonical();
        let Some(place) = self.places.take(peer) else {
            server.metrics.refused.inc(server.name);
            if let Some(left_out) = self.log.permit("full") {
                tracing::warn!(server = server.name, %peer, left_out, "too many connections, refused a new one");
            }
            return Ok(());
        };
        if place.displaces {
            server.metrics.displaced.inc(server.name);
            if let Some(left_out) = self.log.permit("displaced") {
                tracing::warn!(server = server.name, %peer, left_out, "too many connections, closed an idle one for a new one");
            }
        }
        let serving = Arc::clone(self);
        let serve = move |stream| serving.serve(stream, place);
        server.threads.serve(connections, stream, serve)
    }

    fn could_not_accept(&self, error: &io::Error) {
        let server = &self.server;
        server.metrics.accept_errors.inc(server.name);
        if let Some(left_out) = self.log.permit("accept") {
            tracing::error!(server = server.name, %error, left_out, "could not accept a connection");
        }
    }

    /// Serves a connection until it ends, or its place is needed.
    async fn serve(self: Arc<Self>, stream: TcpStream, place: Place) {
        let peer = Peer(Arc::clone(&place.seat));
        tokio::select! {
            () = self.connected(stream, peer) => {}
            () = place.seat.needed() => {}
        }
    }

    async fn connected(&self, stream: TcpStream, peer: Peer) {
        // Without it the last packet of an answer may wait 40 ms for an acknowledgement. A socket that does not take the
        // option is about to fail anyway, which is reported below.
        let _ = stream.set_nodelay(true);
        let Some(tls) = &self.server.tls else {
            return self.answer_all(stream, peer, self.server.router.clone()).await;
        };
        match tls.handshake(stream).await {
            Ok((stream, None)) => self.answer_all(stream, peer, self.server.router.clone()).await,
            Ok((stream, Some(objection))) => {
                self.deny(&peer, "name", &objection);
                self.answer_all(stream, peer, forbidden(objection)).await;
            }
            Err(failure) => {
                self.server.metrics.handshake_failures.inc(failure.reason());
                // Not more than debug: load balancers and port scanners do this all day.
                tracing::debug!(peer = %peer.address(), reason = failure.reason(), error = %failure, "TLS handshake failed");
                if let Some(denial) = failure.denial() {
                    self.deny(&peer, denial, &failure);
                }
                if let Some(stream) = failure.into_stream() {
                    linger(stream).await;
                }
            }
        }
    }

    fn deny(&self, peer: &Peer, reason: &'static str, why: &dyn Display) {
        let server = &self.server;
        server.metrics.denied.inc(reason);
        if let Some(left_out) = self.log.permit(reason) {
            tracing::warn!(server = server.name, peer = %peer.address(), reason = %why, left_out, "denied a client");
        }
    }

    /// Answers requests until the client closes the connection or is overdue, or the server stops.
    async fn answer_all<S>(&self, mut stream: S, peer: Peer, router: Router)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let opened = Instant::now();
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.server.idle)
            .max_buf_size(BUFFER_BYTES)
            .serve_connection(
                TokioIo::new(Writing::new(&mut stream)),
                service_fn(|request| self.answer(router.clone(), request, &peer, opened)),
            );
        let ended = timeout(self.server.lifetime, async {
            let mut connection = pin!(connection);
            tokio::select! {
                biased;
                ended = connection.as_mut() => return ended,
                () = self.closing.cancelled() => connection.as_mut().graceful_shutdown(),
            }
            connection.await
        });
        match ended.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) if !is_overdue(&error) => {
                tracing::debug!(peer = %peer.address(), error = &error as &dyn std::error::Error, "connection failed");
            }
            Ok(Err(_)) | Err(_) => {
                self.server.metrics.timeouts.inc(self.server.name);
                tracing::debug!(server = self.server.name, peer = %peer.address(), "closed an overdue connection");
            }
        }
        linger(stream).await;
    }

    /// Answers one request. If the connection closes after it, the answer says so.
    async fn answer(
        &self,
        mut router: Router,
        mut request: Request<Incoming>,
        peer: &Peer,
        opened: Instant,
    ) -> Result<Response, Infallible> {
        request.extensions_mut().insert(peer.clone());
        let mut response = router.call(request).await?;
        peer.0.end();
        if self.server.readiness.is_leaving() || opened.elapsed() >= self.server.lifetime * 2 / 3 {
            response
                .headers_mut()
                .insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(response)
    }
}

/// Whether the client has taken too long to send a request or to read an answer.
fn is_overdue(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    error.is_timeout() || cause.is_some_and(|cause| cause.kind() == io::ErrorKind::TimedOut)
}

/// The answer to every request of a client that is denied.
fn forbidden(objection: String) -> Router {
    let close: [(HeaderName, &str); 1] = [(header::CONNECTION, "close")];
    let answer = (StatusCode::FORBIDDEN, close, objection + "\n");
    Router::new().fallback(async move || answer.clone())
}

/// Closes our side, and the connection when the client has closed its own, or after a deadline.
async fn linger<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S) {
    let rest = async {
        stream.shutdown().await?;
        copy(&mut stream, &mut sink()).await
    };
    let _ = timeout(LINGER, rest).await;
}

#[cfg(test)]
mod tests;
