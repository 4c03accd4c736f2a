//! One connection, from its first request to its end.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use hyper::Request;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tower::Service;

use super::progress::{Progress, Stage, TimedStream, TimeoutKind};
use crate::lifecycle::Readiness;

/// The size of a request's head, and of the piece of a body that is read at once. The API server's head has
/// about 400 bytes.
const BUFFER_BYTES: usize = 64 * 1024;

/// The client's address, as an extension of each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Peer(pub IpAddr);

impl Peer {
    /// The address of a client, in one form for both families.
    pub fn of(address: SocketAddr) -> Self {
        Self(address.ip().to_canonical())
    }
}

/// What a connection needs from its server.
#[derive(Debug, Clone)]
pub struct ConnectionContext {
    pub readiness: Arc<Readiness>,
    /// Cancelled when the server stops.
    pub drain: CancellationToken,
    /// How long to wait for a request after that.
    pub grace: Duration,
}

/// Serves `stream` until the client closes it or is overdue, its slot is needed for another connection, or the server stops.
/// Returns what the client took too long over, if anything.
pub async fn serve<S>(
    stream: S,
    peer: Peer,
    progress: Arc<Progress>,
    router: Router,
    context: ConnectionContext,
) -> Option<TimeoutKind>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let service = service_fn(|request| {
        progress.head_came();
        answer(router.clone(), request, peer, &context.readiness, &progress)
    });
    let connection = http1::Builder::new()
        .header_read_timeout(None)
        .max_buf_size(BUFFER_BYTES)
        .serve_connection(
            TokioIo::new(TimedStream::new(stream, Arc::clone(&progress))),
            service,
        );
    let mut connection = pin!(connection);

    let (mut drains, mut gives_way) = (false, false);
    let ended = loop {
        tokio::select! {
            // The connection last: it would answer a request whose body is cut off here.
            biased;
            () = progress.gives_way.cancelled(), if !gives_way => {
                gives_way = true;
                if matches!(progress.stage(), Stage::Head | Stage::Body) {
                    break Ok(());
                }
            }
            () = context.drain.cancelled(), if !drains => {
                drains = true;
                progress.leave(context.grace);
            }
            ended = connection.as_mut() => break ended,
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error = &error as &dyn std::error::Error, "connection failed");
    }
    progress.overdue()
}

/// Answers one request. If the connection closes after it, the answer says so.
async fn answer(
    mut router: Router,
    request: Request<Incoming>,
    peer: Peer,
    readiness: &Readiness,
    progress: &Arc<Progress>,
) -> Result<Response, Infallible> {
    let mut request = request.map(|body| WatchedBody {
        body,
        progress: Arc::clone(progress),
    });
    if request.body().is_end_stream() {
        progress.body_came();
    }
    request.extensions_mut().insert(peer);
    let mut response = router.call(request).await?;
    if readiness.is_leaving() || progress.ends() {
        response
            .headers_mut()
            .insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    progress.answered();
    Ok(response)
}

/// A request's body, which reports when all of it has arrived.
struct WatchedBody {
    body: Incoming,
    progress: Arc<Progress>,
}

impl hyper::body::Body for WatchedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if self.body.is_end_stream() || frame.is_none() {
            self.progress.body_came();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
