//! What the parts do to one another.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use clap::Parser;
use hyper::{Method, Request, Response, StatusCode};
use kube::client::Body;
use parking_lot::Mutex;
use poolgate_core::policy::Policy;
use serde_json::json;
use tower::service_fn;

use super::*;
use crate::runtime::telemetry::Registry;

#[derive(Debug, Parser)]
struct Flags {
    #[command(flatten)]
    args: ReconcileArgs,
}

/// How long the work has its thread to itself.
const BUSY: Duration = Duration::from_secs(4);

/// An API server that stores a Lease and has nothing else. `renewals` are the writes of the Lease. Reading the first answer
/// with pods takes a long time.
fn server(renewals: Arc<AtomicU32>, during: Arc<AtomicU32>) -> Client {
    let (lease, is_busy) = (Arc::new(Mutex::new(None)), Arc::new(AtomicU32::new(1)));
    let answers = service_fn(move |request: Request<Body>| {
        let (lease, is_busy) = (Arc::clone(&lease), Arc::clone(&is_busy));
        let (renewals, during) = (Arc::clone(&renewals), Arc::clone(&during));
        async move {
            let is_lease = request.uri().path().contains("/leases");
            let is_pods = request.uri().path() == PODS;
            let is_write = request.method() != Method::GET;
            let body = request.into_body().collect_bytes().await.expect("a body");
            if is_lease && is_write {
                renewals.fetch_add(1, Ordering::Relaxed);
                *lease.lock() = Some(body.to_vec());
            }
            // This runs in the task that asks.
            if is_pods && is_busy.swap(0, Ordering::Relaxed) == 1 {
                let before = renewals.load(Ordering::Relaxed);
                thread::sleep(BUSY);
                during.store(renewals.load(Ordering::Relaxed) - before, Ordering::Relaxed);
            }
            let stored = lease.lock().clone().filter(|_| is_lease);
            let missing = json!({"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound"});
            let status = if stored.is_some() {
                StatusCode::OK
            } else {
                StatusCode::NOT_FOUND
            };
            let body = stored.unwrap_or_else(|| missing.to_string().into_bytes());
            let mut answer = Response::new(Body::from(body));
            *answer.status_mut() = status;
            Ok::<_, Infallible>(answer)
        }
    });
    Client::new(answers, "default")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_takes_its_thread_for_seconds_delays_no_renewal() {
    let (renewals, during) = (Arc::default(), Arc::new(AtomicU32::new(u32::MAX)));
    let client = server(renewals, Arc::clone(&during));
    let end = CancellationToken::new();
    let part = Reconciler {
        lines: Lines::of(&StatusBoard::default(), false),
        args: Flags::parse_from(["reconcile", "--lease-duration=3s"]).args,
        identity: "a".into(),
        clock: Clock::start(),
        policy: Policy::default().into(),
        metrics: ReconcileMetrics::register(&mut Registry::default()),
        watches: WatchMetrics::default(),
        readiness: Arc::default(),
        heartbeat: Heartbeat::default(),
        end: end.clone(),
    };
    let running = spawn(async move { Box::pin(part.run(client, "poolgate-ledgers")).await });
    while during.load(Ordering::Relaxed) == u32::MAX {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    end.cancel();
    running.await.expect("it stops and gives the Lease back");
    let during = during.load(Ordering::Relaxed);
    // Every 400 ms, but the machine may be busy.
    assert!(during >= 3, "{during} renewals in {BUSY:?}");
}
