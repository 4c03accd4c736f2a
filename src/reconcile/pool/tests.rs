//! What is read before a claim is deleted, and what the delete carries, with a server that answers as slowly as a test wants.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Mutex;

use clap::Parser;
use http_body_util::BodyExt as _;
use hyper::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tower::service_fn;

use super::*;
use crate::reconcile::ReconcileArgs;
use crate::reconcile::controller::Controller;
use crate::reconcile::index::{BOUNDS, Index};
use crate::reconcile::metrics::ReconcileMetrics;
use crate::reconcile::watched_state::WATCHES;
use poolgate_core::nodelimit::plan::ObjectRef;
use poolgate_core::policy::Policy;
use tokio_util::sync::CancellationToken;

use crate::cluster::Leadership;
use crate::cluster::clock::Clock;
use crate::runtime::telemetry::{LogOnce, Registry};

/// What the server stores, and what it was asked to write.
#[derive(Debug, Default)]
struct Stored {
    claims: Vec<Value>,
    node: Value,
    ledger: Option<Value>,
    written: Vec<(Method, Value)>,
    /// How long the next reads of what has such a path take.
    slow: Vec<(&'static str, Duration)>,
    /// Whether a webhook that is called for each DELETE never answers.
    is_stuck: bool,
}

const CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";

fn pool() -> Value {
    json!({
        "metadata": {"name": "general", "uid": "pool", "annotations": {"poolgate.dev/over-limit": "Terminate"}},
        "spec": {"limits": {"nodes": 1}, "disruption": {"nodeLimitMode": "Hard"}},
    })
}

fn claim(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "uid": name, "resourceVersion": "7", "labels": {"karpenter.sh/nodepool": "general"}},
        "status": {"providerID": format!("machine-{name}")},
    })
}

fn node(annotations: &Value) -> Value {
    json!({
        "metadata": {"name": "a", "uid": "a", "labels": {"karpenter.sh/nodepool": "general"}, "annotations": annotations},
        "spec": {"providerID": "machine-a"},
    })
}

/// A ledger that lists the claim `a`.
fn ledger() -> Value {
    let text =
        json!({"version": 1, "reservations": {}, "seen": 0, "termination": {"began": 1, "victims": ["a"]}});
    json!({
        "metadata": {"name": "poolgate-ledger-pool", "uid": "ledger", "resourceVersion": "5"},
        "data": {"nodepool": "general", "ledger.json": text.to_string()},
    })
}

/// Two claims of a pool that may have one.
fn stored() -> Stored {
    Stored {
        claims: vec![claim("a"), claim("b")],
        node: node(&json!({})),
        ledger: Some(ledger()),
        ..Stored::default()
    }
}

impl Stored {
    fn answer(&self, path: &str, query: &str) -> Option<Value> {
        let list = |items: &[Value]| Some(json!({"metadata": {}, "items": items}));
        match path {
            "/apis/karpenter.sh/v1/nodepools/general" => Some(pool()),
            CLAIMS if query.contains("fieldSelector") => list(&self.claims[..1]),
            CLAIMS => list(&self.claims),
            "/api/v1/nodes" => list(std::slice::from_ref(&self.node)),
            "/api/v1/pods" => list(&[]),
            _ => self.ledger.clone(),
        }
    }
}

async fn serve(stored: &Mutex<Stored>, request: Request<Body>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let (path, query) = (head.uri.path().to_owned(), head.uri.query().unwrap_or_default());
    if head.method != Method::GET {
        let body = body.collect().await.expect("a body").to_bytes();
        let mut body: Value = serde_json::from_slice(&body).expect("JSON");
        let is_stuck = {
            let mut stored = stored.lock().expect("it");
            stored.written.push((head.method.clone(), body.clone()));
            stored.is_stuck && head.method == Method::DELETE
        };
        if is_stuck {
            pending::<()>().await;
        }
        body["metadata"]["resourceVersion"] = json!("8");
        return Response::new(Body::from(body.to_string().into_bytes()));
    }
    let slow = {
        let slow = &mut stored.lock().expect("it").slow;
        let its = slow.iter().position(|(slow, _)| {
            path.contains(slow) && query.contains("labelSelector") == (*slow == "nodeclaims")
        });
        its.map(|its| slow.remove(its).1)
    };
    // What is answered was so when it was asked.
    let answer = stored.lock().expect("it").answer(&path, query);
    sleep(slow.unwrap_or_default()).await;
    if let Some(answer) = answer {
        return Response::new(Body::from(answer.to_string().into_bytes()));
    }
    let status =
        json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": ""});
    let mut response = Response::new(Body::from(status.to_string().into_bytes()));
    *response.status_mut() = hyper::StatusCode::NOT_FOUND;
    response
}

#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    args: ReconcileArgs,
}

