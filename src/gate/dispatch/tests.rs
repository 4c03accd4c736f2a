//! What waits for what.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Instant;

use hyper::{Method, Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use poolgate_core::nodelimit::ledger::RequestVerdict;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::LocalSet;
use tower::service_fn;

use super::super::error::OnError;
use super::super::waiter::Reply;
use super::*;

/// An API server that answers reads, and no write. The NodePool `general` is at its limit of one, and has no ledger.
fn without_writes() -> Client {
    let server = service_fn(async |request: Request<Body>| {
        if request.method() != Method::GET {
            pending::<()>().await;
        }
        let path = request.uri().path();
        let (status, object) = if path.ends_with("/nodeclaims") {
            let labels = json!({"karpenter.sh/nodepool": "general"});
            let claim = json!({"name": "a", "uid": "a", "resourceVersion": "7", "labels": labels});
            let list = json!({"metadata": {"resourceVersion": "9"}, "items": [{"metadata": claim}]});
            (StatusCode::OK, list)
        } else if path.ends_with("/nodepools/general") {
            let metadata = json!({"name": "general", "uid": "p", "resourceVersion": "5"});
            (
                StatusCode::OK,
                json!({"metadata": metadata, "spec": {"limits": {"nodes": "1"}}}),
            )
        } else {
            let missing = json!({"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound"});
            (StatusCode::NOT_FOUND, missing)
        };
        Ok::<_, Infallible>(answer(status, &object))
    });
    Client::new(server, "default")
}

fn answer(status: StatusCode, object: &Value) -> Response<Body> {
    let mut answer = Response::new(Body::from(object.to_string().into_bytes()));
    *answer.status_mut() = status;
    answer
}

fn waiter(context: &GateContext, uid: &str) -> (Waiter, oneshot::Receiver<Reply>) {
    let (sender, reply) = oneshot::channel();
    let waiter = Waiter {
        uid: Uid::new(uid).expect("a uid"),
        name: uid.into(),
        arrived: context.shared.clock.now(),
        deadline: Instant::now() + Duration::from_mins(1),
        on_error: OnError::Allow,
        dry_run: false,
        reply: sender,
        is_admitted: Arc::default(),
    };
    (waiter, reply)
}

#[tokio::test(start_paused = true)]
async fn a_denial_does_not_wait_until_the_one_before_is_stored() {
    let context = Rc::new(GateContext::of_clients(without_writes(), without_writes()));
    let (inbox, messages) = mpsc::channel(8);
    let ask = async |uid| {
        let (waiter, reply) = waiter(&context, uid);
        let sent = inbox.send(Message::Ask("general".into(), waiter)).await;
        sent.expect("a gate");
        reply.await.expect("an answer").expect("a decision").answer
    };
    let asked = async {
        let begun = tokio::time::Instant::now();
        for uid in ["b", "c", "d"] {
            let answer = ask(uid).await;
            assert!(matches!(answer, RequestVerdict::Deny(_)), "{answer:?}");
        }
        begun.elapsed()
    };
    let waited = LocalSet::new()
        .run_until(async {
            tokio::select! {
                () = Dispatcher::new(messages).run(Rc::clone(&context)) => Duration::MAX,
                waited = asked => waited,
            }
        })
        .await;
    // The time that a write may take, on a clock that runs only while nothing else is to do.
    assert!(waited < Duration::from_secs(5), "{waited:?}");
    assert_eq!(context.unrecorded("general"), 3);
}
