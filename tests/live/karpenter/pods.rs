//! Which NodePool takes a pod: what `poolgate why pod` says beside real Karpenter, which launches a node for it or not.

use std::io::Write as _;

use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::guarded::Guarded;
use crate::support::karpenter::KarpenterCluster;
use crate::support::karpenter::objects::{instance_types, node_pool};
use crate::support::program;
use crate::support::schemas::assert_described;

const ZONE: &str = "topology.kubernetes.io/zone";

/// Pods that no pool takes, each with a pool of its name: what is changed of pool and pod, and what is said.
fn refused() -> [(&'static str, Value, Value, &'static str); 9] {
    let of_class = |class: &str| json!({"template": {"spec": {"nodeClassRef": {"name": class}}}});
    let affinity = |values: [&str; 2]| {
        let term =
            |value: &str| json!({"matchExpressions": [{"key": "tier", "operator": "In", "values": [value]}]});
        json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": values.map(term),
        }}}})
    };
    let tainted = json!({"template": {"spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}}});
    let labelled = json!({"template": {"metadata": {"labels": {"tier": "web"}}}});
    [
        ("unready", of_class("missing"), json!({}), "it is not ready"),
        ("tainted", tainted, json!({}), "does not tolerate gpu:NoSchedule"),
        (
            "elsewhere",
            in_zone(),
            json!({"nodeSelector": {ZONE: "zone-b"}}),
            "zone In [zone-a]",
        ),
        (
            "unlabelled",
            json!({}),
            json!({"nodeSelector": {"team": "red"}}),
            "lack that label",
        ),
        (
            "terms",
            labelled.clone(),
            affinity(["db", "cache"]),
            "wants tier In [db]",
        ),
        (
            "bound",
            in_zone(),
            volume("far"),
            "a volume of the pod is in another",
        ),
        (
            "limited",
            json!({"limits": {"nodes": "0"}}),
            json!({}),
            "leave no room",
        ),
        (
            "cpuless",
            json!({"limits": {"cpu": "0"}}),
            json!({}),
            "leave no room",
        ),
        (
            "static",
            json!({"replicas": 0, "disruption": null, "weight": null}),
            json!({}),
            "static",
        ),
    ]
}

/// Pods that a pool takes.
fn taken() -> [(&'static str, Value, Value); 6] {
    let tainted = json!({"template": {"spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}}});
    let labelled = json!({"template": {"metadata": {"labels": {"tier": "web"}}}});
    let terms = ["db", "web"]
        .map(|value| json!({"matchExpressions": [{"key": "tier", "operator": "In", "values": [value]}]}));
    let affinity = json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": terms,
    }}}});
    [
        ("plain", json!({}), json!({})),
        (
            "tolerated",
            tainted,
            json!({"tolerations": [{"key": "gpu", "operator": "Exists"}]}),
        ),
        ("inside", json!({}), json!({"nodeSelector": {ZONE: "zone-a"}})),
        (
            "labelled",
            labelled.clone(),
            json!({"nodeSelector": {"tier": "web"}}),
        ),
        ("second", labelled, affinity),
        ("near", json!({}), volume("near")),
    ]
}

fn in_zone() -> Value {
    let zone = json!([{"key": ZONE, "operator": "In", "values": ["zone-a"]}]);
    json!({"template": {"spec": {"requirements": zone}}})
}

fn volume(claim: &str) -> Value {
    json!({"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]})
}

/// A pod that asks for its pool by name.
fn create(cluster: &KarpenterCluster, name: &str, pool: &Value, spec: &Value) {
    let mut object = node_pool(name, pool);
    if let Some(spec) = object["spec"].as_object_mut() {
        spec.retain(|_, value| !value.is_null());
    }
    cluster.create_pool(&object);
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [{"name": "work", "image": "work", "resources": {"requests": {"cpu": "1"}}}]},
    });
    for (field, value) in spec.as_object().into_iter().flatten() {
        pod["spec"][field] = value.clone();
    }
    pod["spec"]["nodeSelector"]["karpenter.sh/nodepool"] = name.into();
    cluster.client().create("/api/v1/namespaces/default/pods", &pod);
}

