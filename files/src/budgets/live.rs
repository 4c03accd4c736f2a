//! The state of a cluster's NodePools: how many nodes Karpenter counts, how many of them count against budgets, and
//! Karpenter's events about disruption that it could not begin.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use poolgate_core::budget::Reason;
use poolgate_core::facts::{DISRUPTED_TAINT, NODEPOOL_LABEL};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::blocked::{self, Blocked, Scope};
use crate::sources::cluster::{Cluster, ClusterReadError, Request};

/// The label by which Karpenter shows that pods may be scheduled to a node.
const INITIALIZED: &str = "karpenter.sh/initialized";

/// The state of a NodePool in a cluster.
#[derive(Debug, Default)]
pub struct InUse {
    /// How many nodes count: those to which pods may be scheduled.
    pub nodes: u32,
    /// How many of these are on their way out.
    leaving: u32,
    /// How many of the others are not ready.
    not_ready: u32,
    /// The events of Karpenter about disruption.
    pub blocked: Vec<Blocked>,
}

impl InUse {
    /// How many nodes count against the budgets for a reason.
    pub fn consumed(&self, reason: Reason) -> u32 {
        match reason {
            Reason::Unhealthy => self.leaving,
            _ => self.leaving + self.not_ready,
        }
    }

    /// The nodes that count against the budgets for a reason, in words.
    pub fn described(&self, reason: Reason) -> String {
        let not_ready = self.consumed(reason) - self.leaving;
        let count = |count: u32, one: &str, several: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            _ => Some(format!("{count} {several}")),
        };
        let parts = [
            count(self.leaving, "is on its way out", "are on their way out"),
            count(not_ready, "is not ready", "are not ready"),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    pub fn json(&self) -> Value {
        json!({
            "leaving": self.leaving,
            "notReady": self.not_ready,
            "blocked": self.blocked.iter().map(Blocked::json).collect::<Vec<_>>(),
        })
    }
}

/// The state of all NodePools.
#[derive(Debug, Default)]
pub struct Live {
    /// The NodePools, in the order of their names.
    pub pools: Vec<Value>,
    in_use: HashMap<String, InUse>,
    /// What could not be read; the rest can be reported without it.
    pub complaints: Vec<String>,
}

impl Live {
    /// The state of the pool of this name.
    pub fn take(&mut self, pool: &str) -> InUse {
        self.in_use.remove(pool).unwrap_or_default()
    }

    /// Reads everything, page by page. Of nodes and NodeClaims only the numbers are kept.
    pub fn fetch(cluster: &Cluster) -> Result<Self, ClusterReadError> {
        let mut live = Self::default();
        cluster.each(Request::NodePools, |pool| live.pools.push(pool))?;
        let mut claims = Claims::default();
        cluster.each(Request::NodeClaims, |claim| claims.add(claim))?;
        cluster.each(Request::Nodes, |node| live.node(&node, &claims))?;
        if let Err(error) = live.events(cluster, &claims) {
            live.complaints
                .push(format!("Karpenter's events could not be read: {error}"));
        }
        Ok(live)
    }

    fn node(&mut self, node: &Node, claims: &Claims) {
        let claim = claims.by_machine.get(&node.spec.provider_id);
        let (Some(pool), Some(claim)) = (node.metadata.label(NODEPOOL_LABEL), claim) else {
            return;
        };
        let is_initialized = node.metadata.label(INITIALIZED) == Some("true");
        if claim.is_terminated || !(is_initialized || claim.is_rebooting) {
            return;
        }
        let in_use = self.in_use.entry(pool.to_owned()).or_default();
        in_use.nodes += 1;
        let taints = node.spec.taints.iter().flatten();
        let is_disrupted = taints.into_iter().any(|taint| taint.key == DISRUPTED_TAINT);
        if claim.is_deleted || claim.is_rebooting || is_disrupted {
            in_use.leaving += 1;
        } else if !node.status.conditions.is_true("Ready") {
            in_use.not_ready += 1;
        }
    }

