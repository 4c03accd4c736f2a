//! `--print-facts`: the facts of a cluster as the policy declares them, so that `poolgate lint` need not guess.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kube::api::ListParams;
use poolgate_core::facts::{Installed, KarpenterVersion, NODEPOOL_DEFINITION, Provider, ProviderVersion};
use poolgate_core::policy::{FeatureGate, MinValuesPolicy};
use serde_json::Value;

use super::facts::{self, Read};
use super::look::Look;
use crate::cluster::objects::{DEFINITIONS, DeploymentObject, NODE_POOLS};

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
    /// The provider of all NodePools, if they have the same and there is data on it.
    provider: Read<Option<&'static Provider>>,
    /// The release that Karpenter's Deployment names: the provider's.
    running: Option<ProviderVersion>,
    gates: Read<BTreeMap<FeatureGate, bool>>,
    min_values: Option<MinValuesPolicy>,
    /// Whether poolgate's mutating webhook is registered.
    webhook: Read<bool>,
}

impl DeclaredFacts {
    /// Reads them.
    pub async fn read(look: &Look<'_>) -> Self {
        let (definition, pools, deployments, webhooks) = tokio::join!(
            look.get::<Value>(DEFINITIONS, NODEPOOL_DEFINITION),
            look.list::<Value>(NODE_POOLS, ListParams::default()),
            look.list::<DeploymentObject>(DEPLOYMENTS, ListParams::default().labels(KARPENTER)),
            look.webhooks(),
        );
        let installed = definition.and_then(|definition| {
            let installed = definition.map(|definition| Installed::parse(&definition));
            installed.transpose().map_err(|error| error.to_string())
        });
        let running = deployments.as_ref().ok().and_then(|all| release(all));
        let karpenter = running.and_then(|text| text.parse().ok());
        let min_values = deployments.as_ref().ok().and_then(|all| min_values(all));
        Self {
            karpenter: installed
                .map(|installed| installed.map(|installed| named(installed.release(), karpenter))),
            provider: pools.map(|pools| provider(&pools)),
            running: running.and_then(|text| text.parse().ok()),
            gates: deployments.map(|all| gates(&all)),
            min_values,
            webhook: webhooks.map(|all| all.iter().any(is_mutating)),
        }
    }

    /// What could not be read, and why.
    pub fn unread(&self) -> Vec<String> {
        facts::unread([
            ("NodePool definition", self.karpenter.as_ref().err()),
            ("NodePools", self.provider.as_ref().err()),
            ("Karpenter's Deployment", self.gates.as_ref().err()),
            ("webhook configurations", self.webhook.as_ref().err()),
        ])
    }

    /// The field `cluster` of a policy file.
    pub fn yaml(&self) -> String {
        let mut yaml = "cluster:\n".to_owned();
        if let Ok(Some(release)) = &self.karpenter {
            let _ = writeln!(yaml, "  karpenter: {release}");
        }
        if let Ok(Some(provider)) = self.provider {
            let _ = writeln!(yaml, "  provider: {}", provider.id);
            let running = self.running.filter(|_| provider.settings.runs_karpenter);
            if let Some(running) = running {
                let _ = writeln!(yaml, "  providerVersion: {running}");
            }
        }
        for (number, (gate, on)) in self.gates.iter().flatten().enumerate() {
            let head = if number == 0 { "  featureGates:\n" } else { "" };
            let _ = writeln!(yaml, "{head}    {}: {on}", gate.as_str());
        }
        if let Some(policy) = self.min_values {
            let _ = writeln!(yaml, "  minValuesPolicy: {}", policy.as_str());
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

/// The one provider of these pools.
fn provider(pools: &[Value]) -> Option<&'static Provider> {
    let of = |pool: &Value| {
        let group = pool.pointer("/spec/template/spec/nodeClassRef/group")?;
        Provider::of_group(group.as_str()?)
    };
    let mut providers = pools.iter().map(of);
    let first = providers.next()??;
    providers
        .all(|other| other.is_some_and(|other| other.id == first.id))
        .then_some(first)
}

/// The release that Karpenter's Deployment names.
fn release(deployments: &[DeploymentObject]) -> Option<&str> {
    let mut labels = deployments.iter().filter_map(|one| one.metadata.labels.as_ref());
    labels.find_map(|labels| labels.get(RELEASE)).map(String::as_str)
}

/// What Karpenter's Deployment sets by a variable, or by a flag with its `=`.
fn settings<'d>(
    deployments: &'d [DeploymentObject],
    variable: &'d str,
    flag: &'d str,
) -> impl Iterator<Item = &'d str> {
    let pods = deployments.iter().map(|one| &one.spec.template.spec);
    pods.flat_map(move |pod| pod.settings(variable, flag))
}

