//! `poolgate freeze`: which nodes are marked, how soon, and what ends that.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::emergency::LEASE;
use crate::support::accounts::Account;
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::fleet::Fleet;
use crate::support::full::full;
use crate::support::nodepool::node_pool;
use crate::support::process::Outcome;
use crate::support::program;
use crate::support::readme::block_of;
use crate::support::reconciler::Reconciler;
use crate::support::shell::{shell, workplace};
use crate::support::wait::wait_for;

const PAGE: &str = include_str!("../../../../docs/freeze.md");
const POOLS: &str = "/apis/karpenter.sh/v1/nodepools";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/poolgate-system/deployments";
const USERS: &str = "karpenter.sh/do-not-disrupt";

/// What is promised, on a machine that has nothing else to do.
const IN_TIME: Duration = Duration::from_secs(10);

fn poolgate(kubeconfig: &Path, arguments: &[&str]) -> Outcome {
    let kubeconfig = kubeconfig.to_str().expect("a path");
    program::run(&[arguments, &["--kubeconfig", kubeconfig]].concat(), "")
}

#[track_caller]
fn expect(said: &Outcome, code: i32, words: &[&str]) {
    assert_eq!(said.status.code(), Some(code), "{said:?}");
    // Lines are wrapped.
    let text: Vec<&str> = said
        .stdout
        .split_whitespace()
        .chain(said.stderr.split_whitespace())
        .collect();
    let text = text.join(" ");
    for word in words {
        assert!(text.contains(word), "{word}: {said:?}");
    }
}

fn create_pool(fleet: &Fleet, name: &str, spec: &Value) {
    fleet.client().create(POOLS, &node_pool(name, spec));
}

fn annotation(fleet: &Fleet, pool: &str) -> Value {
    let pool = fleet.client().get(&format!("{POOLS}/{pool}")).expect("a pool");
    pool["metadata"]["annotations"]["poolgate.dev/freeze"].clone()
}

fn store_deployment(plane: &ControlPlane, arguments: &[&str]) {
    let labels = json!({"app": "poolgate-reconciler"});
    let container = json!({"name": "main", "image": "registry.example.com/poolgate", "args": arguments});
    Client::of(plane).apply_object(&json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "poolgate-reconciler", "namespace": "poolgate-system"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }));
}

/// Pools of three kinds with their nodes: `r-2` is a user's.
fn cluster() -> (ControlPlane, Fleet, PathBuf) {
    let plane = ControlPlane::start();
    let mut fleet = Fleet::in_cluster(&plane);
    create_pool(&fleet, "roomy", &json!({}));
    create_pool(
        &fleet,
        "static",
        &json!({"replicas": 1, "limits": {"nodes": "2"}}),
    );
    fleet.pool("full", 1, &json!({}));
    for (pool, node) in [
        ("roomy", "r-1"),
        ("roomy", "r-2"),
        ("static", "s-1"),
        ("full", "f-1"),
    ] {
        fleet.busy(pool, node);
    }
    let users = json!({"metadata": {"annotations": {USERS: "true"}}});
    fleet.change_node("r-2", &users);
    let admin = plane.kubeconfig().to_owned();
    (plane, fleet, admin)
}