/// A volume in a zone, and the claim that it is bound to.
fn bind(cluster: &KarpenterCluster, name: &str, zone: &str) {
    let terms = json!([{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]);
    let volume = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "claimRef": {"namespace": "default", "name": name},
            "csi": {"driver": "disks.example.com", "volumeHandle": name},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
            "storageClassName": "",
        },
    });
    cluster.client().create("/api/v1/persistentvolumes", &volume);
    let claim = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "",
            "volumeName": name,
        },
    });
    cluster
        .client()
        .create("/api/v1/namespaces/default/persistentvolumeclaims", &claim);
}

/// The verdict of the pool of this name on the pod of this name, with the reasons.
fn verdict(guarded: &Guarded, types: &str, name: &str) -> (String, String) {
    let kubeconfig = guarded.cluster.plane().kubeconfig().to_str().expect("a path");
    let pod = format!("default/{name}");
    let arguments = [
        "why",
        "pod",
        &pod,
        "-o",
        "json",
        "--instance-types",
        types,
        "--kubeconfig",
        kubeconfig,
    ];
    let said = program::run(&arguments, "");
    let report: Value =
        serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    assert_described(&report);
    assert_eq!(report["notShown"], json!([]), "{report:#}");
    let pools = report["pods"][0]["pools"].as_array().expect("pools");
    let own = pools.iter().find(|pool| pool["name"] == name).expect("its pool");
    let others = pools.iter().filter(|pool| pool["name"] != name);
    assert!(
        others.clone().all(|pool| pool["verdict"] == "refuses"),
        "{report:#}"
    );
    let is_refused = own["verdict"] == "refuses";
    assert_eq!(said.status.code(), Some(i32::from(is_refused)), "{said:?}");
    (
        own["verdict"].as_str().expect("a word").to_owned(),
        own["reasons"].to_string(),
    )
}

#[test]
fn a_pod_gets_a_node_of_the_pool_that_is_said_to_take_it_and_none_of_one_that_refuses_it() {
    let guarded = Guarded::unguarded();
    let cluster = &guarded.cluster;
    let mut types = instance_types();
    for one in types.as_array_mut().expect("a list") {
        let cpu: u32 = one["resources"]["cpu"]
            .as_str()
            .and_then(|cpu| cpu.parse().ok())
            .expect("a number");
        let mut allocatable = one["resources"].clone();
        allocatable["cpu"] = format!("{}m", cpu * 1_000 - 100).into();
        one["allocatable"] = allocatable;
    }
    let mut file = NamedTempFile::new().expect("a file");
    file.write_all(types.to_string().as_bytes()).expect("a file");
    let file = file.path().to_str().expect("a path");
    bind(cluster, "far", "zone-b");
    bind(cluster, "near", "zone-a");
    for (name, pool, pod, _) in refused() {
        create(cluster, name, &pool, &pod);
    }
    for (name, pool, pod) in taken() {
        create(cluster, name, &pool, &pod);
    }
    for (name, ..) in taken() {
        let claims = guarded.wait_for(&format!("a node of {name}"), |cluster| {
            Some(cluster.claims(name)).filter(|claims| !claims.is_empty())
        });
        assert_eq!(claims.len(), 1, "{claims:?}");
        assert_eq!(
            verdict(&guarded, file, name),
            ("takes".to_owned(), "[]".to_owned()),
            "{name}"
        );
    }
    for (name, _, _, reason) in refused() {
        let (word, reasons) = verdict(&guarded, file, name);
        println!("{name}: {word} {reasons}");
        assert_eq!(word, "refuses", "{name}: {reasons}");
        assert!(reasons.contains(reason), "{name}: {reasons}");
        assert_eq!(cluster.claims(name).len(), 0, "{name}: {}", cluster.situation());
    }
}
