//! Who takes poolgate out keeps nothing of it.

use std::collections::BTreeMap;
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::fleet::Fleet;
use crate::support::full::full;
use crate::support::karpenter::start_controller_manager;
use crate::support::kubelet::{Pod, run_job};
use crate::support::nodeclaim::node_claim;
use crate::support::process::Process;
use crate::support::readme::block_of;
use crate::support::services::Services;
use crate::support::shell::{shell, workplace};
use crate::support::wait::wait_for;

const UPGRADE: &str = include_str!("../../../docs/upgrade.md");
const NAMESPACE: &str = "poolgate-system";
const LEDGERS: &str = "/api/v1/namespaces/poolgate-ledgers";
/// On a node of a pool with room.
const USERS_MARK: &str = "karpenter.sh/do-not-disrupt";
const RECONCILER: &str = "/apis/apps/v1/namespaces/poolgate-system/deployments/poolgate-reconciler";
const CRON_JOB: &str = "/apis/batch/v1/namespaces/poolgate-system/cronjobs/poolgate-unhold";
const JOB: &str = "/apis/batch/v1/namespaces/poolgate-system/jobs/poolgate-leaving";

/// A cluster with a full pool and one with room, whose nodes have no marks but a user's.
struct Cluster {
    plane: ControlPlane,
    services: Services,
    fleet: Fleet,
    /// One for all lines, so that kubectl asks only once which kinds there are.
    clone: TempDir,
    _controllers: Process,
}

impl Cluster {
    /// Starts it with controllers that end namespaces and what belongs to objects that are gone.
    fn start() -> Self {
        Self::start_with("namespace-controller,garbage-collector-controller")
    }

    fn start_with(controllers: &str) -> Self {
        let (plane, services) = Services::with_control_plane();
        let controllers = start_controller_manager(&plane, controllers);
        let mut fleet = Fleet::in_cluster(&plane);
        fleet.pool("full", 1, &json!({}));
        fleet.busy("full", "full-a");
        fleet.pool("roomy", 9, &json!({}));
        fleet.busy("roomy", "users");
        fleet.change_node(
            "users",
            &json!({"metadata": {"annotations": {USERS_MARK: "true"}}}),
        );
        Self {
            plane,
            services,
            fleet,
            clone: workplace(),
            _controllers: controllers,
        }
    }

    /// Runs lines of shell in a clone of the repository.
    #[track_caller]
    fn run(&self, lines: &str) -> String {
        shell(self.clone.path(), Some(self.plane.kubeconfig()), lines).success()
    }

    /// Everything that the API server can list, and what users care about in nodes, pools and definitions.
    fn everything(&self) -> BTreeMap<String, Value> {
        let compared = ["nodes", "nodepools", "nodeclaims", "customresourcedefinitions"];
        let objects = Client::of(&self.plane).everything().into_iter();
        objects
            .filter(|(_, object)| object["metadata"]["namespace"] != "kube-system")
            .map(|(resource, object)| {
                let metadata = &object["metadata"];
                let text = |field: &str| metadata[field].as_str().unwrap_or_default();
                let name = format!("{resource} {} {}", text("namespace"), text("name"));
                let content = json!([metadata["labels"], metadata["annotations"], object["spec"]]);
                let is_compared = compared.contains(&&*resource);
                (name, if is_compared { content } else { Value::Null })
            })
            .collect()
    }

    /// Brings the kinds of the Prometheus operator, with any content.
    fn knows_the_prometheus_operator(&self) {
        let client = Client::of(&self.plane);
        for kind in ["PodMonitor", "ServiceMonitor", "PrometheusRule"] {
            let (group, plural) = ("monitoring.coreos.com", format!("{}s", kind.to_lowercase()));
            let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
            let version =
                json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
            let definition = json!({
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": format!("{plural}.{group}")},
                "spec": {
                    "group": group, "scope": "Namespaced", "versions": [version],
                    "names": {"kind": kind, "plural": plural},
                },
            });
            client.create(
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                &definition,
            );
            self.run(&format!(
                "kubectl wait --for=condition=Established crd/{plural}.{group}"
            ));
        }
    }

