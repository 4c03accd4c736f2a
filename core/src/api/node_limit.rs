//! The node limit of a pool, as its NodePool describes it, and the NodeClaims that count against it.

use super::keys::{
    AT_LIMIT_ANNOTATION, AtLimit, NODE_LIMIT_ANNOTATION, NODE_LIMIT_MODE_ANNOTATION,
    NODE_LIMIT_SCHEDULE_ANNOTATION, NodeLimitMode, OVER_LIMIT_ANNOTATION, OverLimit, SURGE_ANNOTATION,
};
use super::limit_schedule::LimitSchedule;
use crate::pool::NodePool;
use crate::value::in_any_case;
use crate::value::quantity::Quantity;

/// The highest surge. The claims that were admitted because of it stand in the ledger, whose size is bounded.
pub const MAX_SURGE: u32 = 100;

/// How many nodes a pool may have, and in which mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeLimit {
    /// The most nodes, rounded down: `1.5` is 1.
    pub nodes: u32,
    /// Whether replacements may exceed it for a while.
    pub mode: NodeLimitMode,
    /// The handling of nodes above it.
    pub over_limit: OverLimit,
}

impl NodeLimit {
    /// The limit of a stored NodePool: from the annotation, else from `spec.limits.nodes`; `None` if both are missing or
    /// unreadable. `over_limit` applies if the pool makes no choice.
    pub fn of(pool: &NodePool<'_>, over_limit: OverLimit) -> Option<Self> {
        let mode = pool.node_limit_mode().unwrap_or(NodeLimitMode::UNWRITTEN);
        Some(Self::parsed(&pool.node_limit()?, mode, pool, over_limit))
    }

    /// The lowest limit that a pool has from time to time: that of its schedule, if it has one that can be read.
    pub(crate) fn lowest_of(pool: &NodePool<'_>, over_limit: OverLimit) -> Option<Self> {
        let mode = pool.node_limit_mode().unwrap_or(NodeLimitMode::UNWRITTEN);
        let schedule = LimitSchedule::of(pool).and_then(Result::ok);
        let lowest = schedule.map(|schedule| i64::from(schedule.lowest()).into());
        let nodes = lowest.or_else(|| pool.node_limit())?;
        Some(Self::parsed(&nodes, mode, pool, over_limit))
    }

    /// Like [`Self::of`], for a pool whose limit is parsed already, and whose mode is known.
    pub(crate) fn parsed(
        nodes: &Quantity,
        mode: NodeLimitMode,
        pool: &NodePool<'_>,
        over_limit: OverLimit,
    ) -> Self {
        Self {
            nodes: u32::try_from(nodes.rounded_down().max(0)).unwrap_or(u32::MAX),
            mode,
            over_limit: OverLimit::annotated(pool).unwrap_or(over_limit),
        }
    }

    /// How many nodes more this pool may have while Karpenter replaces nodes. None under Soft, which does not count nodes
    /// that are replaced anyway, and none of a static pool, whose replacements Karpenter counts itself.
    pub fn surge(&self, pool: &NodePool<'_>) -> u32 {
        if self.mode == NodeLimitMode::Hard && pool.replicas.is_absent() {
            pool.surge().min(MAX_SURGE)
        } else {
            0
        }
    }
}

/// The NodeClaims of a pool, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClaimCounts {
    /// All NodeClaims that exist, whatever happens to them.
    pub existing: usize,
    /// Those of them without a deletion timestamp.
    pub undeleted: usize,
    /// Those of the undeleted that are not being disrupted.
    pub staying: usize,
}

impl ClaimCounts {
    /// How many count against a limit of this mode.
    pub const fn counted(self, mode: NodeLimitMode) -> usize {
        match mode {
            NodeLimitMode::Hard => self.existing,
            NodeLimitMode::Soft => self.staying,
        }
    }

    /// How many may count as excess: claims that are already going must not cause more victims, however slowly they
    /// drain.
    pub const fn standing(self, mode: NodeLimitMode) -> usize {
        match mode {
            NodeLimitMode::Hard => self.undeleted,
            NodeLimitMode::Soft => self.staying,
        }
    }

    /// How many of those are above a limit.
    pub const fn excess(self, limit: u32, mode: NodeLimitMode) -> usize {
        self.standing(mode).saturating_sub(limit as usize)
    }
}

impl<'a> NodePool<'a> {
    /// The most nodes, if readable: from the annotation, else from `spec.limits.nodes`.
    pub fn node_limit(&self) -> Option<Quantity> {
        if let Some(limit) = self.annotated_node_limit() {
            return Some(Quantity::from(i64::from(limit)));
        }
        Self::limit_value(self.limits.present()?.get("nodes")?)
    }

