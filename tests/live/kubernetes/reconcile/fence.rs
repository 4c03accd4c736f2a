//! What the account of the reconciler may not do, though its roles let it: what whoever has stolen its token may not.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::support::accounts::Account;
use crate::support::chart::charted;
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::fleet::Fleet;
use crate::support::nodepool::node_pool;
use crate::support::wait::wait_for;

const NODES: &str = "/api/v1/nodes";
const POOLS: &str = "/apis/karpenter.sh/v1/nodepools";
const CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";
const EVENTS: &str = "/api/v1/namespaces/default/events";

/// The hand of a thief, and the fleet that is there.
struct Fenced {
    fleet: Fleet,
    thief: Client,
    _plane: ControlPlane,
}

static FENCED: LazyLock<Mutex<Fenced>> = LazyLock::new(|| Mutex::new(Fenced::start()));

/// The one that these tests share, for one test at a time.
fn fenced() -> MutexGuard<'static, Fenced> {
    FENCED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Fenced {
    fn start() -> Self {
        let plane = ControlPlane::start();
        let mut fleet = Fleet::in_cluster(&plane);
        let thief = Client::by(&plane.kubeconfig_by(Account::Reconciler));
        fleet.pool("limited", 1, &json!({}));
        fleet.busy("limited", "mine");
        let fenced = Self {
            fleet,
            thief,
            _plane: plane,
        };
        // Policies take effect late, and each for itself.
        wait_for("the fence to stand", || {
            fenced.denied(NODES, "mine", &json!({"spec": {"unschedulable": true}}))
        });
        fenced
    }

    /// Why a merge is denied by the fence, if it is; nothing is changed either way.
    #[track_caller]
    fn denied(&self, collection: &str, name: &str, change: &Value) -> Option<String> {
        let path = format!("{collection}/{name}?dryRun=All");
        reported(self.thief.try_merge(&path, change))
    }

    #[track_caller]
    fn expect_denied(&self, collection: &str, name: &str, change: &Value) {
        let reported = self.denied(collection, name, change);
        assert!(reported.is_some(), "{collection}/{name} took {change}");
    }

    #[track_caller]
    fn expect_taken(&self, collection: &str, name: &str, change: &Value) {
        let reported = self.denied(collection, name, change);
        assert_eq!(reported, None, "{collection}/{name} denied {change}");
    }

    /// Why the fence keeps the thief from deleting a claim, by the UID that it has or by none.
    #[track_caller]
    fn kept(&self, name: &str, by_uid: bool) -> Option<String> {
        let claim = self.fleet.client().get(&format!("{CLAIMS}/{name}"));
        let uid = claim.expect("a claim")["metadata"]["uid"].clone();
        let mut options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"]});
        if by_uid {
            options["preconditions"] = json!({"uid": uid});
        }
        reported(self.thief.try_delete(&format!("{CLAIMS}/{name}"), &options))
    }
}

/// What the fence says of a request; none where it was taken.
#[track_caller]
fn reported(answer: Result<Value, kube::Error>) -> Option<String> {
    let reported = answer.err()?.to_string();
    assert!(
        reported.contains("this account"),
        "denied for another reason: {reported}"
    );
    Some(reported)
}