    /// Lets gate and reconciler do what they do: a ledger, a Lease, marks on a node, an event.
    fn live(&mut self) {
        drop(Pod::start(&self.plane, NAMESPACE, "poolgate-certificates"));
        self.run(
            "kubectl get crd nodepools.karpenter.sh -o yaml | poolgate crd patch | kubectl replace -f -",
        );
        let gate = Pod::start(&self.plane, NAMESPACE, "poolgate-gate");
        self.services.route(
            &self.plane,
            NAMESPACE,
            "poolgate-gate",
            Some(gate.address("admission")),
        );
        let client = Client::of(&self.plane);
        let ledger = format!("{LEDGERS}/configmaps/{}", client.ledger_name("roomy"));
        let claim = node_claim("roomy-a", "roomy");
        wait_for("a ledger", || {
            client.create("/apis/karpenter.sh/v1/nodeclaims", &claim);
            client.delete("/apis/karpenter.sh/v1/nodeclaims/roomy-a");
            client.get(&ledger)
        });
        let _reconciler = Pod::start(&self.plane, NAMESPACE, "poolgate-reconciler");
        self.fleet.wait_until_held("full", &["full-a"]);
        wait_for("an event", || {
            (!self.fleet.events("full").is_empty()).then_some(())
        });
        self.services.route(&self.plane, NAMESPACE, "poolgate-gate", None);
    }

    /// Marks nodes as poolgate does whose repair was denied: one that is held anyway, and a user's.
    fn marked_for_repair(&self) {
        for (node, why) in [("full-a", "node-limit,repair"), ("users", "repair")] {
            let mut marks = json!({"apiVersion": "v1", "kind": "Node", "metadata": {
                "name": node,
                "labels": {"poolgate.dev/held": "true"},
                "annotations": {"poolgate.dev/held-for": why, "karpenter.sh/do-not-repair": "true"},
            }});
            if node == "full-a" {
                marks["metadata"]["annotations"][USERS_MARK] = json!("true");
            }
            let path = format!("/api/v1/nodes/{node}");
            Client::of(&self.plane).apply_by("poolgate", &path, &marks.to_string());
        }
    }
}

#[track_caller]
fn expect_same(before: &BTreeMap<String, Value>, after: &BTreeMap<String, Value>, what: &str) {
    let only_in = |some: &BTreeMap<String, Value>, others: &BTreeMap<String, Value>| -> Vec<String> {
        some.keys()
            .filter(|name| !others.contains_key(*name))
            .cloned()
            .collect()
    };
    let (gone, left) = (only_in(before, after), only_in(after, before));
    assert!(
        gone.is_empty() && left.is_empty(),
        "{what}: {gone:?} are gone, {left:?} are left"
    );
    for (name, object) in before {
        assert_eq!(object, &after[name], "{what}: {name}");
    }
}

#[test]
fn every_profile_is_taken_out_by_one_command_that_leaves_nothing() {
    let mut cluster = Cluster::start();
    cluster.run("kubectl create namespace platform");
    cluster.knows_the_prometheus_operator();
    let before = cluster.everything();
    let apply = |profile: &str| {
        format!("packaging/manifests {profile} --set networkPolicy.enabled=false | kubectl apply -f -")
    };
    let helm = "helm install poolgate manifests/helm --create-namespace --set profile=gate-strict,networkPolicy.enabled=false --set \
                'gateStrict.pools={licensed}' --namespace";
    let monitoring = "--set monitoring.serviceMonitor.enabled=true,monitoring.prometheusRule.enabled=true";
    for (install, uninstall) in [
        (apply("observe"), "manifests/uninstall"),
        (apply("enforce"), "manifests/uninstall"),
        (apply("gate"), "manifests/uninstall"),
        (
            apply("gate-strict --set 'gateStrict.pools={licensed}'"),
            "manifests/uninstall",
        ),
        (
            apply("gate --namespace platform"),
            "manifests/uninstall --namespace platform",
        ),
        (format!("{helm} {NAMESPACE}"), "manifests/uninstall"),
        (
            format!("{helm} platform {monitoring}"),
            "manifests/uninstall --namespace platform",
        ),
    ] {
        // Before webhooks are called that nobody answers.
        let frozen = json!({"metadata": {"annotations": {"poolgate.dev/freeze": "forever"}}});
        cluster.fleet.change_pool("roomy", &frozen);
        cluster.run(&install);
        let namespace = if install.contains(" platform ") {
            "platform"
        } else {
            NAMESPACE
        };
        if install.contains("strict") && namespace == NAMESPACE {
            cluster.live();
            cluster.marked_for_repair();
        }
        assert!(cluster.everything().len() > before.len() + 5, "{install}");
        cluster.run(uninstall);
        expect_same(&before, &cluster.everything(), &install);
    }
}

