//! What waits for what.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::time::Instant;

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
        observed: false,
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

/// An API server with one NodePool, `new`, and no ledger. Its answers take a second. It counts the reads of NodePools.
fn of_one_pool(reads: &Arc<AtomicUsize>) -> Client {
    let reads = Arc::clone(reads);
    let server = service_fn(move |request: Request<Body>| {
        let reads = Arc::clone(&reads);
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let path = request.uri().path();
            let is_pools = path.contains("/nodepools");
            reads.fetch_add(usize::from(is_pools), Ordering::Relaxed);
            let metadata = json!({"name": "new", "uid": "n", "resourceVersion": "5"});
            let pools =
                json!({"metadata": {"resourceVersion": "9"}, "items": [{"metadata": metadata, "spec": {}}]});
            let missing = json!({"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound"});
            Ok::<_, Infallible>(if path.ends_with("/nodepools") {
                answer(StatusCode::OK, &pools)
            } else {
                answer(StatusCode::NOT_FOUND, &missing)
            })
        }
    });
    Client::new(server, "default")
}

#[tokio::test(start_paused = true)]
async fn a_hundred_invented_names_cost_as_many_reads_as_one() {
    let reads = Arc::default();
    let context = Rc::new(GateContext::of_clients(of_one_pool(&reads), of_one_pool(&reads)));
    let (inbox, messages) = mpsc::channel(128);
    let names = (0..100)
        .map(|number| format!("invented-{number}"))
        .chain(["new".to_owned()]);
    let mut replies = Vec::new();
    for name in names {
        let (mut waiter, reply) = waiter(&context, &name);
        waiter.on_error = OnError::Deny;
        inbox
            .send(Message::Ask(name.into(), waiter))
            .await
            .expect("a gate");
        replies.push(reply);
    }
    let answered = async {
        let mut answers = Vec::new();
        for reply in replies {
            answers.push(reply.await.expect("an answer"));
        }
        answers
    };
    let answers = LocalSet::new()
        .run_until(async {
            tokio::select! {
                () = Dispatcher::new(messages).run(Rc::clone(&context)) => Vec::new(),
                answers = answered => answers,
            }
        })
        .await;
    let (new, invented) = answers.split_last().expect("answers");
    assert!(
        matches!(new, Ok(decided) if decided.answer == RequestVerdict::Allow),
        "{new:?}"
    );
    assert!(
        invented
            .iter()
            .all(|answer| matches!(answer, Err(GateError::Limit(_))))
    );
    assert_eq!(reads.load(Ordering::Relaxed), 1);
}
