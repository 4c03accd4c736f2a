//! What waits for what, and what becomes of an answer that nobody receives.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use http_body_util::BodyExt as _;
use hyper::{Method, Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::sleep;
use tower::service_fn;

use super::*;
use crate::cluster::ledgers::Owner;

/// An API server with one NodePool, `general`, with a limit of one.
#[derive(Clone, Default)]
struct Server {
    /// The pool's NodeClaims.
    claims: &'static [&'static str],
    /// How long it takes to store a ledger; `None` if it never answers.
    write: Option<Duration>,
    /// How long a LIST of the claims takes, and how many there were.
    list: Duration,
    lists: Arc<AtomicUsize>,
    /// Its ledger.
    ledger: Arc<Mutex<Option<Value>>>,
}

impl Server {
    fn gate(&self) -> Arc<Gate> {
        let server = self.clone();
        let answer = service_fn(move |request| server.clone().answer(request));
        gate(&Client::new(answer, "default"))
    }

    async fn answer(self, request: Request<Body>) -> Result<Response<Body>, Infallible> {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path();
        if parts.method != Method::GET {
            match self.write {
                Some(time) => sleep(time).await,
                None => pending().await,
            }
            let body = body.collect().await.expect("a body").to_bytes();
            let mut ledger: Value = serde_json::from_slice(&body).expect("a ledger");
            let mut stored = self.ledger.lock();
            let version = stored.as_ref().map_or(100, version) + 1;
            ledger["metadata"]["resourceVersion"] = version.to_string().into();
            ledger["metadata"]["uid"] = "l".into();
            *stored = Some(ledger.clone());
            return Ok(answer(StatusCode::OK, &ledger));
        }
        let labels = json!({"karpenter.sh/nodepool": "general"});
        let claim =
            |uid| json!({"metadata": {"name": uid, "uid": uid, "resourceVersion": "7", "labels": labels}});
        let claims: Vec<_> = self.claims.iter().map(claim).collect();
        let metadata = json!({"name": "general", "uid": "p", "resourceVersion": "5"});
        let pool = json!({"metadata": metadata, "spec": {"limits": {"nodes": "1"}}});
        let found = match path.rsplit('/').next() {
            Some("nodeclaims") => {
                self.lists.fetch_add(1, Ordering::Relaxed);
                sleep(self.list).await;
                Some(json!({"metadata": {"resourceVersion": "9"}, "items": claims}))
            }
            Some("general") => Some(pool),
            Some("poolgate-ledger-p") => self.ledger.lock().clone(),
            _ => None,
        };
        let missing = json!({"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound"});
        Ok(found.map_or_else(
            || answer(StatusCode::NOT_FOUND, &missing),
            |object| answer(StatusCode::OK, &object),
        ))
    }

    /// For whom its ledger has reservations.
    fn reservations(&self) -> Vec<String> {
        let ledger = self.ledger.lock();
        let Some(ledger) = &*ledger else { return Vec::new() };
        let text = ledger["data"]["ledger.json"].as_str().expect("a ledger");
        let ledger: Value = serde_json::from_str(text).expect("a ledger");
        let reservations = ledger["reservations"].as_object().expect("reservations");
        reservations.keys().cloned().collect()
    }
}

fn version(object: &Value) -> u64 {
    let version = object["metadata"]["resourceVersion"].as_str();
    version
        .and_then(|version| version.parse().ok())
        .expect("a version")
}

fn answer(status: StatusCode, object: &Value) -> Response<Body> {
    let mut answer = Response::new(Body::from(object.to_string().into_bytes()));
    *answer.status_mut() = status;
    answer
}

fn gate(client: &Client) -> Arc<Gate> {
    Gate::new(false, GateContext::of_client(client))
}

const LIMIT: Duration = Duration::from_secs(10);

fn review(uid: &str) -> NodeClaimReview {
    NodeClaimReview::of_creation("general", uid)
}

