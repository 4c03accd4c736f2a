//! `--write-facts`: the facts of a cluster as the policy declares them, so that `poolgate lint` need not guess.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::ListParams;
use poolgate_core::karpenter::{Installed, KarpenterVersion, NODEPOOL_DEFINITION};
use poolgate_core::policy_file::FEATURE_GATES;
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
    gates: Read<BTreeMap<String, bool>>,
    /// Whether poolgate's mutating webhook is registered.
    webhook: Read<bool>,
}

impl DeclaredFacts {
    /// Reads them.
    pub async fn read(look: &Look<'_>) -> Self {
        let (definition, deployments, webhooks) = tokio::join!(
            look.get::<Value>(DEFINITIONS, NODEPOOL_DEFINITION),
            look.list::<Deployment>(DEPLOYMENTS, ListParams::default().labels(KARPENTER)),
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
            let _ = writeln!(yaml, "{head}    {gate}: {on}");
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

fn release(deployments: &[Deployment]) -> Option<KarpenterVersion> {
    let mut labels = deployments.iter().filter_map(|one| one.metadata.labels.as_ref());
    labels.find_map(|labels| labels.get(RELEASE)?.parse().ok())
}

/// The feature gates that findings depend on, as Karpenter's Deployment sets them.
fn gates(deployments: &[Deployment]) -> BTreeMap<String, bool> {
    let pods = deployments
        .iter()
        .filter_map(|one| one.spec.as_ref()?.template.spec.as_ref());
    let mut gates = BTreeMap::new();
    for container in pods.flat_map(|pod| &pod.containers) {
        let variables = container
            .env
            .iter()
            .flatten()
            .filter(|one| one.name == "FEATURE_GATES");
        let arguments = container.args.iter().flatten();
        let arguments = arguments.filter_map(|argument| argument.strip_prefix("--feature-gates="));
        let lists = variables.filter_map(|one| one.value.as_deref()).chain(arguments);
        for (gate, on) in lists
            .flat_map(|list| list.split(','))
            .filter_map(|one| one.split_once('='))
        {
            if let (true, Ok(on)) = (FEATURE_GATES.contains(&gate.trim()), on.trim().parse()) {
                gates.insert(gate.trim().to_owned(), on);
            }
        }
    }
    gates
}

#[cfg(test)]
mod tests {
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
        let deployments = [serde_json::from_value::<Deployment>(deployment).expect("a Deployment")];
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
        assert_eq!(policy.cluster.gate("NodeRepair"), Some(true));
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
