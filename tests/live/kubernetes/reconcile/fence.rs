//! What the account of the reconciler may not do, though its roles let it: what whoever has stolen its token may not.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};

use crate::support::accounts::Account;
use crate::support::chart::charted;
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::fleet::Fleet;
use crate::support::nodeclaim::node_claim;
use crate::support::nodepool::node_pool;
use crate::support::wait::wait_for;

const NODES: &str = "/api/v1/nodes";
const POOLS: &str = "/apis/karpenter.sh/v1/nodepools";
const CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";
const EVENTS: &str = "/api/v1/namespaces/default/events";

/// Karpenter's deadline for a drain, on a NodeClaim.
const DEADLINE: &str = "karpenter.sh/nodeclaim-termination-timestamp";

/// The hands of two thieves, and the fleet that is there.
struct Fenced {
    fleet: Fleet,
    thief: Client,
    /// One whose account was not given the component `terminate`. It is of another namespace, and fenced all the same.
    repairer: Client,
    /// The one who has the token of `poolgate-unhold`.
    cleaner: Client,
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
        let cleaner = Client::by(&plane.kubeconfig_by(Account::Unhold));
        let repairer = repairer(&plane);
        fleet.pool("limited", 1, &json!({}));
        fleet.busy("limited", "mine");
        let fenced = Self {
            fleet,
            thief,
            repairer,
            cleaner,
            _plane: plane,
        };
        // Policies take effect late, and each for itself.
        wait_for("the fence to stand", || {
            fenced.denied(NODES, "mine", &json!({"spec": {"unschedulable": true}}))
        });
        wait_for("the fence of the third to stand", || {
            let change = json!({"spec": {"unschedulable": true}});
            reported(
                fenced
                    .cleaner
                    .try_merge(&format!("{NODES}/mine?dryRun=All"), &change),
            )
        });
        wait_for("the role of the other to be known", || {
            let change = json!({"metadata": {"labels": {"a": "b"}}});
            let path = format!("{CLAIMS}/mine?dryRun=All");
            let denied = fenced.repairer.try_merge(&path, &change).err()?.to_string();
            denied.contains("this account").then_some(())
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

    /// Why the fence keeps the thief from deleting a claim by its UID.
    #[track_caller]
    fn kept(&self, name: &str) -> Option<String> {
        self.kept_from(&self.thief, &format!("{CLAIMS}/{name}"))
    }

    /// The same of either thief and any object.
    #[track_caller]
    fn kept_from(&self, thief: &Client, path: &str) -> Option<String> {
        let stored = self.fleet.client().get(path).expect("an object");
        let options = json!({"dryRun": ["All"], "preconditions": {"uid": stored["metadata"]["uid"]}});
        reported(thief.try_delete(path, &options))
    }

    /// A pool with this much of its metadata and this spec.
    fn pool(&self, name: &str, metadata: &Value, spec: &Value) {
        let mut pool = node_pool(name, spec);
        for (field, value) in metadata.as_object().expect("fields") {
            pool["metadata"][field] = value.clone();
        }
        self.fleet.client().create(POOLS, &pool);
    }

    /// A claim with conditions, each as its type, status and reason in one text.
    fn claim(&mut self, pool: &str, name: &str, conditions: &[&str]) {
        self.fleet.unlaunched(pool, name, &json!({}));
        let conditions = conditions.iter().map(|condition| {
            let words: Vec<_> = condition.split(' ').collect();
            json!({
                "type": words[0],
                "status": words[1],
                "reason": words[2],
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            })
        });
        let status = json!({"status": {"conditions": conditions.collect::<Vec<_>>()}});
        self.fleet
            .client()
            .merge(&format!("{CLAIMS}/{name}/status"), &status);
    }

    /// A claim that is being deleted, and stays, with this much of its spec.
    fn going(&self, name: &str, spec: &Value) {
        let client = self.fleet.client();
        let mut claim = node_claim(name, "limited");
        claim["metadata"]["finalizers"] = json!(["karpenter.sh/termination"]);
        for (field, value) in spec.as_object().expect("fields") {
            claim["spec"][field] = value.clone();
        }
        client.create(CLAIMS, &claim);
        client.delete(&format!("{CLAIMS}/{name}"));
    }
}

/// A thief with the rights that are given by default, by an account of the same name in another namespace.
fn repairer(plane: &ControlPlane) -> Client {
    let client = Client::of(plane);
    let (namespace, name) = ("elsewhere", "poolgate-reconciler");
    client.create("/api/v1/namespaces", &json!({"metadata": {"name": namespace}}));
    client.create(
        &format!("/api/v1/namespaces/{namespace}/serviceaccounts"),
        &json!({"metadata": {"name": name}}),
    );
    bind(&client, "poolgate-reconciler-repair", namespace);
    Client::by(&plane.kubeconfig_of(namespace, name))
}

/// Gives the account of a namespace a role.
fn bind(client: &Client, role: &str, namespace: &str) {
    let binding = json!({
        "metadata": {"name": format!("{namespace}-{role}")},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": "poolgate-reconciler"}],
    });
    client.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding);
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
    let unrepaired = json!({
        "labels": {"poolgate.dev/held": "true"},
        "annotations": {
            "poolgate.dev/held-for": "repair",
            "karpenter.sh/do-not-disrupt": null,
            "karpenter.sh/do-not-repair": "true",
        },
    });
    fenced.expect_taken(NODES, "mine", &json!({"metadata": unrepaired}));
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
        json!({"metadata": {"annotations": {"karpenter.sh/do-not-repair": "true"}}}),
        json!({"metadata": {"annotations": {"karpenter.sh/do-not-repair": "false"}, "labels": {"poolgate.dev/held": "true"}}}),
        // One without the marks is not hidden behind the other with them.
        json!({"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true", "karpenter.sh/do-not-repair": "true"}}}),
    ] {
        fenced.expect_denied(NODES, "mine", &change);
    }
    // A node of nobody's pool.
    let other = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "other"}});
    fenced.fleet.client().create(NODES, &other);
    fenced.expect_denied(NODES, "other", &json!({"metadata": marks}));
    fenced.expect_denied(NODES, "other", &json!({"metadata": unrepaired}));
    // A user's own marks stay.
    for mark in ["karpenter.sh/do-not-disrupt", "karpenter.sh/do-not-repair"] {
        fenced
            .fleet
            .change_node("other", &json!({"metadata": {"annotations": {mark: "true"}}}));
        fenced.expect_denied(
            NODES,
            "other",
            &json!({"metadata": {"annotations": {mark: null}}}),
        );
    }
    // What is marked is marked for another reason, and let go, with its pool or without.
    let free = json!({"metadata": {
        "labels": {"poolgate.dev/held": null},
        "annotations": {
            "poolgate.dev/held-for": null,
            "karpenter.sh/do-not-disrupt": null,
            "karpenter.sh/do-not-repair": null,
        },
    }});
    for (marks, others) in [(&marks, &unrepaired), (&unrepaired, &marks)] {
        fenced.fleet.change_node("mine", &json!({"metadata": marks}));
        fenced.expect_taken(NODES, "mine", &json!({"metadata": others}));
        fenced.expect_taken(NODES, "mine", &free);
    }
    // One whose marks somebody has removed in part is let go, too.
    for gone in [
        json!({"labels": {"poolgate.dev/held": null}}),
        json!({"annotations": {"poolgate.dev/held-for": null}}),
    ] {
        fenced.fleet.change_node("mine", &json!({"metadata": marks}));
        fenced.fleet.change_node("mine", &json!({"metadata": gone}));
        fenced.expect_taken(NODES, "mine", &free);
    }
    fenced.fleet.change_node("mine", &free);
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
fn of_a_pool_with_a_schedule_the_account_changes_the_number_too() {
    let mut fenced = fenced();
    let write = |limit: Value, nodes: &str| {
        json!({
            "metadata": {"annotations": {"poolgate.dev/node-limit": limit}},
            "spec": {"limits": {"nodes": nodes}},
        })
    };
    let schedule = json!({"poolgate.dev/node-limit-schedule": "else 5"});
    fenced.fleet.pool("new", 5, &schedule);
    fenced.expect_taken(POOLS, "new", &write(json!("9"), "9"));
    fenced.expect_denied(POOLS, "new", &write(json!(null), "5"));
    let stored = json!({"poolgate.dev/node-limit-schedule": "else 5", "poolgate.dev/node-limit": "5"});
    fenced.fleet.pool("scheduled", 5, &stored);
    for (limit, nodes) in [("5", "4"), ("9", "9"), ("9", "8"), ("2", "2")] {
        fenced.expect_taken(POOLS, "scheduled", &write(json!(limit), nodes));
    }
    for change in [
        write(json!("5"), "6"),
        write(json!("2"), "5"),
        write(json!(null), "5"),
        json!({"metadata": {"annotations": {"poolgate.dev/node-limit-schedule": "else 9"}}}),
        json!({"metadata": {"annotations": {"poolgate.dev/node-limit-schedule": null}}}),
    ] {
        fenced.expect_denied(POOLS, "scheduled", &change);
    }
    // Without a schedule the number can only go, and the spec keeps it.
    fenced
        .fleet
        .pool("was-scheduled", 5, &json!({"poolgate.dev/node-limit": "5"}));
    fenced.expect_taken(POOLS, "was-scheduled", &write(json!(null), "5"));
    for change in [
        write(json!(null), "6"),
        write(json!("9"), "9"),
        write(json!("4"), "4"),
    ] {
        fenced.expect_denied(POOLS, "was-scheduled", &change);
    }
}

