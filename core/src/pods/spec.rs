//! The requirements of a pod on its node, read from its spec.

use std::collections::BTreeMap;

use poolgate_core::nodelimit::plan::{Effect, Needs, Resources, Toleration};
use poolgate_core::value::quantity::Quantity;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Interned;

/// The part of a pod's spec that is read.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spec {
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
    to_nodes: Option<Required>,
    #[serde(rename = "podAffinity")]
    to_pods: Option<Required>,
    #[serde(rename = "podAntiAffinity")]
    against_pods: Option<Required>,
}

/// Required terms: a list for pods, an object for nodes.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Required {
    required_during_scheduling_ignored_during_execution: Option<Terms>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Terms {
    OfPods(Vec<IgnoredAny>),
    OfNodes(IgnoredAny),
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

impl Spec {
    pub fn node_name(&self) -> Option<&str> {
        Some(self.node_name.as_str()).filter(|name| !name.is_empty())
    }

    pub fn priority(&self) -> Option<i32> {
        self.priority
    }

    /// The requirements of the pod on its node.
    pub fn needs(&self, names: &mut Interned<str>) -> Needs {
        Needs {
            requests: self.requests(names),
            node_selector: self.node_selector.clone().unwrap_or_default(),
            tolerations: self
                .tolerations
                .iter()
                .flatten()
                .map(TolerationObject::to_toleration)
                .collect(),
            is_bound: self.is_bound(),
        }
    }

    /// The requests of all containers together, as the scheduler computes them: sidecars run with everything else,
    /// init containers one by one with the sidecars started before them.
    fn requests(&self, names: &mut Interned<str>) -> Resources {
        let mut sidecars = Resources::default();
        let mut starting = Resources::default();
        for container in self.init_containers.iter().flatten() {
            let asked = container.resources.to_resources(names);
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
            requests.add(&container.resources.to_resources(names));
        }
        requests.raise(&starting);
        if let Some(whole) = &self.resources {
            // The pod-level requests are no less than those of its containers.
            requests.raise(&whole.to_resources(names));
        }
        if let Some(overhead) = &self.overhead {
            requests.add(&resources(overhead, names));
        }
        requests
    }

    fn is_bound(&self) -> bool {
        let affinity = self.affinity.as_ref();
        let affinities =
            affinity.map(|affinity| [&affinity.to_nodes, &affinity.to_pods, &affinity.against_pods]);
        let containers = self.containers.iter().chain(&self.init_containers).flatten();
        affinities.into_iter().flatten().flatten().any(Required::is_any)
            || self
                .topology_spread_constraints
                .iter()
                .flatten()
                .any(|spread| spread.when_unsatisfiable == "DoNotSchedule")
            || self.volumes.iter().flatten().any(Volume::has_place)
            || self
                .resource_claims
                .as_ref()
                .is_some_and(|claims| !claims.is_empty())
            || containers
                .flat_map(|container| container.ports.iter().flatten())
                .any(|port| port.host_port != 0)
    }
}

impl Requests {
    fn to_resources(&self, names: &mut Interned<str>) -> Resources {
        self.requests
            .as_ref()
            .map_or_else(Resources::default, |amounts| resources(amounts, names))
    }
}

fn resources(amounts: &Amounts, names: &mut Interned<str>) -> Resources {
    amounts
        .iter()
        .filter_map(|(name, amount)| {
            let amount = Quantity::parse(amount).ok()?.thousandths_rounded_up();
            Some((names.share(name.as_str()), amount))
        })
        .collect()
}

impl Required {
    fn is_any(&self) -> bool {
        match &self.required_during_scheduling_ignored_during_execution {
            None => false,
            Some(Terms::OfPods(terms)) => !terms.is_empty(),
            Some(Terms::OfNodes(IgnoredAny)) => true,
        }
    }
}

impl Volume {
    /// Whether the volume restricts where the pod may run.
    fn has_place(&self) -> bool {
        self.persistent_volume_claim.is_some() || self.ephemeral.is_some()
    }
}

impl TolerationObject {
    fn to_toleration(&self) -> Toleration {
        let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Toleration {
            key: given(&self.key),
            value: (self.operator != "Exists").then(|| self.value.clone()),
            effect: Effect::parse(&self.effect),
        }
    }
}

#[cfg(test)]
mod tests;
