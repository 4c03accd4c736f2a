//! A NodeClaim, as far as node limits need it. Nothing else of it is decoded.

use poolgate_core::nodelimit::ledger::{CountedClaim, Uid};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::cluster::objects;

/// The condition that Karpenter sets, together with its taint on the node, on a NodeClaim that it is disrupting
/// (`ConditionTypeDisruptionReason` of `sigs.k8s.io/karpenter/pkg/apis/v1`).
const DISRUPTION_REASON: &str = "DisruptionReason";

/// The condition of a NodeClaim whose machine is restarted in place. It is set together with a reason for disruption,
/// but the node stays, and nothing replaces it.
const REBOOTING: &str = "Rebooting";

/// The condition of a NodeClaim whose node has taken up its work.
const INITIALIZED: &str = "Initialized";

/// A NodeClaim.
pub type NodeClaim = objects::NodeClaim<IgnoredAny, Status>;

#[derive(Debug, Clone, Default, Deserialize)]
pub struct Status {
    #[serde(default)]
    conditions: Vec<Condition>,
}

/// Less than the others read of a condition: the gate looks at the claims of the whole cluster.
#[derive(Debug, Clone, Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: Box<str>,
    status: Box<str>,
}

impl NodeClaim {
    /// Its pool, its identity, and what counting needs of it; none if it has no pool.
    pub fn into_parts(self) -> Option<(Box<str>, Uid, CountedClaim)> {
        let conditions = &self.status.conditions;
        let is_true = |kind: &str| {
            let mut true_ones = conditions.iter().filter(|condition| &*condition.status == "True");
            true_ones.any(|condition| &*condition.kind == kind)
        };
        let uid = Uid::new(&self.metadata.uid).ok()?;
        let claim = CountedClaim {
            version: self.metadata.version_number()?,
            deleting: self.metadata.deletion_timestamp.is_some(),
            disrupted: is_true(DISRUPTION_REASON) && !is_true(REBOOTING),
            initialized: is_true(INITIALIZED),
        };
        Some((self.metadata.labels.pool?, uid, claim))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn parts(object: Value) -> Option<(Box<str>, Uid, CountedClaim)> {
        let claim: NodeClaim = serde_json::from_value(object).expect("a claim of any shape");
        claim.into_parts()
    }

    #[test]
    fn what_counting_needs_is_read_and_nothing_else() {
        let object = json!({
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodeClaim",
            "metadata": {
                "name": "general-x7k2p",
                "uid": "u-1",
                "resourceVersion": "42",
                "labels": {"karpenter.sh/nodepool": "general", "team": "blue"},
                "deletionTimestamp": "2026-01-01T00:00:00Z",
                "managedFields": [{"manager": "karpenter"}],
            },
            "spec": {"requirements": []},
            "status": {"conditions": [
                {"type": "Ready", "status": "True"},
                {"type": "DisruptionReason", "status": "True", "reason": "Drifted"},
            ]},
        });
        let (pool, uid, claim) = parts(object).expect("a claim of a pool");
        assert_eq!((&*pool, uid.as_str()), ("general", "u-1"));
        let expected = CountedClaim {
            version: 42,
            deleting: true,
            disrupted: true,
            initialized: false,
        };
        assert_eq!(claim, expected);
    }

    #[test]
    fn a_node_that_reboots_stays_and_one_that_is_replaced_was_initialized() {
        let disrupted = |rebooting: &str, initialized: &str| {
            let object = json!({
                "metadata": {"uid": "u", "resourceVersion": "1", "labels": {"karpenter.sh/nodepool": "general"}},
                "status": {"conditions": [
                    {"type": "Initialized", "status": initialized},
                    {"type": "DisruptionReason", "status": "True", "reason": "Unhealthy"},
                    {"type": "Rebooting", "status": rebooting},
                ]},
            });
            let (_, _, claim) = parts(object).expect("a claim of a pool");
            (claim.disrupted, claim.initialized)
        };
        assert_eq!(disrupted("True", "Unknown"), (false, false));
        assert_eq!(disrupted("False", "True"), (true, true));
    }

    #[test]
    fn a_disruption_that_was_called_off_counts_again_and_a_claim_of_no_pool_never() {
        let object = |labels: Value, status: &str| {
            json!({
                "metadata": {"uid": "u", "resourceVersion": "1", "labels": labels},
                "status": {"conditions": [{"type": "DisruptionReason", "status": status}]},
            })
        };
        let of_pool = json!({"karpenter.sh/nodepool": "general"});
        let (_, _, claim) = parts(object(of_pool, "False")).expect("a claim of a pool");
        assert!(!claim.disrupted && !claim.deleting);
        assert_eq!(parts(object(json!({}), "True")), None);
        assert_eq!(parts(json!({"metadata": {}})), None);
    }
}