#[test]
fn the_account_deletes_claims_by_uid_and_only_of_pools_with_a_limit() {
    let mut fenced = fenced();
    assert_eq!(fenced.kept("mine"), None);
    let anyone = fenced
        .thief
        .try_delete(&format!("{CLAIMS}/mine"), &json!({"dryRun": ["All"]}));
    assert!(reported(anyone).is_some(), "without a UID");
    let limit = json!({"limits": {"nodes": 1}});
    for (pool, metadata, spec) in [
        ("unlimited", json!({}), json!({})),
        (
            "static",
            json!({}),
            json!({"limits": {"nodes": 1}, "replicas": 1}),
        ),
        ("going", json!({"finalizers": ["example.com/stay"]}), limit),
    ] {
        fenced.pool(pool, &metadata, &spec);
        if pool == "going" {
            fenced.fleet.client().delete(&format!("{POOLS}/{pool}"));
        }
        fenced.claim(pool, pool, &[SICK]);
        // What the API server knows of NodePools, it learns from a watch.
        wait_for("the claim to be kept", || fenced.kept(pool));
    }
    // Claims of nobody's pool are not Karpenter's to make.
    fenced
        .fleet
        .unlaunched("limited", "stray", &json!({"labels": {}}));
    assert!(fenced.kept("stray").is_some());
    // One more pool without a limit takes nothing from the others.
    assert_eq!(fenced.kept("mine"), None);
    // Nobody else is fenced in.
    fenced.fleet.client().delete(&format!("{CLAIMS}/unlimited"));
}