/// A leader that has seen what is stored at first, and its registry.
fn leader(stored: &Arc<Mutex<Stored>>) -> (Controller, Registry) {
    let mut registry = Registry::default();
    let (server, known) = (Arc::clone(stored), stored.lock().expect("it"));
    let server = service_fn(move |request| {
        let stored = Arc::clone(&server);
        async move { Ok::<_, Infallible>(serve(&stored, request).await) }
    });
    let client = Client::new(server, "default");
    let seen = WatchedState::new(Index::new(Arc::default(), BOUNDS), Clock::start());
    seen.change(|index| {
        index.put_pool(&serde_json::from_value(pool()).expect("a pool"));
        for claim in &known.claims {
            index.put_claim(
                serde_json::from_value(claim.clone()).expect("a claim"),
                Moment::default(),
            );
        }
        index.put_node(serde_json::from_value(node(&json!({}))).expect("a node"));
        let ledger = known
            .ledger
            .clone()
            .map(|ledger| serde_json::from_value(ledger).expect("a ledger"));
        if let Some(ledger) = ledger {
            index.put_ledger(&ledger, None);
        }
    });
    for watch in WATCHES {
        seen.complete(watch);
    }
    let writer = Writer {
        client: client.clone(),
        leadership: Leadership::always(),
        metrics: ReconcileMetrics::register(&mut registry),
        clock: Clock::start(),
        observe: false,
        unheld: LogOnce::default(),
    };
    let args = Flags::parse_from(["reconcile", "--settle=0s"]).args;
    let ledgers = LedgerStore::new(client, "default", Clock::start());
    let policy = Policy::default().into();
    let controller = Controller::new(seen, writer, ledgers, policy, &args);
    *controller.pools.leading.lock() = Some((0, Moment::default()));
    (controller, registry)
}

/// Carries out one plan for the pool. Returns whether that succeeded, what was written, and how often outdated reads were
/// made again.
async fn reconciled(stored: Stored) -> (bool, Vec<(Method, Value)>, usize) {
    let stored = Arc::new(Mutex::new(stored));
    let (controller, registry) = leader(&stored);
    let pools = controller.pools;
    let snapshot = pools.seen.look(|index| index.snapshot("general"));
    let ended = pools.terminate_victims(snapshot, Memory::default()).await;
    let metrics = registry.encode().expect("text");
    let outdated = metrics
        .lines()
        .find_map(|line| line.strip_prefix("outdated_reads_total "))
        .map_or(0, |count| count.parse().expect("a number"));
    let mut written = std::mem::take(&mut stored.lock().expect("it").written);
    written.retain(|(method, _)| *method == Method::DELETE);
    (ended.is_ok(), written, outdated)
}

