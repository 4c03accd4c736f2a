//! Who takes poolgate out keeps nothing of it.

use std::collections::BTreeMap;
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::chart::strict_overlay;
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::fleet::Fleet;
use crate::support::karpenter::start_controller_manager;
use crate::support::kubelet::{Pod, run_job};
use crate::support::nodeclaim::node_claim;
use crate::support::process::Process;
use crate::support::services::Services;
use crate::support::shell::{shell, workplace};
use crate::support::wait::wait_for;

const NAMESPACE: &str = "poolgate-system";
const LEDGERS: &str = "/api/v1/namespaces/poolgate-ledgers";
/// On a node of a pool with room.
const USERS_MARK: &str = "karpenter.sh/do-not-disrupt";
const RECONCILER: &str = "/apis/apps/v1/namespaces/poolgate-system/deployments/poolgate-reconciler";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/poolgate-ledgers/leases/poolgate-reconciler";
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
    fn start() -> Self {
        let (plane, services) = Services::with_control_plane();
        // They end namespaces and what belongs to objects that are gone.
        let controllers =
            start_controller_manager(&plane, "namespace-controller,garbage-collector-controller");
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
    let (_copy, strict) = strict_overlay("licensed");
    let strict = format!("kubectl apply -k {}", strict.display());
    let helm = "helm install poolgate manifests/helm --create-namespace --set profile=gate-strict,networkPolicy.enabled=false --set \
                'gateStrict.pools={licensed}' --namespace";
    let monitoring = "--set monitoring.serviceMonitor.enabled=true,monitoring.prometheusRule.enabled=true";
    for (install, uninstall) in [
        ("kubectl apply -k manifests/base", "manifests/uninstall"),
        (
            "kubectl apply -k manifests/overlays/enforce",
            "manifests/uninstall",
        ),
        ("kubectl apply -k manifests/overlays/gate", "manifests/uninstall"),
        (&strict, "manifests/uninstall"),
        (&format!("{helm} {NAMESPACE}"), "manifests/uninstall"),
        (
            &format!("{helm} platform {monitoring}"),
            "manifests/uninstall --namespace platform",
        ),
    ] {
        cluster.run(install);
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
        expect_same(&before, &cluster.everything(), install);
    }
}

#[test]
fn who_steps_back_from_gate_has_the_marks_removed_by_what_stays() {
    let mut cluster = Cluster::start();
    let helm = |command: &str| format!("helm {command} poolgate manifests/helm --namespace {NAMESPACE}");
    let gate = "--create-namespace --set profile=gate,networkPolicy.enabled=false";
    cluster.run(&format!("{} {gate}", helm("install")));
    cluster.live();
    cluster.marked_for_repair();
    let client = Client::of(&cluster.plane);
    let clean_up = |cluster: &Cluster| {
        // Where a kubelet would: the pod of the CronJob, by the rights that it has left.
        let job = client.get(CRON_JOB).expect("a CronJob")["spec"]["jobTemplate"].clone();
        let ran = run_job(&cluster.plane, NAMESPACE, &job);
        assert!(ran.status.success(), "{ran:?}");
        ran.stderr
    };
    for profile in ["enforce", "observe"] {
        cluster.run(&format!(
            "{} --reset-then-reuse-values --set profile={profile}",
            helm("upgrade")
        ));
        assert_eq!(client.get(RECONCILER), None, "{profile}");
        assert!(
            clean_up(&cluster).contains("no mark is removed"),
            "{profile}: it was there just now"
        );
    }
    client.merge(
        LEASE,
        &json!({"spec": {"renewTime": "2026-01-01T00:00:00.000000Z", "leaseDurationSeconds": 1}}),
    );
    assert!(clean_up(&cluster).contains("removed all marks"));
    cluster.fleet.wait_until_held("full", &[]);
    let node = cluster.fleet.stored_node("full-a");
    assert_eq!(node["metadata"]["annotations"], Value::Null, "{node}");
    let users = cluster.fleet.stored_node("users");
    assert_eq!(
        users["metadata"]["annotations"],
        json!({USERS_MARK: "true"}),
        "{users}"
    );
}

/// 30 of Kubernetes 1.30.
fn minor_release(client: &Client) -> u32 {
    let version = client.get("/version").expect("a version");
    let minor = version["minor"].as_str().expect("the minor version");
    minor.parse().expect("a number")
}

#[test]
fn helm_uninstall_leaves_no_mark_on_a_node() {
    let mut cluster = Cluster::start();
    cluster.run(&format!(
        "helm install poolgate manifests/helm --create-namespace --set profile=gate,networkPolicy.enabled=false --namespace {NAMESPACE}"
    ));
    cluster.live();
    cluster.marked_for_repair();
    let plane = &cluster.plane;
    thread::scope(|scope| {
        // Where a kubelet would: the pod of the hook's Job, by the rights that come with it.
        scope.spawn(|| {
            let client = Client::of(plane);
            let mut job = wait_for("the Job", || client.get(JOB));
            let ran = run_job(plane, NAMESPACE, &job);
            assert!(ran.status.success(), "{ran:?}");
            let now = "2026-01-01T00:00:00Z";
            let condition = |name: &str| json!({"type": name, "status": "True", "lastTransitionTime": now});
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
        cluster.run(&format!("helm uninstall poolgate --namespace {NAMESPACE}"));
    });
    cluster.fleet.wait_until_held("full", &[]);
    let node = cluster.fleet.stored_node("full-a");
    assert_eq!(node["metadata"]["annotations"], Value::Null, "{node}");
    let users = cluster.fleet.stored_node("users");
    assert_eq!(
        users["metadata"]["annotations"],
        json!({USERS_MARK: "true"}),
        "{users}"
    );
    // It stops when it is ready.
    let client = Client::of(&cluster.plane);
    wait_for("the namespace of the ledgers to go", || {
        client.get(LEDGERS).is_none().then_some(())
    });
    let left = cluster.everything();
    let ours: Vec<_> = left.keys().filter(|name| name.contains("poolgate")).collect();
    // What no release of Helm knows of: what the processes wrote, and the certificate.
    for name in &ours {
        assert!(
            name.contains(NAMESPACE) || name.starts_with("events "),
            "{ours:?}"
        );
    }
}