/// What Karpenter says of a claim whose node it wants to replace to repair it.
const SICK: &str = "DisruptionReason True Unhealthy";

/// Claims by what Karpenter says of them: neither sick nor drifted, though it looks like that, sick, and drifted.
const KINDS: [(&str, &[&str]); 5] = [
    (
        "well",
        &[
            "DisruptionReason False Unhealthy",
            "Consolidatable True Unhealthy",
            "Drifted False Drifted",
        ],
    ),
    ("costly", &["DisruptionReason True Underutilized"]),
    ("rebooting", &[SICK, "Rebooting True Requested"]),
    ("sick", &[SICK, "Rebooting False Rebooted"]),
    ("drifted", &["Drifted True NodePoolDrifted"]),
];

#[test]
fn what_a_pool_says_and_what_karpenter_says_decide_which_claims_may_go() {
    let mut fenced = fenced();
    // For each pool: what it says, and which claims may go without the right to terminate and with it.
    let any = ["well", "costly", "rebooting", "sick", "drifted"];
    let cases: [(&str, Value, &[&str], &[&str]); 10] = [
        ("says-nothing", json!({}), &["sick"], &any),
        (
            "leaves-its-limit",
            json!({"node-limit": "1"}),
            &["sick", "drifted"],
            &any,
        ),
        (
            "blocks",
            json!({"node-limit": "1", "at-limit": "Block"}),
            &[],
            &any,
        ),
        (
            "repairs",
            json!({"node-limit": "1", "at-limit": "repair"}),
            &["sick"],
            &any,
        ),
        (
            "replaces",
            json!({"node-limit": "1", "at-limit": "Replace", "over-limit": "report"}),
            &["sick", "drifted"],
            &["sick", "drifted"],
        ),
        (
            "replaces-in-its-spec",
            json!({"at-limit": "Replace", "over-limit": "Report"}),
            &["sick"],
            &["sick"],
        ),
        ("reports", json!({"over-limit": "Report"}), &["sick"], &["sick"]),
        (
            "wants-nothing",
            json!({"node-limit": "1", "at-limit": "BLOCK", "over-limit": "REPORT"}),
            &[],
            &[],
        ),
        (
            "terminates",
            json!({"at-limit": "Repair", "over-limit": "Terminate"}),
            &["sick"],
            &any,
        ),
        // As long as the API server cannot read NodePools, it goes by the claims alone.
        ("is-unknown", json!(null), &["sick", "drifted"], &any),
    ];
    for (pool, says, ..) in &cases {
        if let Some(says) = says.as_object() {
            let annotations = says.iter();
            let annotations =
                annotations.map(|(name, value)| (format!("poolgate.dev/{name}"), value.clone()));
            let annotations: Map<_, _> = annotations.collect();
            let limit = json!({"limits": {"nodes": 1}});
            fenced.pool(pool, &json!({"annotations": annotations}), &limit);
        }
        for (kind, conditions) in KINDS {
            fenced.claim(pool, &format!("{pool}-{kind}"), conditions);
        }
    }
    // The API server learns of NodePools from a watch: who knows the last one, knows all.
    fenced.pool("last", &json!({}), &json!({}));
    fenced.claim("last", "last", &[SICK]);
    wait_for("the claim to be kept", || fenced.kept("last"));
    for (pool, says, repaired, terminated) in cases {
        for (thief, expected) in [(&fenced.repairer, repaired), (&fenced.thief, terminated)] {
            let may_go = any.into_iter().filter(|kind| {
                let claim = format!("{CLAIMS}/{pool}-{kind}");
                fenced.kept_from(thief, &claim).is_none()
            });
            assert_eq!(may_go.collect::<Vec<_>>(), expected, "{pool}: {says}");
        }
    }
}