    fn events(&mut self, cluster: &Cluster, claims: &Claims) -> Result<(), ClusterReadError> {
        let mut reported: BTreeMap<(String, Scope, String), Blocked> = BTreeMap::new();
        // Events on NodeClaims that are not repaired say no more than those on the pool.
        for (reason, about, scope) in [
            (blocked::DISRUPTION, "NodePool", Scope::Pool),
            (blocked::DISRUPTION, "NodeClaim", Scope::Node),
            (blocked::REPAIR, "NodePool", Scope::Pool),
        ] {
            cluster.each(Request::Events { reason, about }, |event: Event| {
                let about = event.involved_object.name.as_str();
                let pool = match scope {
                    Scope::Pool => Some(about),
                    Scope::Node => claims.pools.get(about).map(String::as_str),
                };
                let Some(pool) = pool else { return };
                let message = event.message.unwrap_or_default();
                let meaning = blocked::meaning(&message);
                let key = meaning.unwrap_or(&message).to_owned();
                let last = event.last_timestamp.or(event.at);
                reported
                    .entry((pool.to_owned(), scope, key))
                    .or_insert_with(|| Blocked::new(reason, scope, meaning))
                    .add(message, last);
            })?;
        }
        for ((pool, ..), blocked) in reported {
            self.in_use.entry(pool).or_default().blocked.push(blocked);
        }
        Ok(())
    }
}

/// The fields of NodeClaims that are kept.
#[derive(Debug, Default)]
struct Claims {
    by_machine: HashMap<String, Claim>,
    /// The pool of each, by its name.
    pools: HashMap<String, String>,
}

#[derive(Debug)]
struct Claim {
    is_deleted: bool,
    is_rebooting: bool,
    /// Whether its machine is gone.
    is_terminated: bool,
}

impl Claims {
    fn add(&mut self, claim: ClaimObject) {
        if let Some(pool) = claim.metadata.label(NODEPOOL_LABEL) {
            let pool = pool.to_owned();
            self.pools.insert(claim.metadata.name, pool);
        }
        let conditions = &claim.status.conditions;
        let kept = Claim {
            is_deleted: claim.metadata.deletion_timestamp.is_some(),
            is_rebooting: conditions.is_true("Rebooting"),
            is_terminated: conditions.is_true("InstanceTerminating"),
        };
        // A NodeClaim without a machine has no node either.
        if !claim.status.provider_id.is_empty() {
            self.by_machine.insert(claim.status.provider_id, kept);
        }
    }
}

/// A node or a NodeClaim.
#[derive(Debug, Deserialize)]
struct Object<S = IgnoredAny, T = IgnoredAny> {
    metadata: Metadata,
    #[serde(default)]
    spec: S,
    #[serde(default)]
    status: T,
}

type ClaimObject = Object<IgnoredAny, ClaimStatus>;
type Node = Object<NodeSpec, NodeStatus>;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    deletion_timestamp: Option<String>,
    labels: Option<BTreeMap<String, String>>,
}

impl Metadata {
    fn label(&self, key: &str) -> Option<&str> {
        self.labels.as_ref()?.get(key).map(String::as_str)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ClaimStatus {
    #[serde(rename = "providerID")]
    provider_id: String,
    conditions: Conditions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NodeSpec {
    #[serde(rename = "providerID")]
    provider_id: String,
    taints: Option<Vec<Taint>>,
}

#[derive(Debug, Deserialize)]
struct Taint {
    key: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NodeStatus {
    conditions: Conditions,
}

#[derive(Debug, Default, Deserialize)]
struct Conditions(Option<Vec<Condition>>);

#[derive(Debug, Deserialize)]
struct Condition {
    r#type: String,
    status: String,
}

impl Conditions {
    fn is_true(&self, kind: &str) -> bool {
        let mut conditions = self.0.iter().flatten();
        conditions.any(|condition| condition.r#type == kind && condition.status == "True")
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    involved_object: InvolvedObject,
    message: Option<String>,
    last_timestamp: Option<Timestamp>,
    #[serde(rename = "eventTime")]
    at: Option<Timestamp>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InvolvedObject {
    name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(name: &str, metadata: &Value, condition: &str) -> Value {
        let mut claim = json!({
            "metadata": {"name": name, "labels": {NODEPOOL_LABEL: "a"}},
            "status": {"providerID": name, "conditions": [{"type": condition, "status": "True"}]},
        });
        let all = claim["metadata"].as_object_mut().expect("metadata");
        all.extend(metadata.as_object().expect("an object").clone());
        claim
    }

    fn node(machine: &str, is_ready: &str, spec: &Value, labels: &Value) -> Value {
        let mut node = json!({
            "metadata": {"name": machine, "labels": {NODEPOOL_LABEL: "a", INITIALIZED: "true"}},
            "spec": {"providerID": machine},
            "status": {"conditions": [{"type": "Ready", "status": is_ready}]},
        });
        for (part, more) in [("/spec", spec), ("/metadata/labels", labels)] {
            let all = node.pointer_mut(part).and_then(Value::as_object_mut);
            all.expect("an object")
                .extend(more.as_object().expect("an object").clone());
        }
        node
    }

    #[test]
    fn nodes_are_counted_as_karpenter_counts_them() {
        let none = json!({});
        let deleted = json!({"deletionTimestamp": "2026-01-05T10:00:00Z"});
        let mut claims = Claims::default();
        for claim in [
            claim("well", &none, "Ready"),
            claim("unready", &none, "Ready"),
            claim("deleted", &deleted, "Ready"),
            claim("chosen", &none, "Ready"),
            claim("rebooting", &none, "Rebooting"),
            claim("terminated", &deleted, "InstanceTerminating"),
            claim("new", &none, "Ready"),
        ] {
            claims.add(serde_json::from_value(claim).expect("a NodeClaim"));
        }
        let mut live = Live::default();
        let uninitialized = json!({INITIALIZED: "false"});
        let closed = json!({"taints": [{"key": DISRUPTED_TAINT, "effect": "NoSchedule"}]});
        for node in [
            node("well", "True", &none, &none),
            node("unready", "Unknown", &none, &none),
            node("deleted", "False", &none, &none),
            node("chosen", "True", &closed, &none),
            node("rebooting", "False", &none, &uninitialized),
            node("terminated", "True", &none, &none),
            node("new", "True", &none, &uninitialized),
            node("not-karpenters", "True", &none, &none),
        ] {
            live.node(&serde_json::from_value(node).expect("a Node"), &claims);
        }
        let in_use = live.take("a");
        assert_eq!(in_use.nodes, 5);
        assert_eq!(in_use.consumed(Reason::Drifted), 4);
        assert_eq!(
            in_use.consumed(Reason::Unhealthy),
            3,
            "nodes that are not ready are those to repair"
        );
        assert_eq!(
            in_use.described(Reason::Empty),
            "3 are on their way out, 1 is not ready"
        );
    }
}