/// No server runs: NodePools are admitted unchecked.
const HELM: &str = "poolgate manifests/helm --namespace poolgate-system --set networkPolicy.enabled=false,failurePolicy=Ignore";

/// A profile as Helm is given it, after any other.
fn values(profile: &str) -> String {
    let reset = "gate.enabled=null,reconciler.enabled=null,reconciler.observe=null";
    format!("--set {reset} --set profile={profile} --set 'gateStrict.pools={{licensed}}'")
}

/// Whether the reconciler of a profile writes.
fn writes(profile: &str) -> bool {
    profile.starts_with("gate") && !profile.contains("reconciler.")
}

impl Cluster {
    /// Leaves what a reconciler does that was killed while it led: marks, a lowered limit, and its Lease.
    fn leave_traces(&mut self) {
        self.marked_for_repair();
        let client = Client::of(&self.plane);
        client.merge(
            "/apis/karpenter.sh/v1/nodepools/roomy",
            &json!({"metadata": {"annotations": {"poolgate.dev/node-limit": "9"}}, "spec": {"limits": {"nodes": "2"}}}),
        );
        let now = jiff::Timestamp::now();
        let spec =
            json!({"holderIdentity": "gone", "leaseDurationSeconds": 3, "renewTime": format!("{now:.6}")});
        client.apply_object(&json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec,
            "metadata": {"name": "poolgate-reconciler", "namespace": "poolgate-ledgers"},
        }));
    }

    /// Nodes have the marks that users have set, and pools the limits.
    fn expect_no_traces(&mut self, what: &str) {
        self.fleet.wait_until_held("full", &[]);
        let node = self.fleet.stored_node("full-a");
        assert_eq!(node["metadata"]["annotations"], Value::Null, "{what}: {node}");
        let users = self.fleet.stored_node("users");
        assert_eq!(
            users["metadata"]["annotations"],
            json!({USERS_MARK: "true"}),
            "{what}: {users}"
        );
        let pool = Client::of(&self.plane).get("/apis/karpenter.sh/v1/nodepools/roomy");
        let pool = pool.expect("a pool");
        let limit = &pool["metadata"]["annotations"]["poolgate.dev/node-limit"];
        assert!(
            limit.is_null() || *limit == pool["spec"]["limits"]["nodes"],
            "{what}: {pool}"
        );
    }

    /// Where a kubelet would: runs the pod of the `CronJob`, by its rights.
    fn clean_up(&self) -> String {
        let job = Client::of(&self.plane).get(CRON_JOB).expect("a CronJob")["spec"]["jobTemplate"].clone();
        let ran = run_job(&self.plane, NAMESPACE, &job);
        assert!(ran.status.success(), "{ran:?}");
        ran.stderr
    }

    /// Uninstalls the release, and runs the pod of the hook's Job, by the rights that come with it.
    fn uninstall(&self) {
        let plane = &self.plane;
        thread::scope(|scope| {
            scope.spawn(|| {
                let client = Client::of(plane);
                let mut job = wait_for("the Job", || client.get(JOB));
                let ran = run_job(plane, NAMESPACE, &job);
                assert!(ran.status.success(), "{ran:?}");
                let now = "2026-01-01T00:00:00Z";
                let condition =
                    |name: &str| json!({"type": name, "status": "True", "lastTransitionTime": now});
                let mut conditions = vec![condition("Complete")];
                // 1.31 and newer want both, older ones reject the other.
                if minor_release(&client) > 30 {
                    conditions.push(condition("SuccessCriteriaMet"));
                }
                job["status"] = json!({
                    "startTime": now,
                    "completionTime": now,
                    "succeeded": 1,
                    "conditions": conditions,
                });
                client.replace(&format!("{JOB}/status"), &job);
            });
            self.run(&format!("helm uninstall poolgate --namespace {NAMESPACE}"));
        });
        // It stops when it is ready.
        let client = Client::of(plane);
        wait_for("the namespace of the ledgers to go", || {
            client.get(LEDGERS).is_none().then_some(())
        });
        let left = self.everything();
        let ours: Vec<_> = left.keys().filter(|name| name.contains("poolgate")).collect();
        // What no release of Helm knows of: what the processes wrote, and the certificate.
        for name in &ours {
            let is_of_helm = name.contains("poolgate-leaving");
            assert!(
                !is_of_helm && (name.contains(NAMESPACE) || name.starts_with("events ")),
                "{ours:?}"
            );
        }
    }
}