/// A change of the annotation with Karpenter's deadline.
fn deadline(at: &Value) -> Value {
    json!({"metadata": {"annotations": {DEADLINE: at}}})
}

#[test]
fn of_a_claim_that_goes_the_account_sets_the_deadline_first_or_earlier() {
    let fenced = fenced();
    let client = fenced.fleet.client();
    let (noon, one) = (json!("2126-01-01T12:00:00Z"), json!("2126-01-01T13:00:00Z"));
    // A living claim would keep it.
    fenced.expect_denied(CLAIMS, "mine", &deadline(&noon));
    fenced.expect_denied(CLAIMS, "mine", &json!({"metadata": {"annotations": {"a": "b"}}}));

    fenced.going("drained", &json!({}));
    fenced.expect_taken(CLAIMS, "drained", &deadline(&noon));
    fenced.expect_taken(CLAIMS, "drained", &json!({}));
    let owner = json!([{"apiVersion": "v1", "kind": "Namespace", "name": "gone", "uid": "1"}]);
    for metadata in [
        json!({"labels": {"a": "b"}}),
        json!({"annotations": {"a": "b"}}),
        json!({"annotations": {DEADLINE: noon, "karpenter.sh/do-not-disrupt": "true"}}),
        json!({"annotations": {DEADLINE: noon}, "labels": {"a": "b"}}),
        // The machine would stay, and nobody would know of it.
        json!({"finalizers": null}),
        json!({"ownerReferences": owner}),
    ] {
        fenced.expect_denied(CLAIMS, "drained", &json!({"metadata": metadata}));
    }
    for untimely in [
        "",
        "soon",
        "10m",
        "2126-01-01",
        "2126-13-01T12:00:00Z",
        "4922942400",
        " 2126-01-01T12:00:00Z",
    ] {
        let denied = fenced.thief.try_merge(
            &format!("{CLAIMS}/drained?dryRun=All"),
            &deadline(&json!(untimely)),
        );
        let reported = denied.expect_err(untimely).to_string();
        assert!(
            reported.contains("'poolgate-reconciler' denied request"),
            "{untimely}: {reported}"
        );
    }

    client.merge(&format!("{CLAIMS}/drained"), &deadline(&noon));
    fenced.expect_taken(CLAIMS, "drained", &deadline(&json!("2126-01-01T11:59:59Z")));
    fenced.expect_taken(CLAIMS, "drained", &deadline(&json!("2126-01-01T13:00:00+02:00")));
    for later in [&one, &json!("2126-01-01T12:00:00+00:00"), &json!(null)] {
        fenced.expect_denied(CLAIMS, "drained", &deadline(later));
    }
    fenced.expect_denied(CLAIMS, "drained", &json!({"metadata": {"annotations": null}}));

    // Karpenter is about to set one: deletion + an hour.
    fenced.going("bounded", &json!({"terminationGracePeriod": "1h"}));
    let claim = client.get(&format!("{CLAIMS}/bounded")).expect("a claim");
    let deleted = claim["metadata"]["deletionTimestamp"].as_str().expect("a time");
    let deleted: jiff::Timestamp = deleted.parse().expect("a time");
    let after = |minutes: i64| json!((deleted + jiff::SignedDuration::from_mins(minutes)).to_string());
    fenced.expect_taken(CLAIMS, "bounded", &deadline(&after(60)));
    fenced.expect_denied(CLAIMS, "bounded", &deadline(&after(61)));

    for claim in ["drained", "bounded"] {
        client.merge(
            &format!("{CLAIMS}/{claim}"),
            &json!({"metadata": {"finalizers": null}}),
        );
    }
}

