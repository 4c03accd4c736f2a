//! What a round does after an answer of the API server.

use std::convert::Infallible;

use hyper::{Method, Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use serde_json::json;
use tower::service_fn;

use super::*;

/// An API server whose ledger another replica has just written, as version 101.
fn written_by_another() -> Client {
    let server = service_fn(async |request: Request<Body>| {
        let (status, object) = if request.method() == Method::GET {
            let metadata = json!({"name": "poolgate-ledger-general", "resourceVersion": "101"});
            let data =
                json!({"nodepool": "general", "ledger.json": r#"{"version":1,"seen":7,"reservations":{}}"#});
            (StatusCode::OK, json!({"metadata": metadata, "data": data}))
        } else {
            let conflict = json!({"kind": "Status", "status": "Failure", "code": 409, "reason": "Conflict"});
            (StatusCode::CONFLICT, conflict)
        };
        let mut answer = Response::new(Body::from(object.to_string().into_bytes()));
        *answer.status_mut() = status;
        Ok::<_, Infallible>(answer)
    });
    Client::new(server, "default")
}

fn write(over: Option<u64>) -> LedgerWrite {
    LedgerWrite {
        pool: "general".into(),
        uid: "a".into(),
        ledger: Ledger::default(),
        over,
        denials: 0,
        expired: 0,
    }
}

#[tokio::test(start_paused = true)]
async fn a_ledger_that_another_replica_has_written_is_known_afterwards() {
    let context = Rc::new(GateContext::of_clients(
        written_by_another(),
        written_by_another(),
    ));
    let mut round = Round::new(&context, "general", Vec::new(), Vec::new());
    let stored = round.store_if_unchanged(&write(Some(100))).await;
    assert!(stored.is_ok(), "{stored:?}");
    let known = context.ledgers.borrow().get("general");
    assert_eq!(known.map(|stored| stored.version), Some(101));
}