#[test]
fn of_a_node_the_account_changes_the_marks_alone() {
    let mut fenced = fenced();
    let marks = json!({
        "labels": {"poolgate.dev/held": "true"},
        "annotations": {"poolgate.dev/held-for": "node-limit", "karpenter.sh/do-not-disrupt": "true"},
    });
    fenced.expect_taken(NODES, "mine", &json!({"metadata": marks}));
    let taint = json!([{"key": "gone", "effect": "NoExecute"}]);
    let owner = json!([{"apiVersion": "v1", "kind": "Namespace", "name": "gone", "uid": "1"}]);
    for change in [
        json!({"spec": {"taints": taint}}),
        json!({"metadata": {"labels": {"other": "true"}}}),
        json!({"metadata": {"labels": {"karpenter.sh/nodepool": null}}}),
        json!({"metadata": {"labels": {"karpenter.sh/nodepool": "other"}}}),
        json!({"metadata": {"annotations": {"other": "true"}}}),
        json!({"metadata": {"finalizers": ["example.com/stay"]}}),
        json!({"metadata": {"ownerReferences": owner}}),
        // A user's own word, without the marks.
        json!({"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}}),
        json!({"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "false"}, "labels": {"poolgate.dev/held": "true"}}}),
    ] {
        fenced.expect_denied(NODES, "mine", &change);
    }
    // A node of nobody's pool.
    let other = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "other"}});
    fenced.fleet.client().create(NODES, &other);
    fenced.expect_denied(NODES, "other", &json!({"metadata": marks}));
    // What is marked is let go, with its pool or without.
    fenced.fleet.change_node("mine", &json!({"metadata": marks}));
    let free = json!({"metadata": {
        "labels": {"poolgate.dev/held": null},
        "annotations": {"poolgate.dev/held-for": null, "karpenter.sh/do-not-disrupt": null},
    }});
    fenced.expect_taken(NODES, "mine", &free);
}

#[test]
fn of_a_pool_the_account_changes_a_limit_that_is_left_to_it() {
    let mut fenced = fenced();
    let limit = |nodes: Value| json!({"spec": {"limits": {"nodes": nodes}}});
    fenced.expect_denied(POOLS, "limited", &limit(json!("0")));
    let left = json!({"poolgate.dev/node-limit": "5"});
    fenced.fleet.pool("left", 5, &left);
    fenced.expect_taken(POOLS, "left", &limit(json!("0")));
    fenced.expect_taken(POOLS, "left", &limit(json!(4)));
    for change in [
        limit(json!("6")),
        limit(json!(null)),
        json!({"spec": {"limits": {"nodes": "4", "cpu": "0"}}}),
        json!({"spec": {"limits": null}}),
        json!({"spec": {"weight": 100}}),
        json!({"spec": {"disruption": {"consolidateAfter": "1h"}}}),
        json!({"spec": {"template": {"spec": {"expireAfter": "1m"}}}}),
        json!({"metadata": {"labels": {"a": "b"}}}),
        json!({"metadata": {"annotations": {"poolgate.dev/node-limit": "50"}}}),
        json!({"metadata": {"annotations": {"poolgate.dev/over-limit": "Terminate"}}}),
        json!({"metadata": {"finalizers": ["example.com/stay"]}}),
    ] {
        fenced.expect_denied(POOLS, "left", &change);
    }
}

#[test]
fn the_account_deletes_claims_by_uid_and_only_of_pools_with_a_limit() {
    let mut fenced = fenced();
    assert_eq!(fenced.kept("mine", true), None);
    assert!(fenced.kept("mine", false).is_some(), "without a UID");
    let reports = json!({"poolgate.dev/over-limit": "Report"});
    let stays = json!({"finalizers": ["example.com/stay"]});
    for (pool, metadata, spec) in [
        ("unlimited", json!({}), json!({})),
        (
            "reports",
            json!({"annotations": reports}),
            json!({"limits": {"nodes": 1}}),
        ),
        (
            "static",
            json!({}),
            json!({"limits": {"nodes": 1}, "replicas": 1}),
        ),
        ("going", stays, json!({"limits": {"nodes": 1}})),
    ] {
        let client = fenced.fleet.client();
        let mut object = node_pool(pool, &spec);
        for (field, value) in metadata.as_object().expect("fields") {
            object["metadata"][field] = value.clone();
        }
        client.create(POOLS, &object);
        if pool == "going" {
            client.delete(&format!("{POOLS}/{pool}"));
        }
        fenced.fleet.unlaunched(pool, pool, &json!({}));
        // What the API server knows of NodePools, it learns from a watch.
        wait_for("the claim to be kept", || fenced.kept(pool, true));
    }
    // Claims of nobody's pool are not Karpenter's to make.
    fenced
        .fleet
        .unlaunched("limited", "stray", &json!({"labels": {}}));
    assert!(fenced.kept("stray", true).is_some());
    // One more pool without a limit takes nothing from the others.
    assert_eq!(fenced.kept("mine", true), None);
    // Nobody else is fenced in.
    fenced.fleet.client().delete(&format!("{CLAIMS}/unlimited"));
}

#[test]
fn the_account_writes_no_events_but_its_own() {
    let fenced = fenced();
    let event = |name: &str, component: &str, kind: &str| {
        json!({
            "metadata": {"name": name, "namespace": "default"},
            "involvedObject": {"apiVersion": "v1", "kind": kind, "name": "mine"},
            "reason": "Reported",
            "message": "a message",
            "type": "Normal",
            "reportingComponent": component,
        })
    };
    let try_create =
        |event: &Value| reported(fenced.thief.try_create(&format!("{EVENTS}?dryRun=All"), event));
    assert_eq!(try_create(&event("own", "poolgate", "NodePool")), None);
    assert!(try_create(&event("other", "kubelet", "NodePool")).is_some());
    assert!(try_create(&event("other", "poolgate", "Node")).is_some());
    let client = fenced.fleet.client();
    client.create(EVENTS, &event("own", "poolgate", "NodePool"));
    client.create(EVENTS, &event("other", "kubelet", "Node"));
    let rewritten = json!({
        "message": "nothing happened",
        "reportingComponent": "poolgate",
    });
    fenced.expect_taken(EVENTS, "own", &rewritten);
    fenced.expect_denied(EVENTS, "other", &rewritten);
}

#[test]
fn where_it_is_not_wanted_nothing_else_is_missing() {
    let mut fenced = charted(&["--set=profile=gate"]);
    let open = charted(&["--set=profile=gate", "--set=reconciler.fence=false"]);
    fenced.retain(|name, _| open.contains_key(name) || !name.starts_with("ValidatingAdmissionPolicy"));
    assert_eq!(fenced, open);
    assert!(
        open.keys()
            .all(|name| !name.starts_with("ValidatingAdmissionPolicy"))
    );
}
