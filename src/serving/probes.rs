//! The port for a kubelet and Prometheus: is the process alive, is it ready, what are its metrics. Does not depend
//! on what the process does.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use clap::Args;

use crate::runtime::lifecycle::{Heartbeat, Readiness, StatusBoard};
use crate::runtime::telemetry::{CONTENT_TYPE, Registry};
use crate::serving::http::{HttpMetrics, ListenAddr, Server, Threads};

/// How many connections are kept open. A kubelet and a few Prometheus servers need a handful, and others may have their
/// address.
const MAX_CONNECTIONS: usize = 256;

/// How long a connection may idle: less than a kubelet takes to give up, so that silent connections of its address do not
/// keep it out. Prometheus repeats a scrape on a connection that is being closed.
const IDLE: Duration = Duration::from_secs(5);

/// How long a connection may last. Nobody has to keep one here.
const LIFETIME: Duration = Duration::from_mins(1);

/// Where the probes are answered.
#[derive(Debug, Args)]
pub struct ProbeArgs {
    /// Where to listen for /livez, /readyz and /metrics
    #[arg(
        long,
        env = "POOLGATE_PROBE_LISTEN",
        default_value = "8080",
        value_name = "ADDR"
    )]
    pub probe_listen: ListenAddr,
}

/// The basis of the answers.
pub struct Probes {
    /// Whether the process is ready.
    pub readiness: Arc<Readiness>,
    /// The lines of its parts in `/readyz`, below the answer itself.
    pub board: StatusBoard,
    /// The heartbeat of the task without which it is not alive.
    pub heartbeat: Heartbeat,
    /// Its metrics.
    pub metrics: Registry,
}

impl Probes {
    /// The server of the port.
    pub fn server(self, metrics: HttpMetrics) -> Server {
        Server {
            name: "probe",
            tls: None,
            readiness: Arc::clone(&self.readiness),
            router: router(self),
            threads: Threads::of_this_runtime(),
            max_connections: MAX_CONNECTIONS,
            lifetime: LIFETIME,
            idle: IDLE,
            grace: Duration::ZERO,
            metrics,
        }
    }
}

/// The paths of the probe port.
fn router(probes: Probes) -> Router {
    Router::new()
        .route("/livez", get(live))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .fallback(unknown)
        .with_state(Arc::new(probes))
}

/// If the runtime answers and the task works, the process is alive: it exits when one of its tasks stops.
async fn live(State(probes): State<Arc<Probes>>) -> (StatusCode, String) {
    match probes.heartbeat.missed() {
        None => (StatusCode::OK, "ok\n".into()),
        Some(missed) => (
            StatusCode::SERVICE_UNAVAILABLE,
            format!(
                "the task that watches the cluster has made no progress for {} s\n",
                missed.as_secs()
            ),
        ),
    }
}

async fn ready(State(probes): State<Arc<Probes>>) -> (StatusCode, String) {
    let (status, word) = match probes.readiness.unready() {
        None => (StatusCode::OK, "ok".into()),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, why),
    };
    (status, word + "\n" + &probes.board.text())
}

async fn metrics(State(probes): State<Arc<Probes>>) -> Response {
    match probes.metrics.encode() {
        Ok(text) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "could not write the metrics");
            (StatusCode::INTERNAL_SERVER_ERROR, "could not write the metrics\n").into_response()
        }
    }
}

async fn unknown() -> (StatusCode, &'static str) {
    (
        StatusCode::NOT_FOUND,
        "not found. This port serves /livez, /readyz and /metrics\n",
    )
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use axum::body::Body;
    use hyper::Request;
    use tokio::time::sleep;
    use tower::ServiceExt;

    use super::*;

    /// The time here is paused and passes while everybody waits. That of the other thread does not: it is really blocked.
    #[tokio::test(start_paused = true)]
    async fn a_process_whose_work_is_blocked_is_not_alive_until_it_goes_on() {
        let heartbeat = Heartbeat::default();
        let router = router(Probes {
            readiness: Arc::default(),
            board: StatusBoard::default(),
            heartbeat: heartbeat.clone(),
            metrics: Registry::default(),
        });
        let live = async || {
            let request = Request::get("/livez").body(Body::empty()).expect("a request");
            router.clone().oneshot(request).await.expect("an answer").status()
        };
        // A second here is a millisecond there.
        let becomes = async |status| {
            for _ in 0..60_000 {
                if live().await == status {
                    return;
                }
                thread::sleep(Duration::from_millis(1));
                sleep(Duration::from_secs(1)).await;
            }
            panic!("it is not {status}");
        };
        let (blocked, is_blocked) = tokio::sync::oneshot::channel();
        let (unblock, unblocked) = mpsc::channel::<()>();
        let beating = heartbeat.clone();
        thread::spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build();
            runtime.expect("a runtime").block_on(async move {
                blocked.send(()).expect("somebody who waits");
                let _ = unblocked.recv();
                beating.beat().await;
            });
        });
        is_blocked.await.expect("a blocked thread");
        tokio::spawn(async move { heartbeat.watch("cluster").await });
        assert_eq!(live().await, StatusCode::OK, "it was just there");
        becomes(StatusCode::SERVICE_UNAVAILABLE).await;
        unblock.send(()).expect("the thread");
        becomes(StatusCode::OK).await;
    }
}