    /// The place of a node limit that cannot be parsed. A valid one in the annotation wins over `spec.limits`.
    pub fn unreadable_node_limit(&self) -> Option<&'static str> {
        if let Some(key) = self.node_limit_key() {
            let place = match key {
                NODE_LIMIT_SCHEDULE_ANNOTATION => "its annotation poolgate.dev/node-limit-schedule",
                _ => "its annotation poolgate.dev/node-limit",
            };
            return self.annotated_node_limit().is_none().then_some(place);
        }
        let nodes = self.limits.present()?.get("nodes")?;
        (!nodes.is_null() && Self::limit_value(nodes).is_none()).then_some("its spec.limits.nodes")
    }

    /// The number in an annotation; `None` if it is missing or not written in digits.
    pub(crate) fn annotated_number(&self, key: &str) -> Option<u32> {
        number(self.annotation(key)?.as_str()?)
    }

    /// The most nodes of a pool that leaves `spec.limits.nodes` to poolgate. A schedule alone means its lowest number: the
    /// leader has not stored the one in force yet.
    pub fn annotated_node_limit(&self) -> Option<u32> {
        self.stored_node_limit()
            .or_else(|| Some(LimitSchedule::of(self)?.ok()?.lowest()))
    }

    /// The number in the annotation, which a schedule may have set.
    pub fn stored_node_limit(&self) -> Option<u32> {
        self.annotated_number(NODE_LIMIT_ANNOTATION)
    }

    /// The annotation that sets [`Self::annotated_node_limit`]; `None` if none is there.
    pub(crate) fn node_limit_key(&self) -> Option<&'static str> {
        [NODE_LIMIT_ANNOTATION, NODE_LIMIT_SCHEDULE_ANNOTATION]
            .into_iter()
            .find(|key| self.annotation(key).is_some_and(|value| !value.is_null()))
    }

    /// How many nodes more than its limit the pool may have while it replaces nodes; 0 if the annotation is missing or
    /// is not a number.
    pub fn surge(&self) -> u32 {
        self.annotated_number(SURGE_ANNOTATION).unwrap_or_default()
    }

    /// The mode of that limit in the object itself: from the field, else from the annotation. An unknown word
    /// counts as missing.
    pub fn node_limit_mode(&self) -> Option<NodeLimitMode> {
        [self.node_limit_mode_field(), self.node_limit_mode_annotation()]
            .into_iter()
            .flatten()
            .find_map(NodeLimitMode::parse)
    }

    /// The value of the field.
    pub(crate) fn node_limit_mode_field(&self) -> Option<&'a str> {
        self.disruption.as_ref().present()?.node_limit_mode.present()
    }

    /// The value of the annotation; a mode in any case, as it is spelt.
    pub(crate) fn node_limit_mode_annotation(&self) -> Option<&'a str> {
        let text = self.annotation(NODE_LIMIT_MODE_ANNOTATION)?.as_str()?;
        Some(in_any_case(text, NodeLimitMode::VALUES).unwrap_or(text))
    }
}

impl OverLimit {
    /// The word in a pool's annotation; `None` if it is missing or says something else.
    pub fn annotated(pool: &NodePool<'_>) -> Option<Self> {
        Self::parse(in_any_case(
            pool.annotation(OVER_LIMIT_ANNOTATION)?.as_str()?,
            Self::VALUES,
        )?)
    }
}

impl AtLimit {
    /// The word in a pool's annotation; `None` if it is missing or says something else.
    pub fn annotated(pool: &NodePool<'_>) -> Option<Self> {
        Self::parse(in_any_case(
            pool.annotation(AT_LIMIT_ANNOTATION)?.as_str()?,
            Self::VALUES,
        )?)
    }
}

/// The number in an annotation; `None` if it is not written in digits.
fn number(text: &str) -> Option<u32> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}

/// Whether a stored pool has a node limit and says no mode.
pub fn lacks_mode(pool: &NodePool<'_>) -> bool {
    pool.node_limit().is_some() && pool.node_limit_mode().is_none()
}