/// Karpenter's definition says the same; a cluster may have another one.
#[test]
fn of_a_claim_that_goes_the_account_does_not_change_the_spec() {
    let fenced = fenced();
    let client = fenced.fleet.client();
    fenced.going("unchanged", &json!({}));
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodeclaims.karpenter.sh";
    let mut stored = client.get(definition).expect("the definition");
    for version in stored["spec"]["versions"].as_array_mut().expect("versions") {
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"] = json!([]);
    }
    client.replace(definition, &stored);
    let change = json!({"spec": {"expireAfter": "1m"}});
    wait_for("the definition to let a spec change", || {
        client
            .try_merge(&format!("{CLAIMS}/unchanged?dryRun=All"), &change)
            .ok()
    });
    fenced.expect_denied(CLAIMS, "unchanged", &change);
    client.merge(
        &format!("{CLAIMS}/unchanged"),
        &json!({"metadata": {"finalizers": null}}),
    );
}

/// Its roles say the same; a cluster may give it more.
#[test]
fn the_account_creates_nothing_but_events_and_deletes_nothing_but_claims() {
    let fenced = fenced();
    let client = fenced.fleet.client();
    let role = json!({
        "metadata": {"name": "more"},
        "rules": [
            {"apiGroups": [""], "resources": ["nodes"], "verbs": ["create", "delete"]},
            {"apiGroups": ["karpenter.sh"], "resources": ["nodepools", "nodeclaims"], "verbs": ["create", "delete"]},
        ],
    });
    client.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", &role);
    bind(client, "more", "poolgate-system");
    for (collection, object) in [
        (NODES, json!({"metadata": {"name": "made"}})),
        (POOLS, node_pool("made", &json!({}))),
        (CLAIMS, node_claim("made", "limited")),
    ] {
        let path = format!("{collection}?dryRun=All");
        wait_for("the fence, and not a role, to deny it", || {
            let denied = fenced
                .thief
                .try_create(&path, &object)
                .expect_err("a denial")
                .to_string();
            denied.contains("this account").then_some(())
        });
    }
    for path in [format!("{NODES}/mine"), format!("{POOLS}/limited")] {
        assert!(fenced.kept_from(&fenced.thief, &path).is_some(), "{path}");
    }
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
fn who_removes_marks_removes_and_restores_and_nothing_else() {
    let mut fenced = fenced();
    let said = |path: String, change: Value| reported(fenced.cleaner.try_merge(&path, &change));
    let node = |name: &str, metadata: Value| {
        said(
            format!("{NODES}/{name}?dryRun=All"),
            json!({"metadata": metadata}),
        )
    };
    let held = json!({"poolgate.dev/held": "true"});
    let for_both = json!({
        "poolgate.dev/held-for": "node-limit,repair",
        "karpenter.sh/do-not-disrupt": "true",
        "karpenter.sh/do-not-repair": "true",
    });
    assert!(node("mine", json!({"labels": held})).is_some());
    assert!(
        node(
            "mine",
            json!({"annotations": {"karpenter.sh/do-not-disrupt": "true"}})
        )
        .is_some()
    );
    assert!(node("mine", json!({"annotations": {"other": "true"}})).is_some());
    let marks = json!({"metadata": {"labels": held, "annotations": for_both}});
    fenced.fleet.change_node("mine", &marks);
    let nothing = json!({
        "poolgate.dev/held-for": null,
        "karpenter.sh/do-not-disrupt": null,
        "karpenter.sh/do-not-repair": null,
    });
    let said = |path: String, change: Value| reported(fenced.cleaner.try_merge(&path, &change));
    let node = |name: &str, metadata: Value| {
        said(
            format!("{NODES}/{name}?dryRun=All"),
            json!({"metadata": metadata}),
        )
    };
    let unheld = json!({"poolgate.dev/held": null});
    assert_eq!(
        node("mine", json!({"labels": unheld, "annotations": nothing})),
        None
    );
    // Of a node that a user keeps, Karpenter's mark stays.
    assert_eq!(
        node(
            "mine",
            json!({"labels": unheld, "annotations": {"poolgate.dev/held-for": null}})
        ),
        None
    );
    assert!(
        node(
            "mine",
            json!({"annotations": {"karpenter.sh/do-not-disrupt": "false"}})
        )
        .is_some()
    );
    assert!(node("mine", json!({"labels": {"karpenter.sh/nodepool": null}})).is_some());

    fenced.pool(
        "restored",
        &json!({"annotations": {"poolgate.dev/node-limit": "7"}}),
        &json!({"limits": {"nodes": "5"}}),
    );
    let limits = |pool: &str, limits: Value| {
        said(
            format!("{POOLS}/{pool}?dryRun=All"),
            json!({"spec": {"limits": limits}}),
        )
    };
    assert_eq!(limits("restored", json!({"nodes": "7"})), None);
    for denied in ["0", "6", "8"] {
        assert!(limits("restored", json!({"nodes": denied})).is_some(), "{denied}");
    }
    assert!(limits("restored", json!({"nodes": "7", "cpu": "1"})).is_some());
    assert!(limits("limited", json!({"nodes": "9"})).is_some());
    let weight = json!({"spec": {"limits": {"nodes": "7"}, "weight": 9}});
    assert!(said(format!("{POOLS}/restored?dryRun=All"), weight).is_some());
    fenced.fleet.change_node(
        "mine",
        &json!({"metadata": {"labels": unheld, "annotations": nothing}}),
    );
}

#[test]
fn where_it_is_not_wanted_nothing_else_is_missing() {
    let mut fenced = charted(&["--set=profile=gate"]);
    let open = charted(&["--set=profile=gate", "--set=reconciler.fence=false"]);
    fenced.retain(|name, _| open.contains_key(name) || !name.starts_with("ValidatingAdmissionPolicy"));
    assert_eq!(fenced, open);
    // Those of other accounts have nothing to do with it.
    assert!(
        open.keys()
            .all(|name| !name.starts_with("ValidatingAdmissionPolicy")
                || !name.contains("poolgate-reconciler"))
    );
}
