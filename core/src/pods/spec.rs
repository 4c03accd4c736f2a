//! The spec of a pod, as the API server sends it or a file has it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::selector::{NodeSelector, SelectorTerm};
use super::{Effect, Needs, Others, Resources, Tolerated, Toleration};
use crate::value::quantity::Quantity;

/// The fields of a pod's `spec` that are read.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    node_name: String,
    priority: Option<i32>,
    node_selector: Option<BTreeMap<String, String>>,
    tolerations: Option<Vec<TolerationObject>>,
    affinity: Option<Affinity>,
    topology_spread_constraints: Option<Vec<Spread>>,
    containers: Option<Vec<Container>>,
    init_containers: Option<Vec<Container>>,
    overhead: Option<Amounts>,
    resources: Option<Requests>,
    resource_claims: Option<Vec<IgnoredAny>>,
    volumes: Option<Vec<Volume>>,
}

type Amounts = BTreeMap<String, String>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Requests {
    requests: Option<Amounts>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Container {
    resources: Requests,
    restart_policy: Option<String>,
    ports: Option<Vec<Port>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Port {
    host_port: i32,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct TolerationObject {
    key: String,
    operator: String,
    value: String,
    effect: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Affinity {
    #[serde(rename = "nodeAffinity")]
    to_nodes: Option<NodeAffinity>,
    #[serde(rename = "podAffinity")]
    to_pods: Option<PodAffinity>,
    #[serde(rename = "podAntiAffinity")]
    against_pods: Option<PodAffinity>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct NodeAffinity {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    required: Option<NodeSelector>,
    #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution")]
    preferred: Option<Vec<Preferred>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct PodAffinity {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    required: Option<Vec<IgnoredAny>>,
    #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution")]
    preferred: Option<Vec<IgnoredAny>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Preferred {
    weight: i32,
    preference: SelectorTerm,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spread {
    when_unsatisfiable: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Volume {
    persistent_volume_claim: Option<IgnoredAny>,
    ephemeral: Option<IgnoredAny>,
}

impl PodSpec {
    /// The name of its node, if it has one.
    pub fn node_name(&self) -> Option<&str> {
        Some(self.node_name.as_str()).filter(|name| !name.is_empty())
    }

    /// `spec.priority`.
    pub const fn priority(&self) -> Option<i32> {
        self.priority
    }

    /// What the pod needs of its node. `share` gives the name of a resource as it is kept.
    pub fn needs(&self, share: &mut impl FnMut(&str) -> Arc<str>) -> Needs {
        let nodes = self
            .affinity
            .as_ref()
            .and_then(|affinity| affinity.to_nodes.as_ref());
        let required = nodes.and_then(|nodes| nodes.required.as_ref());
        let preferred = nodes
            .and_then(|nodes| nodes.preferred.as_deref())
            .unwrap_or_default();
        let mut preferred: Vec<_> = preferred.iter().enumerate().collect();
        preferred.sort_by_key(|(_, preferred)| std::cmp::Reverse(preferred.weight));
        let preferred = preferred.into_iter();
        Needs {
            requests: self.requests(share),
            node_selector: self.node_selector.clone().unwrap_or_default(),
            required: required.map(NodeSelector::terms).unwrap_or_default(),
            preferred: preferred
                .map(|(index, preferred)| preferred.preference.read(index))
                .collect(),
            tolerations: self
                .tolerations
                .iter()
                .flatten()
                .map(TolerationObject::to_toleration)
                .collect(),
            others: self.others(),
        }
    }

    /// The requests of all containers together, as the scheduler computes them: sidecars run with everything else,
    /// init containers one by one with the sidecars started before them.
    fn requests(&self, share: &mut impl FnMut(&str) -> Arc<str>) -> Resources {
        let mut sidecars = Resources::default();
        let mut starting = Resources::default();
        for container in self.init_containers.iter().flatten() {
            let asked = container.resources.to_resources(share);
            if container.restart_policy.as_deref() == Some("Always") {
                sidecars.add(&asked);
                starting.raise(&sidecars);
            } else {
                let mut together = sidecars.clone();
                together.add(&asked);
                starting.raise(&together);
            }
        }
        let mut requests = sidecars;
        for container in self.containers.iter().flatten() {
            requests.add(&container.resources.to_resources(share));
        }
        requests.raise(&starting);
        if let Some(whole) = &self.resources {
            // The pod-level requests are no less than those of its containers.
            requests.raise(&whole.to_resources(share));
        }
        if let Some(overhead) = &self.overhead {
            requests.add(&resources(overhead, share));
        }
        requests
    }

    fn others(&self) -> Others {
        let affinity = self.affinity.as_ref();
        let of_pods = affinity.map(|affinity| [&affinity.to_pods, &affinity.against_pods]);
        let of_pods: Vec<_> = of_pods.into_iter().flatten().flatten().collect();
        let has_any = |list: fn(&PodAffinity) -> &Option<Vec<IgnoredAny>>| {
            let mut lists = of_pods.iter().filter_map(|one| list(one).as_ref());
            lists.any(|terms| !terms.is_empty())
        };
        let spreads = |how: &str| {
            let mut spreads = self.topology_spread_constraints.iter().flatten();
            spreads.any(|spread| spread.when_unsatisfiable == how)
        };
        let containers = self.containers.iter().chain(&self.init_containers).flatten();
        let mut ports = containers.flat_map(|container| container.ports.iter().flatten());
        Others {
            pods: has_any(|one| &one.required) || spreads("DoNotSchedule"),
            prefers: has_any(|one| &one.preferred) || spreads("ScheduleAnyway"),
            volumes: self.volumes.iter().flatten().any(Volume::has_place),
            ports: ports.any(|port| port.host_port != 0),
            claims: self
                .resource_claims
                .as_ref()
                .is_some_and(|claims| !claims.is_empty()),
        }
    }
}

impl Requests {
    fn to_resources(&self, share: &mut impl FnMut(&str) -> Arc<str>) -> Resources {
        self.requests
            .as_ref()
            .map_or_else(Resources::default, |amounts| resources(amounts, share))
    }
}

fn resources(amounts: &Amounts, share: &mut impl FnMut(&str) -> Arc<str>) -> Resources {
    amounts
        .iter()
        .filter_map(|(name, amount)| {
            let amount = Quantity::parse(amount).ok()?.thousandths_rounded_up();
            Some((share(name), amount))
        })
        .collect()
}

impl Volume {
    /// Whether the volume restricts where the pod may run.
    fn has_place(&self) -> bool {
        self.persistent_volume_claim.is_some() || self.ephemeral.is_some()
    }
}

impl TolerationObject {
    fn to_toleration(&self) -> Toleration {
        let value = self.value.clone();
        Toleration {
            key: Some(self.key.clone()).filter(|key| !key.is_empty()),
            value: match &*self.operator {
                "" | "Equal" => Tolerated::Value(value),
                "Exists" => Tolerated::Any,
                "Lt" => Tolerated::Below(value),
                "Gt" => Tolerated::Above(value),
                _ => Tolerated::Nothing,
            },
            effect: Effect::parse(&self.effect),
        }
    }
}

#[cfg(test)]
mod tests;
