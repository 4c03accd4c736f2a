//! `--write-facts`: the facts of a cluster as the policy declares them, so that `poolgate lint` need not guess.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kube::api::ListParams;
use poolgate_core::karpenter::{Installed, KarpenterVersion, NODEPOOL_DEFINITION};
use poolgate_core::policy::FeatureGate;
use serde_json::Value;

use super::facts::Read;
use super::look::Look;
use crate::cluster::objects::DEFINITIONS;

/// Where Deployments of all namespaces are.
const DEPLOYMENTS: &str = "/apis/apps/v1/deployments";

/// The label of Karpenter's Deployment, as its charts write it.
const KARPENTER: &str = "app.kubernetes.io/name=karpenter";

/// The label that names its release.
const RELEASE: &str = "app.kubernetes.io/version";

/// What is known of a cluster.
#[derive(Debug)]
pub struct DeclaredFacts {
    karpenter: Read<Option<KarpenterVersion>>,
    gates: Read<BTreeMap<FeatureGate, bool>>,
    /// Whether poolgate's mutating webhook is registered.
    webhook: Read<bool>,
}

impl DeclaredFacts {
    /// Reads them.
    pub async fn read(look: &Look<'_>) -> Self {
        let (definition, deployments, webhooks) = tokio::join!(
            look.get::<Value>(DEFINITIONS, NODEPOOL_DEFINITION),
            look.list::<Value>(DEPLOYMENTS, ListParams::default().labels(KARPENTER)),
            look.webhooks(),
        );
        let installed = definition.and_then(|definition| {
            let installed = definition.map(|definition| Installed::parse(&definition));
            installed.transpose().map_err(|error| error.to_string())
        });
        let running = deployments.as_ref().ok().and_then(|all| release(all));
        Self {
            karpenter: installed
                .map(|installed| installed.map(|installed| named(installed.release(), running))),
            gates: deployments.map(|all| gates(&all)),
            webhook: webhooks.map(|all| all.iter().any(is_mutating)),
        }
    }

    /// What could not be read, and why.
    pub fn unread(&self) -> Vec<String> {
        let part = |name: &str, error: Option<&String>| Some(format!("{name}: {}", error?));
        [
            part("NodePool definition", self.karpenter.as_ref().err()),
            part("Karpenter's Deployment", self.gates.as_ref().err()),
            part("webhook configurations", self.webhook.as_ref().err()),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The field `cluster` of a policy file.
    pub fn yaml(&self) -> String {
        let mut yaml = "cluster:\n".to_owned();
        if let Ok(Some(release)) = &self.karpenter {
            let _ = writeln!(yaml, "  karpenter: {release}");
        }
        for (number, (gate, on)) in self.gates.iter().flatten().enumerate() {
            let head = if number == 0 { "  featureGates:\n" } else { "" };
            let _ = writeln!(yaml, "{head}    {}: {on}", gate.as_str());
        }
        if let Ok(is_there) = self.webhook {
            let _ = writeln!(yaml, "  webhook: {}", if is_there { "defaults" } else { "none" });
        }
        yaml
    }
}

fn is_mutating(webhook: &crate::cluster::webhooks::Webhook) -> bool {
    let service = webhook.client_config.service.as_ref();
    service.and_then(|service| service.path.as_deref()) == Some("/mutate")
}

/// The release of the running program, if it is of the same line as the definition: charts of some providers count their
/// own releases.
fn named(defined: KarpenterVersion, running: Option<KarpenterVersion>) -> KarpenterVersion {
    running
        .filter(|running| running.line() == defined.line())
        .unwrap_or(defined)
}

fn release(deployments: &[Value]) -> Option<KarpenterVersion> {
    let mut labels = deployments
        .iter()
        .filter_map(|one| one.pointer("/metadata/labels"));
    labels.find_map(|labels| labels.get(RELEASE)?.as_str()?.parse().ok())
}

/// The feature gates that findings depend on, as Karpenter's Deployment sets them. Read without Kubernetes' own types: those
/// of a pod alone would make the program 3 % larger.
fn gates(deployments: &[Value]) -> BTreeMap<FeatureGate, bool> {
    let elements = |value: Option<&'_ Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let mut lists = Vec::new();
    for container in deployments
        .iter()
        .flat_map(|one| elements(one.pointer("/spec/template/spec/containers")))
    {
        for variable in elements(container.get("env")) {
            if variable.get("name").and_then(Value::as_str) == Some("FEATURE_GATES") {
                lists.extend(variable.get("value").and_then(Value::as_str).map(str::to_owned));
            }
        }
        for argument in elements(container.get("args")) {
            let list = argument
                .as_str()
                .and_then(|text| text.strip_prefix("--feature-gates="));
            lists.extend(list.map(str::to_owned));
        }
    }
    let each = lists.iter().flat_map(|list| list.split(','));
    let each = each.filter_map(|one| one.split_once('='));
    each.filter_map(|(gate, on)| Some((FeatureGate::parse(gate.trim())?, on.trim().parse().ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use poolgate_core::policy::GateState;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_karpenters_deployment_says_is_written_as_a_policy_that_can_be_read() {
        let deployment = json!({
            "metadata": {"labels": {RELEASE: "1.14.2"}},
            "spec": {"selector": {}, "template": {"spec": {"containers": [{
                "name": "controller",
                "env": [{"name": "FEATURE_GATES", "value": "NodeRepair=true, ReservedCapacity=true,StaticCapacity=false"}],
            }]}}},
        });
        let deployments = [deployment];
        let defined = KarpenterVersion::new(1, 14, 0);
        let facts = DeclaredFacts {
            karpenter: Ok(Some(named(defined, release(&deployments)))),
            gates: Ok(gates(&deployments)),
            webhook: Ok(true),
        };
        let yaml = facts.yaml();
        assert_eq!(
            yaml,
            "cluster:\n  karpenter: 1.14.2\n  featureGates:\n    NodeRepair: true\n    StaticCapacity: false\n  webhook: defaults\n"
        );
        let policy = format!("apiVersion: poolgate.dev/v1alpha1\nkind: Policy\n{yaml}");
        let policy = poolgate_core::policy_file::parse(&policy)
            .expect("a policy")
            .policy;
        assert_eq!(policy.cluster.gate(FeatureGate::NodeRepair, None), GateState::On);
        assert_eq!(
            named(defined, Some(KarpenterVersion::new(1, 6, 3))),
            defined,
            "a provider's own count"
        );
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let facts = DeclaredFacts {
            karpenter: Err("forbidden".into()),
            gates: Ok(BTreeMap::new()),
            webhook: Ok(false),
        };
        assert_eq!(facts.yaml(), "cluster:\n  webhook: none\n");
        assert_eq!(facts.unread(), ["NodePool definition: forbidden"]);
    }
}