/// 30 of Kubernetes 1.30.
fn minor_release(client: &Client) -> u32 {
    let version = client.get("/version").expect("a version");
    let minor = version["minor"].as_str().expect("the minor version");
    minor.parse().expect("a number")
}

/// The steps down: from a profile to the one before it, and out of the reconciler alone.
const STEPS: [(&str, &str); 5] = [
    ("gate-strict", "gate"),
    ("gate", "gate,reconciler.enabled=false"),
    ("gate", "gate,reconciler.observe=true"),
    ("gate", "enforce"),
    ("enforce", "observe"),
];

/// All profiles, in any order.
fn pairs() -> Vec<(&'static str, &'static str)> {
    let profiles = [
        "observe",
        "enforce",
        "gate",
        "gate-strict",
        "gate,reconciler.enabled=false",
        "gate,reconciler.observe=true",
    ];
    let all = profiles
        .iter()
        .flat_map(|from| profiles.iter().map(move |to| (*from, *to)));
    all.filter(|(from, to)| from != to).collect()
}

#[test]
fn each_step_down_and_out_leaves_no_mark_and_no_lowered_limit() {
    let mut cluster = Cluster::start();
    let steps = if full() { pairs() } else { STEPS.to_vec() };
    for (from, to) in steps {
        let what = &format!("{from} to {to}");
        cluster.run(&format!(
            "helm install --create-namespace {HELM} {}",
            values(from)
        ));
        cluster.leave_traces();
        cluster.run(&format!("helm upgrade {HELM} {}", values(to)));
        // Not after 15 minutes: at the first run.
        let said = cluster.clean_up();
        if writes(to) {
            assert!(said.contains("no mark is removed"), "{what}: {said}");
            assert!(!cluster.fleet.held("full").is_empty(), "{what}");
        } else {
            assert!(said.contains("removed all marks"), "{what}: {said}");
            cluster.expect_no_traces(what);
            cluster.leave_traces();
        }
        cluster.uninstall();
        cluster.expect_no_traces(what);
    }
}

#[test]
fn who_steps_back_from_gate_has_the_marks_of_its_reconciler_removed() {
    let mut cluster = Cluster::start();
    cluster.run(&format!(
        "helm install --create-namespace {HELM} {}",
        values("gate")
    ));
    cluster.live();
    cluster.marked_for_repair();
    assert!(
        cluster.clean_up().contains("no mark is removed"),
        "its Deployment is there"
    );
    cluster.run(&format!("helm upgrade {HELM} {}", values("enforce")));
    assert_eq!(Client::of(&cluster.plane).get(RECONCILER), None);
    assert!(cluster.clean_up().contains("removed all marks"));
    cluster.expect_no_traces("a reconciler that ran");
    cluster.uninstall();
}

/// The first mistake under `observe`: an image that cannot be pulled.
#[test]
fn a_release_whose_image_cannot_be_pulled_is_uninstalled_within_a_minute() {
    // The last one ends a Job at its deadline. No kubelet starts its pod.
    let mut cluster = Cluster::start_with("namespace-controller,garbage-collector-controller,job-controller");
    cluster.run(&format!("helm install --create-namespace {HELM}"));
    cluster.leave_traces();
    let uninstall = format!("helm uninstall poolgate --namespace {NAMESPACE}");
    let ended = shell(cluster.clone.path(), Some(cluster.plane.kubeconfig()), &uninstall);
    assert!(!ended.status.success(), "{ended:?}");
    assert!(ended.stderr.contains("poolgate-leaving"), "{ended:?}");
    wait_for("the hooks to go", || {
        let left = cluster.everything();
        let of_hooks = left.keys().filter(|name| name.contains("poolgate-leaving"));
        let of_hooks: Vec<_> = of_hooks.filter(|name| !name.starts_with("events")).collect();
        println!("{of_hooks:?}");
        of_hooks.is_empty().then_some(())
    });
    // The command that the page names then.
    let command = block_of(UPGRADE, "sh", "poolgate reconcile --unhold-all");
    cluster.run(command);
    cluster.expect_no_traces("by hand");
}
