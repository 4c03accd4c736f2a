//! One connection, from its first request to its end.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tower::Service;

use super::pace::{Pace, Paced, TimeoutKind};
use crate::lifecycle::Readiness;

/// The size of a request's head, and of the piece of a body that is read at once. The API server's head has
/// about 400 bytes.
const BUFFER_BYTES: usize = 64 * 1024;

/// Serves `stream` until the client goes, is overdue, or `drain` ends what has not begun. Returns what the
/// client took too long over, if anything.
pub(super) async fn serve<S>(
    stream: S,
    router: Router,
    readiness: Arc<Readiness>,
    drain: CancellationToken,
) -> Option<TimeoutKind>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let pace = Arc::new(Pace::default());
    let service = {
        let pace = Arc::clone(&pace);
        service_fn(move |request| {
            pace.request_began();
            let (pace, readiness, router) = (Arc::clone(&pace), Arc::clone(&readiness), router.clone());
            async move {
                let response = answer(router, request, &readiness).await;
                pace.request_ended();
                response
            }
        })
    };
    let connection = http1::Builder::new()
        .header_read_timeout(None)
        .max_buf_size(BUFFER_BYTES)
        .serve_connection(TokioIo::new(Paced::new(stream, Arc::clone(&pace))), service);
    let mut connection = pin!(connection);

    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = drain.cancelled() => {
            pace.leave();
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error = &error as &dyn std::error::Error, "connection failed");
    }
    pace.overdue()
}

/// Answers one request. While the process is leaving, the answer asks the client to look for another server.
async fn answer(
    mut router: Router,
    request: Request<Incoming>,
    readiness: &Readiness,
) -> Result<Response, Infallible> {
    let mut response = router.call(request).await?;
    if readiness.is_leaving() {
        response
            .headers_mut()
            .insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response)
}
