//! Stored pools with a node limit that say no mode: a policy that wants another mode than Hard does not reach them.

use crate::api::{NODE_LIMIT_MODE_ANNOTATION, NodeLimitMode};
use crate::karpenter::NodePool;

/// Whether a stored pool has a node limit and says no mode.
pub fn lacks_mode(pool: &NodePool<'_>) -> bool {
    pool.node_limit().is_some() && pool.node_limit_mode().is_none()
}

/// What to know of stored pools that lack a mode, by their names, if the policy writes this mode into new ones; `None` if
/// it makes no difference.
pub fn unwritten_modes(names: &[&str], default: NodeLimitMode) -> Option<String> {
    let (first, others) = names.split_first()?;
    if default == NodeLimitMode::UNWRITTEN {
        return None;
    }
    let (unwritten, default) = (NodeLimitMode::UNWRITTEN.as_str(), default.as_str());
    let (pools, have, are) = match others {
        [] => (format!("NodePool {first}"), "has", "is"),
        _ => (format!("NodePools {}", names.join(", ")), "have", "are"),
    };
    Some(format!(
        "{pools} {have} a node limit and no mode, and so {are} {unwritten}: the policy's {default} is written into new \
         NodePools only. To change that: kubectl annotate nodepool {} {NODE_LIMIT_MODE_ANNOTATION}={default}",
        names.join(" ")
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::json::Json;
    use crate::karpenter::ApiVersion;

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
