//! What a round does after an answer of the API server.

use std::convert::Infallible;
use std::sync::Arc;

use hyper::{Method, Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use poolgate_core::api::NodeLimitMode;
use poolgate_core::nodelimit::ledger::{ClaimView, CountedClaim, ReadSpan};
use serde_json::json;
use tokio::sync::{Semaphore, oneshot};
use tower::service_fn;

use super::super::claims::Listed;
use super::super::error::OnError;
use super::*;
use crate::cluster::ledgers::Owner;
use crate::cluster::view::CachedPool;

/// The pool that is written for.
const OWNER: Owner<'_> = Owner {
    name: "general",
    uid: "a",
};

/// An API server whose ledger another replica has just written, as version 101.
fn written_by_another() -> Client {
    let server = service_fn(async |request: Request<Body>| {
        let (status, object) = if request.method() == Method::GET {
            let metadata = json!({"name": "poolgate-ledger-a", "resourceVersion": "101"});
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
        expired: Vec::new(),
        surged: 0,
        closes: false,
    }
}

#[tokio::test(start_paused = true)]
async fn a_ledger_that_another_replica_has_written_is_known_afterwards() {
    let context = GateContext::of_client(&written_by_another());
    let arrivals = Arrivals::default();
    let mut round = Round::new(&context, "general", Queue::default(), &arrivals);
    let stored = round.store_if_unchanged(&write(Some(100))).await;
    assert!(stored.is_ok(), "{stored:?}");
    let known = context.ledgers.known().get(OWNER);
    assert_eq!(known.map(|stored| stored.version), Some(101));
}

#[tokio::test(start_paused = true)]
async fn what_was_listed_without_disruptions_does_not_say_whether_there_is_a_surge() {
    let is_decided = |surge, whole| {
        let context = GateContext::of_client(&written_by_another());
        let now = context.shared.clock.now();
        let span = ReadSpan {
            begun: now,
            done: now,
        };
        let claim = CountedClaim {
            version: 7,
            deleting: false,
            disrupted: false,
            initialized: false,
        };
        let list = ClaimView::listed(9, [(Uid::new("a").expect("a uid"), claim)]);
        let mut views = context.claims.lock();
        views.relist("general", list, Listed { span, whole });
        drop(views);
        let place = Arc::new(Semaphore::new(1));
        let waiter = Waiter {
            uid: Uid::new("b").expect("a uid"),
            name: "b".into(),
            arrived: now,
            deadline: Instant::now(),
            on_error: OnError::Deny,
            dry_run: false,
            observed: false,
            reply: oneshot::channel().0,
            release: Box::new(|| ()),
            place: place.try_acquire_owned().expect("a place"),
        };
        let arrivals = Arrivals::default();
        let queue = Queue {
            waiters: vec![waiter],
            ..Queue::default()
        };
        let mut round = Round::new(&context, "general", queue, &arrivals);
        round.read.ledger = Some((None, span));
        let limit = LimitInForce {
            nodes: 1,
            mode: NodeLimitMode::Hard,
            surge,
            pool_version: 5,
        };
        match round.decide(Observed::read(Some(limit), now, now), None, &round.waiters) {
            Step::Decided(_) => true,
            Step::Read(needs) => {
                assert_eq!(needs, CLAIMS);
                false
            }
        }
    };
    assert!(is_decided(0, false) && is_decided(1, true) && !is_decided(1, false));
}

#[tokio::test(start_paused = true)]
async fn a_write_beside_rounds_that_panics_does_not_keep_the_next_one_from_being_stored() {
    let server = service_fn(async |_: Request<Body>| -> Result<Response<Body>, Infallible> {
        panic!("a defect");
    });
    let client = Client::new(server, "default");
    let context = GateContext::of_client(&client);
    write(Some(100)).store_meanwhile(&context);
    assert!(context.begin_beside(OWNER).is_none(), "one at a time");
    sleep(Duration::from_mins(1)).await;
    assert!(context.begin_beside(OWNER).is_some());
}

/// An API server whose NodePool `general` is another one than the watch shows, with a ledger of its own.
fn created_again() -> Client {
    let server = service_fn(async |request: Request<Body>| {
        let text = |reservations: &str| format!(r#"{{"version":1,"seen":7,"reservations":{reservations}}}"#);
        let ledger = |uid: &str, reservations: &str| {
            let metadata = json!({"name": format!("poolgate-ledger-{uid}"), "resourceVersion": "101"});
            json!({"metadata": metadata, "data": {"nodepool": "general", "ledger.json": text(reservations)}})
        };
        let object = match request.uri().path().rsplit('/').next() {
            Some("general") => {
                let metadata = json!({"name": "general", "uid": "next", "resourceVersion": "9"});
                json!({"metadata": metadata, "spec": {"limits": {"nodes": "1"}}})
            }
            Some("poolgate-ledger-p") => ledger("p", r#"{"a":1}"#),
            _ => ledger("next", "{}"),
        };
        Ok::<_, Infallible>(Response::new(Body::from(object.to_string().into_bytes())))
    });
    Client::new(server, "default")
}

#[tokio::test(start_paused = true)]
async fn a_read_that_shows_another_pool_begins_the_ledger_anew() {
    let context = GateContext::of_client(&created_again());
    let arrivals = Arrivals::default();
    let mut round = Round::new(&context, "general", Queue::default(), &arrivals);
    round.first_needs(false);
    let both = Needs {
        ledger: true,
        ..LIMIT
    };
    round.read.read(both, &[]).await.expect("reads");
    // What was read beside it is the ledger of the pool before.
    assert!(round.base().is_none() && round.read.ledger.is_none());
    round.read.read(LEDGER, &[]).await.expect("a read");
    let base = round.base().expect("a ledger");
    assert_eq!(
        (&*base.stored.owner, base.ledger().reservations().len()),
        ("next", 0)
    );
    let pool = round.read.pool.clone().expect("a pool").value;
    assert_eq!(&*round.write(&pool, Some(&base), Ledger::default()).uid, "next");
}

#[tokio::test(start_paused = true)]
async fn a_ledger_of_a_pool_before_is_not_swept() {
    let context = GateContext::of_client(&created_again());
    let unsettled = || {
        let unsettled = context.unsettled().into_iter();
        unsettled
            .map(|stored| stored.owner.to_string())
            .collect::<Vec<_>>()
    };
    let by = || crate::cluster::Deadline::within(Duration::from_secs(1));
    let before = Owner {
        name: "general",
        uid: "p",
    };
    let ledger = context.ledgers.read(before, by()).await.expect("a read");
    assert!(ledger.is_some_and(|ledger| ledger.ledger.is_unsettled()));
    assert_eq!(unsettled(), ["p"], "the pool that the watch shows");
    let next = CachedPool {
        uid: "next".into(),
        version: 9,
        object: None,
    };
    context.shared.view.set_pool("general".into(), Some(next));
    assert_eq!(unsettled(), Vec::<String>::new());
}