/// What it does where fewer values are left than `minValues` requires. The last setting wins: a flag overrides a variable.
fn min_values(deployments: &[DeploymentObject]) -> Option<MinValuesPolicy> {
    let set = settings(deployments, "MIN_VALUES_POLICY", "--min-values-policy=").last();
    MinValuesPolicy::parse(set?)
}

/// The feature gates that findings depend on, as Karpenter's Deployment sets them.
fn gates(deployments: &[DeploymentObject]) -> BTreeMap<FeatureGate, bool> {
    let each = settings(deployments, "FEATURE_GATES", "--feature-gates=").flat_map(|list| list.split(','));
    let each = each.filter_map(|one| one.split_once('='));
    each.filter_map(|(gate, on)| Some((FeatureGate::parse(gate.trim())?, on.trim().parse().ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use poolgate_core::policy::GateState;
    use serde_json::json;

    use super::*;
    use poolgate_core::facts::ProviderSettings;

    #[test]
    fn what_karpenters_deployment_says_is_written_as_a_policy_that_can_be_read() {
        let deployment = json!({
            "metadata": {"labels": {RELEASE: "1.14.2"}},
            "spec": {"selector": {}, "template": {"spec": {"containers": [{
                "name": "controller",
                "env": [
                    {"name": "FEATURE_GATES", "value": "NodeRepair=true, ReservedCapacity=true,StaticCapacity=false"},
                    {"name": "MIN_VALUES_POLICY", "value": "BestEffort"},
                ],
            }]}}},
        });
        let deployments = [serde_json::from_value(deployment).expect("a Deployment")];
        let defined = KarpenterVersion::new(1, 14, 0);
        let running = release(&deployments);
        let pool = json!({"spec": {"template": {"spec": {"nodeClassRef": {"group": "karpenter.k8s.aws"}}}}});
        let pools = [pool.clone(), pool];
        let facts = DeclaredFacts {
            karpenter: Ok(Some(named(defined, running.and_then(|text| text.parse().ok())))),
            provider: Ok(provider(&pools)),
            running: running.and_then(|text| text.parse().ok()),
            gates: Ok(gates(&deployments)),
            min_values: min_values(&deployments),
            webhook: Ok(true),
        };
        let yaml = facts.yaml();
        assert_eq!(
            yaml,
            "cluster:\n  karpenter: 1.14.2\n  provider: aws\n  providerVersion: 1.14.2\n  featureGates:\n    NodeRepair: true\n    ReservedCapacity: true\n    StaticCapacity: false\n  minValuesPolicy: BestEffort\n  webhook: defaults\n"
        );
        let policy = format!("apiVersion: poolgate.dev/v1alpha1\nkind: Policy\n{yaml}");
        let policy = poolgate_core::policy_file::parse(&policy)
            .expect("a policy")
            .policy;
        assert_eq!(
            policy
                .cluster
                .gate(FeatureGate::NodeRepair, &ProviderSettings::KARPENTER),
            GateState::On
        );
        assert_eq!(
            named(defined, Some(KarpenterVersion::new(1, 6, 3))),
            defined,
            "a provider's own count"
        );
    }

    #[test]
    fn the_provider_is_named_only_if_all_pools_have_the_same() {
        let of = |groups: &[&str]| {
            let pools: Vec<Value> = groups
                .iter()
                .map(|group| json!({"spec": {"template": {"spec": {"nodeClassRef": {"group": group}}}}}))
                .collect();
            provider(&pools).map(|provider| provider.id)
        };
        assert_eq!(of(&["karpenter.azure.com", "karpenter.azure.com"]), Some("azure"));
        assert_eq!(of(&["karpenter.k8s.aws", "eks.amazonaws.com"]), None);
        assert_eq!(of(&["karpenter.k8s.aws", "karpenter.example.com"]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let facts = DeclaredFacts {
            karpenter: Err("forbidden".into()),
            provider: Ok(None),
            running: None,
            gates: Ok(BTreeMap::new()),
            min_values: None,
            webhook: Ok(false),
        };
        assert_eq!(facts.yaml(), "cluster:\n  webhook: none\n");
        assert_eq!(facts.unread(), ["NodePool definition: forbidden"]);
    }
}
