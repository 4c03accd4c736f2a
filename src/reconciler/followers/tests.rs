use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _, stream};
use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};
use hyper::{Request, Response};
use kube::Client;
use kube::client::Body;
use poolgate_core::policy::Policy;
use serde_json::{Value, json};
use tokio::time::timeout;
use tower::service_fn;

use super::*;
use crate::cluster::clock::Clock;
use crate::cluster::{Collection, Watch, WatchMetrics};
use crate::lifecycle::StatusLine;
use crate::reconciler::index::BOUNDS;

fn nothing_seen() -> WatchedState {
    WatchedState::new(Index::new(Arc::new(Policy::default()), BOUNDS), Clock::start())
}

fn list(follower: &mut impl Follower, objects: impl IntoIterator<Item = Value>) {
    follower.list_begins();
    for object in objects {
        follower.listed(serde_json::from_value(object).expect("an object"));
    }
    follower.list_ends();
}

fn of_pool(name: &str) -> Value {
    json!({"metadata": {"name": name, "uid": name, "labels": {"karpenter.sh/nodepool": "general"}}})
}

fn pod(uid: &str) -> Value {
    json!({"metadata": {"uid": uid}, "spec": {"nodeName": "a"}})
}

fn pool(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

#[test]
fn a_list_says_what_is_gone() {
    let seen = nothing_seen();
    let known = |seen: &WatchedState| {
        seen.look(|index| {
            [
                index.pools().count(),
                index.claims().count(),
                index.nodes().count(),
                index.pods().count(),
            ]
        })
    };
    let mut pools = IndexFollower::<PoolObject>::new(&seen);
    let mut claims = IndexFollower::<ClaimObject>::new(&seen);
    let mut nodes = IndexFollower::<NodeObject>::new(&seen);
    let mut pods = IndexFollower::<PodObject>::new(&seen);
    for names in [&["a", "b"][..], &["b", "c", "d"], &["d"], &[]] {
        list(&mut pools, names.iter().map(|name| pool(name)));
        list(&mut claims, names.iter().map(|name| of_pool(name)));
        list(&mut nodes, names.iter().map(|name| of_pool(name)));
        list(&mut pods, names.iter().map(|name| pod(name)));
        assert_eq!(known(&seen), [names.len(); 4], "{names:?}");
    }
}

#[test]
fn a_list_that_breaks_off_removes_nothing() {
    let seen = nothing_seen();
    let mut claims = IndexFollower::<ClaimObject>::new(&seen);
    list(&mut claims, ["a", "b"].map(of_pool));
    claims.list_begins();
    claims.listed(serde_json::from_value(of_pool("c")).expect("a claim"));
    assert_eq!(seen.look(|index| index.claims().count()), 3);
    list(&mut claims, ["b"].map(of_pool));
    assert_eq!(seen.look(|index| index.claims().count()), 1);
}

#[test]
fn nodes_are_listed_again_only_for_a_label_that_the_last_list_did_not_keep() {
    let seen = nothing_seen();
    let mut nodes = IndexFollower::<NodeObject>::new(&seen);
    let mut pods = IndexFollower::<PodObject>::new(&seen);
    let selecting = |label: &str| json!({"metadata": {"uid": label}, "spec": {"nodeName": "a", "nodeSelector": {label: "1"}}});
    list(&mut pods, [selecting("zone")]);
    list(&mut nodes, [of_pool("a")]);
    assert_eq!(
        nodes.wants_list().now_or_never(),
        None,
        "the list began after the request"
    );
    pods.changed(serde_json::from_value(selecting("disk")).expect("a pod"));
    assert_eq!(nodes.wants_list().now_or_never(), Some(()));
    list(&mut nodes, [of_pool("a")]);
    assert_eq!(nodes.wants_list().now_or_never(), None);
}

#[test]
fn a_ledger_that_cannot_be_read_is_logged_anew_once_it_was_gone() {
    let seen = nothing_seen();
    let mut ledgers = IndexFollower::<ConfigMap>::new(&seen);
    let broken: ConfigMap =
        serde_json::from_value(json!({"metadata": {"name": "broken"}})).expect("a ConfigMap");
    ledgers.changed(broken.clone());
    let known = |seen: &WatchedState| seen.look(|index| index.ledgers().cloned().collect::<Vec<_>>());
    assert_eq!(known(&seen), [Box::from("broken")]);
    ledgers.gone(&broken);
    assert!(known(&seen).is_empty());
}

/// How many pods the scripted cluster has, and how many of them are on a page.
const MANY: usize = 150_000;
const PAGE: usize = 1_000;

/// What an API server answers that has many pods, and whose first watch breaks. The next one has what happened meanwhile: one
/// pod is new, and one is gone.
fn answer_of_many_pods(query: &str, pages: &AtomicUsize, watches: &AtomicUsize) -> (String, bool) {
    let parameter = |name: &str| query.split('&').find_map(|part| part.strip_prefix(name));
    let numbered = |number: usize, version: usize| {
        json!({"metadata": {"uid": number.to_string(), "resourceVersion": version.to_string()},
            "spec": {"nodeName": "a"}})
    };
    if parameter("watch=").is_some() {
        let is_first = watches.fetch_add(1, Ordering::Relaxed) == 0;
        let new = json!({"type": "ADDED", "object": numbered(MANY, 11)});
        let gone = json!({"type": "DELETED", "object": numbered(0, 12)});
        let missed = format!("{new}\n{gone}\n");
        return (if is_first { String::new() } else { missed }, is_first);
    }
    let limit: usize = parameter("limit=")
        .and_then(|limit| limit.parse().ok())
        .expect("a limit");
    let from: usize = parameter("continue=").map_or(0, |token| token.parse().expect("a number"));
    pages.fetch_add(usize::from(limit > 1), Ordering::Relaxed);
    let to = (from + limit).min(MANY);
    let next = if to < MANY { to.to_string() } else { String::new() };
    let pods: Vec<_> = (from..to).map(|number| numbered(number, 10)).collect();
    let version = if limit > 1 { "10" } else { "12" };
    let list = json!({"metadata": {"resourceVersion": version, "continue": next}, "items": pods});
    (list.to_string(), false)
}

#[tokio::test(start_paused = true)]
async fn a_broken_stream_of_many_pods_costs_no_list() {
    let (pages, watches) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counted = (Arc::clone(&pages), Arc::clone(&watches));
    let server = service_fn(move |request: Request<Body>| {
        let query = request.uri().query().unwrap_or_default();
        let (text, breaks) = answer_of_many_pods(query, &counted.0, &counted.1);
        let is_watch = query.contains("watch=");
        let text = stream::iter([Ok(Frame::data(Bytes::from(text)))]);
        let end = match (breaks, is_watch) {
            (true, _) => stream::iter([Err(std::io::Error::other("broken"))]).boxed(),
            (false, true) => stream::pending().boxed(),
            (false, false) => stream::empty().boxed(),
        };
        async { Ok::<_, Infallible>(Response::new(StreamBody::new(text.chain(end)))) }
    });
    let objects = Collection::new(Client::new(server, "default"), "/api/v1/pods");
    let (seen, line) = (nothing_seen(), StatusLine::default());
    let watch = Watch::new("pods", "", line.clone(), &WatchMetrics::default());
    let follower = IndexFollower::<PodObject>::new(&seen);
    let _ = timeout(Duration::from_secs(30), watch.run(objects, follower)).await;
    assert_eq!(pages.load(Ordering::Relaxed), MANY / PAGE);
    assert_eq!(watches.load(Ordering::Relaxed), 2);
    assert_eq!(line.state().to_string(), "watching");
    let known = |uid: usize| seen.look(|index| index.pods().any(|pod| pod == Key::of(&uid.to_string())));
    assert_eq!((known(0), known(MANY)), (false, true));
}
