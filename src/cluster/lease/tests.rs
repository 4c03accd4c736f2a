//! A leader whose connections die.

use std::convert::Infallible;
use std::future::pending;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use hyper::{Method, Request, Response, StatusCode};
use kube::client::Body;
use serde_json::{Value, json};
use tower::service_fn;

use super::*;
use crate::lifecycle::StatusLine;

const DURATION: Duration = Duration::from_secs(15);

/// An API server that stores one Lease. The request of this number gets no answer.
fn silent_once(number: u32) -> Client {
    let (stored, requests) = (Arc::new(Mutex::new(None)), Arc::new(AtomicU32::new(0)));
    let server = service_fn(move |request: Request<Body>| {
        let (stored, requests) = (Arc::clone(&stored), Arc::clone(&requests));
        async move {
            if requests.fetch_add(1, Ordering::Relaxed) == number {
                pending::<()>().await;
            }
            let writes = request.method() != Method::GET;
            let body = request.into_body().collect_bytes().await.expect("a body");
            let mut stored = stored.lock().expect("a Lease");
            if writes {
                *stored = Some(serde_json::from_slice::<Value>(&body).expect("JSON"));
            }
            let missing = json!({"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound"});
            let (status, object) = match &*stored {
                Some(lease) => (StatusCode::OK, lease.clone()),
                None => (StatusCode::NOT_FOUND, missing),
            };
            let mut answer = Response::new(Body::from(object.to_string().into_bytes()));
            *answer.status_mut() = status;
            Ok::<_, Infallible>(answer)
        }
    });
    Client::new(server, "default")
}

#[tokio::test(start_paused = true)]
async fn one_silent_connection_does_not_cost_a_leader_its_term() {
    // The GET and the PUT of the first try are answered.
    for number in 2..6 {
        let line = StatusLine::default();
        let (candidate, mut leadership) = Candidate::new(
            silent_once(number),
            "poolgate-ledgers",
            "poolgate-reconciler",
            "a".into(),
            DURATION,
            line,
        );
        let end = CancellationToken::new();
        let leads = async {
            leadership.changed().await;
            let first = leadership.term();
            assert!(first.is_some());
            sleep(4 * DURATION).await;
            assert_eq!(leadership.term(), first, "request {number}");
            end.cancel();
        };
        tokio::join!(candidate.run(end.clone()), leads);
    }
}