/// The remark on stored pools that lack a mode, by their names, if the policy writes this mode into new ones; `None` if it
/// makes no difference.
pub fn unwritten_modes(names: &[&str], default: NodeLimitMode) -> Option<String> {
    let (first, others) = names.split_first()?;
    if default == NodeLimitMode::UNWRITTEN {
        return None;
    }
    let (unwritten, default) = (NodeLimitMode::UNWRITTEN.as_str(), default.as_str());
    let (pools, have) = match others {
        [] => (format!("NodePool {first}"), "has"),
        _ => (format!("NodePools {}", names.join(", ")), "have"),
    };
    Some(format!(
        "{pools} {have} a node limit but no mode, so {unwritten} applies. The policy's {default} is written into new NodePools \
         only. To change this: kubectl annotate nodepool {} {NODE_LIMIT_MODE_ANNOTATION}={default}",
        names.join(" ")
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::facts::ApiVersion;
    use crate::json::Json;

    fn limit(pool: &Value) -> Option<(u32, &'static str, &'static str)> {
        NodeLimit::of(
            &NodePool::view(ApiVersion::V1, &Json::from(pool)),
            OverLimit::Report,
        )
        .map(|limit| (limit.nodes, limit.mode.as_str(), limit.over_limit.as_str()))
    }

    #[test]
    fn a_pool_without_a_readable_limit_has_none() {
        for pool in [
            json!(null),
            json!({"spec": {"limits": {"cpu": 5}}}),
            json!({"spec": {"limits": {"nodes": "many"}}}),
            json!({"spec": {"limits": 5}}),
        ] {
            assert_eq!(limit(&pool), None, "{pool}");
        }
    }

    #[test]
    fn a_limit_that_is_left_to_poolgate_holds_whatever_is_in_the_spec() {
        for nodes in [json!(null), json!("8"), json!("20")] {
            let annotations = json!({"poolgate.dev/node-limit": "10"});
            let pool =
                json!({"metadata": {"annotations": annotations}, "spec": {"limits": {"nodes": nodes}}});
            assert_eq!(limit(&pool).unwrap().0, 10);
        }
        let unreadable = json!({"poolgate.dev/node-limit": "ten"});
        let pool = json!({"metadata": {"annotations": unreadable}, "spec": {"limits": {"nodes": "8"}}});
        assert_eq!(limit(&pool).unwrap().0, 8);
    }

    #[test]
    fn fractions_of_nodes_are_dropped_and_numbers_of_any_size_are_read() {
        let nodes = |nodes: Value| limit(&json!({"spec": {"limits": {"nodes": nodes}}})).unwrap().0;
        assert_eq!(nodes(json!(5)), 5);
        assert_eq!(nodes(json!("1.5")), 1);
        assert_eq!(nodes(json!("1500m")), 1);
        assert_eq!(nodes(json!("-3")), 0);
        assert_eq!(nodes(json!("1e30")), u32::MAX);
    }

    #[test]
    fn the_field_wins_over_the_annotation_and_a_pool_without_a_mode_is_hard() {
        let pool = |field: Option<&str>, annotation: Option<&str>| {
            let mut pool = json!({"metadata": {}, "spec": {"limits": {"nodes": 1}, "disruption": {}}});
            if let Some(field) = field {
                pool["spec"]["disruption"]["nodeLimitMode"] = json!(field);
            }
            if let Some(annotation) = annotation {
                pool["metadata"]["annotations"] = json!({"poolgate.dev/node-limit-mode": annotation});
            }
            limit(&pool).unwrap().1
        };
        assert_eq!(pool(None, None), "Hard");
        assert_eq!(pool(None, Some("Soft")), "Soft");
        assert_eq!(pool(Some("Hard"), Some("Soft")), "Hard");
        assert_eq!(pool(Some("never"), Some("Soft")), "Soft");
        assert_eq!(pool(None, Some("SOFT")), "Soft", "poolgate's word in any case");
        assert_eq!(
            pool(Some("soft"), None),
            "Hard",
            "the definition accepts only Soft"
        );
    }

    #[test]
    fn a_surge_is_for_hard_limits_of_dynamic_pools_and_bounded() {
        let surge = |mode: &str, replicas: Value, surge: &str| {
            let annotations = json!({"poolgate.dev/node-limit-mode": mode, "poolgate.dev/surge": surge});
            let spec = json!({"limits": {"nodes": 5}, "replicas": replicas});
            let pool = json!({"metadata": {"annotations": annotations}, "spec": spec});
            let pool = Json::from(&pool);
            let view = NodePool::view(ApiVersion::V1, &pool);
            NodeLimit::of(&view, OverLimit::Report).unwrap().surge(&view)
        };
        assert_eq!(surge("Hard", json!(null), "2"), 2);
        assert_eq!(surge("Hard", json!(null), "5000"), MAX_SURGE);
        assert_eq!(surge("Hard", json!(null), "many"), 0);
        assert_eq!(surge("Soft", json!(null), "2"), 0);
        assert_eq!(surge("Hard", json!(3), "2"), 0);
    }

    #[test]
    fn a_pool_chooses_what_becomes_of_its_excess() {
        let pool = |word: &str| json!({"metadata": {"annotations": {"poolgate.dev/over-limit": word}}, "spec": {"limits": {"nodes": 1}}});
        assert_eq!(limit(&pool("Terminate")).unwrap().2, "terminate");
        assert_eq!(limit(&pool("Report")).unwrap().2, "report");
        assert_eq!(limit(&pool("perhaps")).unwrap().2, "report");
    }

    #[test]
    fn a_pool_without_a_limit_lacks_no_mode() {
        let lacks = |spec: Value| {
            let pool = json!({ "spec": spec });
            lacks_mode(&NodePool::view(ApiVersion::V1, &Json::from(&pool)))
        };
        assert!(lacks(json!({"limits": {"nodes": "5"}})));
        assert!(!lacks(json!({"limits": {"cpu": "5"}})));
        let soft = json!({"nodeLimitMode": "Soft"});
        assert!(!lacks(json!({"limits": {"nodes": "5"}, "disruption": soft})));
    }

    #[test]
    fn pools_are_named_only_where_the_policy_wants_another_mode() {
        assert_eq!(unwritten_modes(&["a"], NodeLimitMode::Hard), None);
        assert_eq!(unwritten_modes(&[], NodeLimitMode::Soft), None);
        let said = unwritten_modes(&["a", "b"], NodeLimitMode::Soft).unwrap();
        let command = "kubectl annotate nodepool a b poolgate.dev/node-limit-mode=Soft";
        assert!(said.ends_with(command), "{said}");
    }
}