#[tokio::test(start_paused = true)]
async fn a_denial_does_not_wait_until_the_one_before_is_stored() {
    let server = Server {
        claims: &["a"],
        ..Server::default()
    };
    let gate = server.gate();
    let begun = Instant::now();
    for uid in ["b", "c", "d"] {
        let decision = gate.ask(&review(uid), OnError::Allow, LIMIT).await;
        assert!(matches!(decision, GateDecision::Denied(_)), "{decision:?}");
    }
    // The time that a write may take, on a clock that runs only while nothing else is to do.
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(
        gate.context.unrecorded(Owner {
            name: "general",
            uid: "p"
        }),
        3
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_waits_until_its_reservation_is_stored_and_keeps_it() {
    let server = Server {
        write: Some(Duration::from_secs(2)),
        ..Server::default()
    };
    let gate = server.gate();
    let ask = async |uid| gate.ask(&review(uid), OnError::Deny, LIMIT).await;
    let begun = Instant::now();
    let decision = ask("a").await;
    assert!(matches!(decision, GateDecision::Allowed), "{decision:?}");
    assert_eq!(begun.elapsed().as_secs(), 2);
    assert_eq!(server.reservations(), ["a"]);
    let decision = ask("b").await;
    assert!(matches!(decision, GateDecision::Denied(_)), "{decision:?}");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_ends_does_not_end_the_work_on_its_pool_and_its_reservation_is_released() {
    let server = Server {
        write: Some(Duration::from_secs(2)),
        ..Server::default()
    };
    let gate = server.gate();
    let given_up = timeout(
        Duration::from_secs(1),
        gate.ask(&review("a"), OnError::Deny, LIMIT),
    )
    .await;
    assert!(given_up.is_err(), "{given_up:?}");
    sleep(Duration::from_millis(1_500)).await;
    assert_eq!(server.reservations(), ["a"], "it was stored nevertheless");
    sleep(LIMIT).await;
    assert!(server.reservations().is_empty());
    assert!(gate.pools.lock().is_empty(), "the pool has no task any more");
}

#[tokio::test(start_paused = true)]
async fn a_nodeclaim_that_is_admitted_without_a_decision_keeps_its_reservation() {
    for (on_error, expected) in [(OnError::Allow, 1), (OnError::Deny, 0)] {
        // A write has 1.2 s, however short the time is that a request has left.
        let server = Server {
            write: Some(Duration::from_millis(1_100)),
            ..Server::default()
        };
        let gate = server.gate();
        let decision = gate.ask(&review("a"), on_error, Duration::from_secs(1)).await;
        let is_late = matches!(
            decision,
            GateDecision::AllowedUndecided(GateError::Late(_))
                | GateDecision::DeniedUndecided(GateError::Late(_))
        );
        assert!(is_late, "{decision:?}");
        sleep(LIMIT).await;
        assert_eq!(server.reservations().len(), expected, "{on_error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_round_that_panics_fails_its_creations_and_frees_the_pool() {
    let server = service_fn(async |_: Request<Body>| -> Result<Response<Body>, Infallible> {
        panic!("a defect");
    });
    let gate = gate(&Client::new(server, "default"));
    for uid in ["a", "b"] {
        let decision = gate.ask(&review(uid), OnError::Deny, LIMIT).await;
        let is_failed = matches!(decision, GateDecision::DeniedUndecided(GateError::Ended));
        assert!(is_failed, "{decision:?}");
    }
    assert_eq!(gate.places.available_permits(), MOST_WAITING);
}

#[tokio::test(start_paused = true)]
async fn a_creation_is_refused_if_too_many_wait() {
    let silent = service_fn(|_: Request<Body>| pending::<Result<Response<Body>, Infallible>>());
    let gate = gate(&Client::new(silent, "default"));
    let reviews: Vec<_> = (0..=MOST_WAITING).map(|uid| review(&uid.to_string())).collect();
    let asked = reviews
        .iter()
        .map(|review| gate.ask(review, OnError::Deny, LIMIT));
    let refused = join_all(asked)
        .await
        .into_iter()
        .filter(|decision| matches!(decision, GateDecision::DeniedUndecided(GateError::Busy)));
    assert_eq!(refused.count(), 1);
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
    let gate = gate(&of_one_pool(&reads));
    let ask = async |name: &str| {
        let review = NodeClaimReview::of_creation(name, "u");
        gate.ask(&review, OnError::Deny, LIMIT).await
    };
    let names: Vec<_> = (0..100).map(|number| format!("invented-{number}")).collect();
    let invented = join_all(names.iter().map(|name| ask(name)));
    let (invented, new) = tokio::join!(invented, ask("new"));
    assert!(matches!(new, GateDecision::Allowed), "{new:?}");
    for decision in invented {
        let is_unknown = matches!(decision, GateDecision::DeniedUndecided(GateError::Limit(_)));
        assert!(is_unknown, "{decision:?}");
    }
    assert_eq!(reads.load(Ordering::Relaxed), 1);
    assert_eq!(gate.context.claims.lock().len(), 0, "pools that are remembered");
}

/// A pool without claims and without a ledger, so that its first creation needs a LIST, which takes two seconds.
fn new() -> Server {
    Server {
        write: Some(Duration::ZERO),
        list: Duration::from_secs(2),
        ..Server::default()
    }
}

#[tokio::test(start_paused = true)]
async fn an_early_deadline_concerns_its_own_creation_only() {
    let server = new();
    let gate = server.gate();
    let soon = Duration::from_millis(500);
    let (stranger, honest) = (review("stranger"), review("honest"));
    let (stranger, honest) = tokio::join!(
        gate.ask(&stranger, OnError::Deny, soon),
        gate.ask(&honest, OnError::Deny, LIMIT),
    );
    let is_late = matches!(stranger, GateDecision::DeniedUndecided(GateError::ListLate));
    assert!(is_late, "{stranger:?}");
    assert!(matches!(honest, GateDecision::Allowed), "{honest:?}");
    assert_eq!(server.lists.load(Ordering::Relaxed), 1, "the LIST goes on");
}

#[tokio::test(start_paused = true)]
async fn what_is_admitted_undecided_is_reserved_before_the_others_are_decided() {
    let server = new();
    let gate = server.gate();
    let soon = Duration::from_millis(500);
    let (early, other) = (review("early"), review("other"));
    let (early, other) = tokio::join!(
        gate.ask(&early, OnError::Allow, soon),
        gate.ask(&other, OnError::Deny, LIMIT),
    );
    assert!(matches!(early, GateDecision::AllowedUndecided(_)), "{early:?}");
    assert!(matches!(other, GateDecision::Denied(_)), "{other:?}");
    sleep(LIMIT).await;
    assert_eq!(server.reservations(), ["early"]);
}

/// A stranger asks every 10 ms, with the shortest and the longest timeout that the API server takes.
async fn strangers(gate: &Arc<Gate>, on_error: OnError) {
    for number in 0.. {
        let limit = Duration::from_micros(if number % 2 == 0 { 800 } else { 24_000_000 });
        let (gate, review) = (Arc::clone(gate), review(&format!("stranger-{number}")));
        spawn(async move { drop(gate.ask(&review, on_error, limit).await) });
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_honest_creation_is_decided_in_time_whatever_strangers_ask() {
    const HONEST: Duration = Duration::from_millis(2_400);
    for (seconds, is_decided) in [(2, true), (3_600, false)] {
        let server = Server {
            claims: &["a"],
            list: Duration::from_secs(seconds),
            ..new()
        };
        let gate = server.gate();
        let honest = async {
            sleep(Duration::from_secs(1)).await;
            let begun = Instant::now();
            let decision = gate.ask(&review("honest"), OnError::Deny, HONEST).await;
            (decision, begun.elapsed())
        };
        let (decision, took) = tokio::select! {
            decided = honest => decided,
            () = strangers(&gate, OnError::Deny) => unreachable!("they never end"),
        };
        assert!(took <= HONEST, "{took:?}");
        match decision {
            GateDecision::Denied(_) => assert!(is_decided, "nothing is known"),
            GateDecision::DeniedUndecided(GateError::ListLate) => assert!(!is_decided, "the pool is full"),
            other => panic!("{seconds} s: {other:?}"),
        }
    }
}
