//! NodePools that Karpenter mostly accepts: the input for mutation.

use poolgate_core::facts::ApiVersion;
use rand::{Rng, RngExt as _};
use serde_json::{Map, Value, json};

use super::words::one_of;

/// A NodePool with some of every part of the spec.
pub(crate) fn nodepool(rng: &mut impl Rng, version: ApiVersion) -> Value {
    let mut spec = Map::new();
    let is_static = version == ApiVersion::V1 && rng.random_bool(0.1);
    spec.insert("template".into(), template(rng, version));
    if rng.random_bool(0.8) {
        spec.insert("disruption".into(), disruption(rng, version));
    }
    if is_static {
        spec.insert("replicas".into(), rng.random_range(0..10).into());
        if rng.random_bool(0.6) {
            spec.insert(
                "limits".into(),
                json!({"nodes": rng.random_range(10..20).to_string()}),
            );
        }
    } else {
        if rng.random_bool(0.6) {
            spec.insert("limits".into(), limits(rng));
        }
        if rng.random_bool(0.4) {
            spec.insert("weight".into(), rng.random_range(1..=100).into());
        }
    }
    let mut metadata = json!({"name": one_of(rng, &["default", "general-purpose", "gpu", "a.b"])});
    if rng.random_bool(0.1) {
        let mode = one_of(rng, &["Hard", "Soft", "hard"]);
        metadata["annotations"] = json!({"poolgate.dev/node-limit-mode": mode});
    }
    let api_version = format!("karpenter.sh/{}", version.as_str());
    json!({"apiVersion": api_version, "kind": "NodePool", "metadata": metadata, "spec": spec})
}

fn disruption(rng: &mut impl Rng, version: ApiVersion) -> Value {
    let mut disruption = Map::new();
    let policies: &[&str] = match version {
        ApiVersion::V1 => &["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"],
        ApiVersion::V1Beta1 => &["WhenEmpty"],
    };
    disruption.insert("consolidationPolicy".into(), one_of(rng, policies).into());
    disruption.insert(
        "consolidateAfter".into(),
        one_of(rng, &["0s", "30s", "10m", "1h30m", "Never"]).into(),
    );
    if version == ApiVersion::V1Beta1 && rng.random_bool(0.5) {
        disruption.insert(
            "expireAfter".into(),
            one_of(rng, &["720h", "Never", "24h"]).into(),
        );
    }
    if rng.random_bool(0.8) {
        let budgets: Vec<Value> = (0..rng.random_range(1..4))
            .map(|_| budget(rng, version))
            .collect();
        disruption.insert("budgets".into(), budgets.into());
    }
    Value::Object(disruption)
}

/// An element of `budgets`.
pub(crate) fn budget(rng: &mut impl Rng, version: ApiVersion) -> Value {
    let mut budget = Map::new();
    budget.insert(
        "nodes".into(),
        one_of(rng, &["0", "1", "5", "10%", "20%", "100%"]).into(),
    );
    if rng.random_bool(0.5) {
        let schedule = one_of(
            rng,
            &[
                "0 9 * * mon-fri",
                "@daily",
                "0 22 * * *",
                "30 1 1 * *",
                "*/30 8-17 * * 1-5",
            ],
        );
        budget.insert("schedule".into(), schedule.into());
        budget.insert(
            "duration".into(),
            one_of(rng, &["10m", "8h", "1h30m", "20m"]).into(),
        );
    }
    if version == ApiVersion::V1 && rng.random_bool(0.4) {
        let reasons = [
            json!(["Drifted"]),
            json!(["Empty", "Underutilized"]),
            json!(["Underutilized"]),
        ];
        let index = rng.random_range(0..reasons.len());
        budget.insert("reasons".into(), reasons[index].clone());
    }
    Value::Object(budget)
}

fn limits(rng: &mut impl Rng) -> Value {
    let mut limits = Map::new();
    for (resource, amounts) in [
        ("cpu", &["1000", "100", "500m"][..]),
        ("memory", &["1000Gi", "4Ti", "100G"]),
        ("nodes", &["10", "1", "40"]),
        ("nvidia.com/gpu", &["8", "0"]),
    ] {
        if rng.random_bool(0.4) {
            limits.insert(resource.into(), one_of(rng, amounts).into());
        }
    }
    if rng.random_bool(0.1) {
        limits.insert("cpu".into(), rng.random_range(1..2_000).into());
    }
    Value::Object(limits)
}

fn template(rng: &mut impl Rng, version: ApiVersion) -> Value {
    let mut template = json!({"spec": {
        "requirements": (0..rng.random_range(0..5)).map(|_| requirement(rng)).collect::<Vec<_>>(),
        "nodeClassRef": match version {
            ApiVersion::V1 => json!({"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}),
            ApiVersion::V1Beta1 => json!({"apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClass", "name": "default"}),
        },
    }});
    if rng.random_bool(0.5) {
        template["metadata"] =
            json!({"labels": {"team": "a", "example.com/tier": one_of(rng, &["web", "db", ""])}});
        if rng.random_bool(0.5) {
            template["metadata"]["annotations"] = json!({"example.com/owner": "somebody <else>"});
        }
    }
    for taints in ["taints", "startupTaints"] {
        if rng.random_bool(0.3) {
            let count = rng.random_range(1..3);
            template["spec"][taints] = (0..count)
                .map(|index| taint(rng, &format!("{taints}-{index}")))
                .collect();
        }
    }
    if version == ApiVersion::V1 {
        if rng.random_bool(0.5) {
            template["spec"]["expireAfter"] = one_of(rng, &["720h", "Never", "24h"]).into();
        }
        if rng.random_bool(0.4) {
            template["spec"]["terminationGracePeriod"] = one_of(rng, &["30m", "24h", "1h"]).into();
        }
    }
    template
}

/// An element of `requirements`.
pub(crate) fn requirement(rng: &mut impl Rng) -> Value {
    match rng.random_range(0..8) {
        0 => json!({"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64", "arm64"]}),
        1 => json!({"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot", "on-demand"]}),
        2 => json!({"key": "topology.kubernetes.io/zone", "operator": "NotIn", "values": ["zone-a"]}),
        3 => {
            json!({"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["m5.large", "c5.large", "r5.large"], "minValues": 2})
        }
        4 => json!({"key": "example.com/team", "operator": "In", "values": ["a"]}),
        5 => {
            json!({"key": "karpenter.k8s.aws/instance-cpu", "operator": one_of(rng, &["Gt", "Lt", "Gte", "Lte"]), "values": ["4"]})
        }
        6 => json!({"key": "example.com/dedicated", "operator": one_of(rng, &["Exists", "DoesNotExist"])}),
        _ => json!({"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}),
    }
}

fn taint(rng: &mut impl Rng, key: &str) -> Value {
    let mut taint =
        json!({"key": format!("example.com/{key}"), "effect": one_of(rng, &["NoSchedule", "NoExecute"])});
    if rng.random_bool(0.5) {
        taint["value"] = one_of(rng, &["true", "gpu", "a.b"]).into();
    }
    taint
}