#[test]
fn a_freeze_marks_nodes_of_every_pool_until_somebody_or_its_time_ends_it() {
    let (plane, mut fleet, admin) = cluster();
    let account = plane.kubeconfig_by(Account::Reconciler);
    let reconciler = Reconciler::start(&account, &[]);
    fleet.wait_until_held("full", &["f-1"]);
    let all = poolgate(&admin, &["freeze", "--all", "--until=10m", "--reason=no changes"]);
    let words = [
        "NodePool static is frozen until 20",
        "it says by admin: no changes",
        "Marked: 3 nodes, and 1 node protected by a user. A freeze does not stop",
    ];
    expect(&all, 0, &words);
    assert_eq!(
        (fleet.held("roomy"), fleet.held("static")),
        (vec!["r-1".to_owned()], vec!["s-1".to_owned()])
    );
    let node = fleet.stored_node("f-1");
    let held_for = &node["metadata"]["annotations"]["poolgate.dev/held-for"];
    assert_eq!(held_for, "node-limit,freeze");
    // A node that becomes initialized meanwhile.
    fleet.busy("roomy", "r-3");
    fleet.wait_until_held("roomy", &["r-1", "r-3"]);
    let budgets = poolgate(&admin, &["budgets", "--cluster", "--pool=static"]);
    let words = [
        "frozen until 20",
        "no node is disrupted whatever the budgets allow",
    ];
    expect(&budgets, 0, &words);
    let why = poolgate(&admin, &["why", "node", "r-1"]);
    let words = [
        "poolgate holds the node, because NodePool roomy is frozen",
        "poolgate unfreeze roomy",
    ];
    expect(&why, 0, &words);

    // Nothing of a user is taken, and what the limit holds stays held.
    let ended = poolgate(&admin, &["unfreeze", "roomy", "full"]);
    expect(&ended, 0, &["NodePool roomy is no longer frozen"]);
    assert_eq!(
        (fleet.held("roomy"), fleet.held("full")),
        (vec![], vec!["f-1".to_owned()])
    );
    assert_eq!(fleet.stored_node("r-2")["metadata"]["annotations"][USERS], "true");
    assert_eq!(fleet.held("static"), ["s-1"]);

    // It is replaced by one with another end, and that comes, even for the next leader.
    let begun = Instant::now();
    let short = poolgate(&admin, &["freeze", "static", "--until=15s", "--reason=short"]);
    expect(&short, 0, &["Marked: 1 node"]);
    reconciler.kill();
    drop(reconciler);
    let _next = Reconciler::start(&account, &[]);
    fleet.wait_until_held("static", &[]);
    assert!(
        begun.elapsed() >= Duration::from_secs(14),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn an_annotation_alone_does_nothing_and_one_that_cannot_be_read_freezes() {
    let (plane, mut fleet, admin) = cluster();
    let unknown = poolgate(&admin, &["freeze", "roomy", "rommy", "--forever", "--reason=why"]);
    expect(
        &unknown,
        2,
        &["NodePool \"rommy\" does not exist. Nothing was changed"],
    );
    assert_eq!(annotation(&fleet, "roomy"), Value::Null);
    let alone = poolgate(
        &admin,
        &["freeze", "roomy", "--forever", "--reason=why", "--by=ops"],
    );
    let missing = "1 node not marked, because no reconciler of poolgate is leading that writes";
    expect(&alone, 1, &[missing]);
    assert_eq!(annotation(&fleet, "roomy"), "forever by=ops reason=why");
    let words = [
        "Frozen: NodePool roomy is frozen until somebody unfreezes it, it says by ops: why",
        "NodePool roomy is frozen, but no reconciler is leading",
    ];
    expect(&poolgate(&admin, &["status"]), 1, &words);

    let _reconciler = Reconciler::start(&plane.kubeconfig_by(Account::Reconciler), &[]);
    fleet.wait_until_held("roomy", &["r-1"]);
    let broken = json!({"metadata": {"annotations": {"poolgate.dev/freeze": "until=tomorrow"}}});
    fleet.change_pool("roomy", &broken);
    fleet.busy("roomy", "r-3");
    fleet.wait_until_held("roomy", &["r-1", "r-3"]);
    let words = ["until= must be a time", "To remove it: poolgate unfreeze roomy"];
    expect(&poolgate(&admin, &["status"]), 1, &words);
    expect(
        &poolgate(&admin, &["unfreeze", "--all"]),
        0,
        &["NodePool full has no freeze"],
    );
    assert_eq!(
        (annotation(&fleet, "roomy"), fleet.held("roomy")),
        (Value::Null, vec![])
    );

    // The lines of the page do what it says.
    create_pool(&fleet, "general", &json!({}));
    fleet.busy("general", "g-1");
    let clone = workplace();
    let by_hand = block_of(PAGE, "sh", "kubectl annotate nodepool general");
    let (set, removed) = by_hand.split_once('\n').expect("two lines");
    shell(clone.path(), Some(&admin), set).success();
    fleet.wait_until_held("general", &["g-1"]);
    shell(clone.path(), Some(&admin), removed).success();
    fleet.wait_until_held("general", &[]);
}

#[test]
fn marks_of_a_freeze_outlast_a_dead_reconciler_but_not_one_that_is_taken_out() {
    let plane = ControlPlane::start();
    let mut fleet = Fleet::in_cluster(&plane);
    create_pool(&fleet, "roomy", &json!({}));
    fleet.busy("roomy", "r-1");
    let account = plane.kubeconfig_by(Account::Reconciler);
    let unhold = plane.kubeconfig_by(Account::Unhold);
    store_deployment(&plane, &["reconcile"]);
    let freeze = |until: &str| {
        let mut reconciler = Reconciler::start(&account, &[]);
        wait_for("it to lead", || reconciler.leads().then_some(()));
        let said = poolgate(plane.kubeconfig(), &["freeze", "roomy", "--reason=why", until]);
        expect(&said, 0, &["Marked: 1 node"]);
        assert!(reconciler.terminate().success(), "{}", reconciler.log());
    };
    let expire = || {
        let old = Timestamp::now() - jiff::SignedDuration::from_mins(16);
        let spec =
            json!({"holderIdentity": "gone", "leaseDurationSeconds": 1, "renewTime": format!("{old:.6}")});
        Client::of(&plane).merge(LEASE, &json!({ "spec": spec }));
        let ended = Reconciler::unhold_all(
            &unhold,
            &["--if-lease-older-than=15m", "--namespace=poolgate-system"],
        );
        assert!(ended.status.success(), "{ended:?}");
    };

    for until in ["--forever", "--until=20s"] {
        freeze(until);
        expire();
        assert_eq!(fleet.held("roomy"), ["r-1"], "{until}");
    }
    wait_for("the freeze to be over", || {
        expire();
        fleet.held("roomy").is_empty().then_some(())
    });

    // A step back: it only observes, or is not there.
    freeze("--forever");
    store_deployment(&plane, &["reconcile", "--observe"]);
    expire();
    assert_eq!(
        (fleet.held("roomy"), annotation(&fleet, "roomy").is_null()),
        (vec![], false)
    );

    freeze("--until=1h");
    Client::of(&plane).delete(&format!("{DEPLOYMENTS}/poolgate-reconciler"));
    expire();
    assert_eq!(fleet.held("roomy"), Vec::<String>::new());

    // Leaving ends the freeze itself.
    freeze("--until=1h");
    let left = Reconciler::unhold_all(plane.kubeconfig(), &[]);
    assert!(left.status.success(), "{left:?}");
    assert_eq!(
        (fleet.held("roomy"), annotation(&fleet, "roomy")),
        (vec![], Value::Null)
    );
}

#[test]
fn a_thousand_nodes_are_marked_in_time() {
    let nodes = if full() { 1_000 } else { 40 };
    let plane = ControlPlane::start();
    let mut fleet = Fleet::in_cluster(&plane);
    create_pool(&fleet, "large", &json!({}));
    for node in 0..nodes {
        fleet.empty("large", &format!("node-{node:04}"));
    }
    let _reconciler = Reconciler::start(&plane.kubeconfig_by(Account::Reconciler), &[]);
    let begun = Instant::now();
    let said = poolgate(
        plane.kubeconfig(),
        &["freeze", "--all", "--until=1h", "--reason=why"],
    );
    let marked = begun.elapsed();
    expect(&said, 0, &[&format!("Marked: {nodes} nodes")]);
    let begun = Instant::now();
    expect(&poolgate(plane.kubeconfig(), &["unfreeze", "--all"]), 0, &[]);
    let unmarked = begun.elapsed();
    println!("{nodes} nodes marked after {marked:?}, and free after {unmarked:?}");
    if full() {
        assert!(
            marked <= IN_TIME && unmarked <= IN_TIME,
            "{marked:?} {unmarked:?}"
        );
    }
}
