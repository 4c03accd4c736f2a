use futures_util::FutureExt as _;
use poolgate_core::policy::Policy;
use serde_json::{Value, json};

use super::*;
use crate::cluster::clock::Clock;
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
