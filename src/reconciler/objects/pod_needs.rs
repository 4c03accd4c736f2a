//! What a pod demands of a node, read from its spec.

use std::collections::BTreeMap;

use poolgate_core::nodelimit::plan::{Effect, Needs, Resources, Toleration};
use poolgate_core::value::quantity::Quantity;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Interned;

/// The part of a pod's spec that is read.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Spec {
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
#[serde(rename_all = "camelCase", default)]
struct Affinity {
    node_affinity: Option<Required>,
    pod_affinity: Option<Required>,
    pod_anti_affinity: Option<Required>,
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
    pub(super) fn node_name(&self) -> Option<&str> {
        Some(self.node_name.as_str()).filter(|name| !name.is_empty())
    }

    pub(super) fn priority(&self) -> Option<i32> {
        self.priority
    }

    /// What the pod demands of a node.
    pub(super) fn needs(&self, names: &mut Interned<str>) -> Needs {
        Needs {
            requests: self.requests(names),
            node_selector: self.node_selector.clone().unwrap_or_default(),
            tolerations: self
                .tolerations
                .iter()
                .flatten()
                .map(TolerationObject::read)
                .collect(),
            is_bound: self.is_bound(),
        }
    }

    /// What all containers ask for together, as the scheduler reckons it: sidecars run beside the rest, init
    /// containers one by one beside the sidecars that were started before them.
    fn requests(&self, names: &mut Interned<str>) -> Resources {
        let mut sidecars = Resources::default();
        let mut starting = Resources::default();
        for container in self.init_containers.iter().flatten() {
            let asked = container.resources.read(names);
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
            requests.add(&container.resources.read(names));
        }
        requests.raise(&starting);
        if let Some(whole) = &self.resources {
            // What the pod asks for as a whole is no less than its containers do.
            requests.raise(&whole.read(names));
        }
        if let Some(overhead) = &self.overhead {
            requests.add(&read(overhead, names));
        }
        requests
    }

    fn is_bound(&self) -> bool {
        let affinity = self.affinity.as_ref();
        let affinities = affinity.map(|affinity| {
            [
                &affinity.node_affinity,
                &affinity.pod_affinity,
                &affinity.pod_anti_affinity,
            ]
        });
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
    fn read(&self, names: &mut Interned<str>) -> Resources {
        self.requests
            .as_ref()
            .map_or_else(Resources::default, |amounts| read(amounts, names))
    }
}

fn read(amounts: &Amounts, names: &mut Interned<str>) -> Resources {
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
    /// Whether where the pod may run depends on the volume.
    fn has_place(&self) -> bool {
        self.persistent_volume_claim.is_some() || self.ephemeral.is_some()
    }
}

impl TolerationObject {
    fn read(&self) -> Toleration {
        let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Toleration {
            key: given(&self.key),
            value: (self.operator != "Exists").then(|| self.value.clone()),
            effect: Effect::parse(&self.effect),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn needs(spec: Value) -> Needs {
        let spec: Spec = serde_json::from_value(spec).expect("a spec");
        spec.needs(&mut Interned::default())
    }

    fn container(cpu: &str) -> Value {
        json!({"resources": {"requests": {"cpu": cpu}}})
    }

    fn sidecar(cpu: &str) -> Value {
        json!({"restartPolicy": "Always", "resources": {"requests": {"cpu": cpu}}})
    }

    #[test]
    fn requests_are_reckoned_as_the_scheduler_does() {
        for (spec, millis) in [
            (json!({"containers": [container("1"), container("500m")]}), 1_500),
            // The init container runs alone, and needs more than all that come after it.
            (
                json!({"initContainers": [container("4")], "containers": [container("1")]}),
                4_000,
            ),
            // A sidecar runs beside the containers, and beside init containers after it.
            (
                json!({"initContainers": [sidecar("1"), container("4")], "containers": [container("1")]}),
                5_000,
            ),
            (
                json!({"initContainers": [container("4"), sidecar("1")], "containers": [container("2")]}),
                4_000,
            ),
            (
                json!({"initContainers": [sidecar("1")], "containers": [container("2")]}),
                3_000,
            ),
            (
                json!({"containers": [container("1")], "overhead": {"cpu": "250m"}}),
                1_250,
            ),
            (
                json!({"containers": [container("1")], "resources": {"requests": {"cpu": "3"}}}),
                3_000,
            ),
            (json!({"containers": [container("many")]}), 0),
        ] {
            assert_eq!(needs(spec.clone()).requests.amount("cpu"), millis, "{spec}");
        }
    }

    #[test]
    fn what_binds_a_pod_to_a_place_is_seen() {
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        for (spec, is_bound) in [
            (json!({}), false),
            (json!({"nodeSelector": {"zone": "a"}}), false),
            (
                json!({"affinity": {"nodeAffinity": {required: {"nodeSelectorTerms": []}}}}),
                true,
            ),
            (
                json!({"affinity": {"podAntiAffinity": {required: [{"topologyKey": "zone"}]}}}),
                true,
            ),
            (json!({"affinity": {"podAntiAffinity": {required: []}}}), false),
            (
                json!({"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{}]}}}),
                false,
            ),
            (
                json!({"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]}),
                true,
            ),
            (
                json!({"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]}),
                false,
            ),
            (json!({"volumes": [{"name": "v", "emptyDir": {}}]}), false),
            (
                json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}),
                true,
            ),
            (json!({"volumes": [{"name": "v", "ephemeral": {}}]}), true),
            (json!({"containers": [{"ports": [{"containerPort": 80}]}]}), false),
            (json!({"containers": [{"ports": [{"hostPort": 80}]}]}), true),
            (json!({"resourceClaims": [{"name": "gpu"}]}), true),
        ] {
            assert_eq!(needs(spec.clone()).is_bound, is_bound, "{spec}");
        }
    }

    #[test]
    fn tolerations_keep_what_they_leave_out() {
        let read = |toleration: Value| needs(json!({"tolerations": [toleration]})).tolerations.remove(0);
        let all = read(json!({"operator": "Exists"}));
        assert_eq!((all.key, all.value, all.effect), (None, None, None));
        let equal = read(json!({"key": "team", "effect": "NoSchedule"}));
        assert_eq!(equal.value.as_deref(), Some(""));
        assert_eq!(equal.effect, Some(Effect::NoSchedule));
    }
}