/// A full pool `other` with a drifted node, which must be held.
fn put_other_pool(index: &mut Index) {
    let mut pool = pool();
    pool["metadata"] = json!({"name": "other", "uid": "other"});
    index.put_pool(&serde_json::from_value(pool).expect("a pool"));
    let mut claim = claim("o");
    claim["metadata"]["labels"] = json!({"karpenter.sh/nodepool": "other"});
    let is_true =
        |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": "2026-01-05T12:00:00Z"});
    claim["status"]["conditions"] = json!([is_true("Initialized"), is_true("Drifted")]);
    index.put_claim(serde_json::from_value(claim).expect("a claim"), Moment::default());
    let node = json!({
        "metadata": {"name": "o", "uid": "o", "labels": {"karpenter.sh/nodepool": "other"}},
        "spec": {"providerID": "machine-o"},
        "status": {"conditions": [is_true("Ready")]},
    });
    index.put_node(serde_json::from_value(node).expect("a node"));
    let pod = json!({"metadata": {"uid": "p"}, "spec": {"nodeName": "o"}, "status": {"phase": "Running"}});
    index.put_pod(serde_json::from_value(pod).expect("a pod"));
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_hangs_on_a_delete_delays_no_other_pool() {
    let shared = Arc::new(Mutex::new(Stored {
        is_stuck: true,
        ..stored()
    }));
    let (controller, _) = leader(&shared);
    controller.pools.seen.change(put_other_pool);
    let _ = timeout(SECOND, Box::pin(controller.run(CancellationToken::new(), || {}))).await;
    let written = std::mem::take(&mut shared.lock().expect("it").written);
    let deleted: Vec<_> = written
        .iter()
        .filter(|(method, _)| method == Method::DELETE)
        .map(|(_, body)| &body["preconditions"]["uid"])
        .collect();
    assert_eq!(deleted, ["a"], "one pool has one reconciliation at a time");
    let is_hold = |(_, body): &&(Method, Value)| {
        body["metadata"]["name"] == "o" && body["metadata"]["labels"]["poolgate.dev/held"] == "true"
    };
    assert_eq!(written.iter().filter(is_hold).count(), 1, "{written:#?}");
}

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_delete_is_bound_to_the_version_of_the_claim_that_was_read() {
    let mut stored = stored();
    stored.claims[0]["metadata"]["resourceVersion"] = json!("9");
    let (_, written, outdated) = reconciled(stored).await;
    let (_, body) = &written[0];
    assert_eq!(body["preconditions"], json!({"uid": "a", "resourceVersion": "9"}));
    assert_eq!(outdated, 0);
}

#[tokio::test(start_paused = true)]
async fn reads_older_than_two_seconds_are_made_again_and_nothing_is_deleted_by_them() {
    for (path, age) in [("nodepools", 3), ("configmaps", 3), ("nodes", 3), ("pods", 3)] {
        let slow = |times| vec![(path, age * SECOND); times];
        let (_, written, outdated) = reconciled(Stored {
            slow: slow(1),
            ..stored()
        })
        .await;
        assert!(!written.is_empty(), "{path}");
        assert_eq!(outdated, 1, "{path}");
        let (succeeded, written, outdated) = reconciled(Stored {
            slow: slow(99),
            ..stored()
        })
        .await;
        assert_eq!((succeeded, written, outdated), (false, Vec::new(), 3), "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pool_whose_claims_take_long_to_list_loses_its_victims_all_the_same() {
    let slow = vec![("nodeclaims", 5 * SECOND); 99];
    let (_, written, outdated) = reconciled(Stored { slow, ..stored() }).await;
    assert!(!written.is_empty());
    assert_eq!(outdated, 0);
}

#[tokio::test(start_paused = true)]
async fn a_victim_that_a_user_has_just_protected_stays() {
    let node = node(&json!({"karpenter.sh/do-not-disrupt": "true"}));
    let (succeeded, written, _) = reconciled(Stored { node, ..stored() }).await;
    assert_eq!(
        (succeeded, written),
        (true, Vec::new()),
        "the watch has not shown it yet"
    );
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_the_ledger_does_not_list_is_not_deleted_and_counted() {
    let shared = Arc::new(Mutex::new(stored()));
    let (controller, registry) = leader(&shared);
    let claim = ObjectRef {
        name: "b".into(),
        uid: "b".into(),
    };
    let ledger = controller
        .pools
        .seen
        .look(|index| index.snapshot("general"))
        .ledger;
    let deleted = controller
        .pools
        .writer
        .delete("general", &claim, "7", &ledger)
        .await;
    assert!(!deleted.expect("no error"));
    assert_eq!(shared.lock().expect("it").written, []);
    let text = registry.encode().expect("text");
    let line = r#"invariant_violations_total{invariant="delete_not_listed"} 1"#;
    assert!(text.contains(line), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_missing_ledger_is_replaced_by_a_closed_one_and_by_no_list_of_victims() {
    let shared = Arc::new(Mutex::new(Stored {
        ledger: None,
        ..stored()
    }));
    let (controller, _) = leader(&shared);
    let snapshot = controller.pools.seen.look(|index| index.snapshot("general"));
    let pools = controller.pools;
    pools
        .list_victims(&snapshot, &["a".into()])
        .await
        .expect("it is stale");
    assert_eq!(shared.lock().expect("it").written, []);
    pools.store_ledger(&snapshot).await.expect("it is stored");
    let written = std::mem::take(&mut shared.lock().expect("it").written);
    let text = written[0].1["data"]["ledger.json"].as_str().expect("a ledger");
    let ledger: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(
        (&ledger["closed"], &ledger["termination"]),
        (&json!(true), &Value::Null)
    );
}

#[tokio::test(start_paused = true)]
async fn the_numbers_of_a_pool_are_there_while_it_is_and_those_of_its_limit_while_that_is() {
    let shared = Arc::new(Mutex::new(stored()));
    let (controller, registry) = leader(&shared);
    let pools = controller.pools;
    let name: Arc<str> = "free".into();
    let shown = async |name: &Arc<str>| {
        pools
            .reconcile(name, &mut PoolMemory::default())
            .await
            .expect("nothing is written");
        let text = registry.encode().expect("text");
        let mut lines: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with("nodepool_nodes{") || line.starts_with("nodepool_limit{"))
            .map(str::to_owned)
            .collect();
        lines.sort();
        lines
    };
    let put = |limits: &Value| {
        let pool = json!({"metadata": {"name": "free"}, "spec": {"limits": limits}});
        let mut claim = claim("f");
        claim["metadata"]["labels"] = json!({"karpenter.sh/nodepool": "free"});
        claim["status"]["conditions"] = json!([{"type": "Drifted", "status": "True"}]);
        pools.seen.change(|index| {
            index.put_pool(&serde_json::from_value(pool).expect("a pool"));
            index.put_claim(serde_json::from_value(claim).expect("a claim"), Moment::default());
        });
    };
    let limit = r#"nodepool_limit{nodepool="free"} 7"#;
    let nodes = [("replacing", 0), ("up_to_date", 0), ("waiting", 1)]
        .map(|(state, nodes)| format!(r#"nodepool_nodes{{nodepool="free",state="{state}"}} {nodes}"#));
    put(&json!({}));
    assert_eq!(shown(&name).await, nodes);
    put(&json!({"nodes": 7}));
    assert_eq!(shown(&name).await, [&[limit.to_owned()], &nodes[..]].concat());
    put(&json!({}));
    assert_eq!(shown(&name).await, nodes);
    pools.seen.change(|index| index.remove_pool("free"));
    assert_eq!(shown(&name).await, [""; 0], "although its nodes are still there");
}
