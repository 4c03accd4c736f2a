//! The nodes that an update makes Karpenter, or poolgate's reconciler, delete without a replacement, past every budget.

use serde::Serialize;

use super::limits::PoolLimits;
use crate::api::{NodeLimit, OVER_LIMIT_ANNOTATION, OverLimit, annotation_path};
use crate::diagnostic::{FieldPath, counted};
use crate::policy::Policy;
use crate::pool::NodePool;

/// The nodes that an update deletes.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Removal {
    /// What happens: `this change deletes 27 of 30 nodes`.
    pub title: String,
    /// How many nodes are deleted at most, if that is known.
    pub at_most: Option<usize>,
    /// The field that causes it.
    pub field: FieldPath,
    /// Who deletes them, and what holds that up: a clause.
    pub how: String,
    /// A node limit deletes them: another finding warns of that.
    #[serde(skip)]
    pub(crate) is_of_limit: bool,
}

impl Removal {
    /// What an update deletes of a pool with this many nodes, if that is known.
    pub(crate) fn of(
        pool: &NodePool<'_>,
        old: &NodePool<'_>,
        limits: &PoolLimits<'_>,
        nodes: Option<usize>,
        policy: &Policy,
    ) -> Option<Self> {
        match (pool.replicas.present(), old.replicas.present()) {
            (None, None) => Self::by_limit(pool, old, limits, nodes, policy),
            (Some(replicas), Some(before)) => Self::by_replicas(replicas, before, nodes),
            _ => None,
        }
    }

    /// What fewer replicas of a static pool delete: Karpenter keeps as many nodes as replicas.
    fn by_replicas(replicas: i64, before: i64, nodes: Option<usize>) -> Option<Self> {
        let [kept, before] = [replicas, before].map(|count| usize::try_from(count).unwrap_or_default());
        let nodes = nodes.unwrap_or(before);
        let deleted = nodes.saturating_sub(kept);
        (kept < before && deleted > 0).then(|| Self {
            title: deletes(deleted, nodes),
            at_most: Some(deleted),
            field: FieldPath::of(&["spec", "replicas"]),
            how: "Karpenter drains them immediately, past every budget. PodDisruptionBudgets and do-not-disrupt hold up the \
                  drain"
                .to_owned(),
            is_of_limit: false,
        })
    }

    /// What a limit deletes under `Terminate`, beyond what was above it before.
    fn by_limit(
        pool: &NodePool<'_>,
        old: &NodePool<'_>,
        limits: &PoolLimits<'_>,
        nodes: Option<usize>,
        policy: &Policy,
    ) -> Option<Self> {
        let terminates = |limit: &NodeLimit| limit.over_limit == OverLimit::Terminate;
        let limit = limits.node_limit(pool, policy).filter(terminates)?;
        let before = NodeLimit::lowest_of(old, policy.over_limit);
        let is_lower = before.is_none_or(|before| limit.nodes < before.nodes);
        let terminated_before = before.filter(terminates);
        if terminated_before.is_some_and(|before| limit.nodes >= before.nodes) {
            return None;
        }
        let above = |limit: NodeLimit| Some(nodes?.saturating_sub(limit.nodes as usize));
        let going = terminated_before.map_or(Some(0), above);
        let deleted = above(limit)
            .zip(going)
            .map(|(above, going)| above.saturating_sub(going));
        if deleted == Some(0) {
            return None;
        }
        let field = if is_lower {
            limits.nodes_path()
        } else {
            annotation_path(OVER_LIMIT_ANNOTATION)
        };
        Some(Self {
            title: match deleted.zip(nodes) {
                Some((deleted, nodes)) => deletes(deleted, nodes),
                None => format!("this change deletes the nodes above {}", limit.nodes),
            },
            at_most: deleted,
            field,
            how: "a running reconciler deletes them, past every budget (over-limit: Terminate)".to_owned(),
            is_of_limit: true,
        })
    }
}

/// The pool's nodes, all of them.
pub(super) fn every(nodes: usize) -> String {
    match nodes {
        1 => "the pool's only node".to_owned(),
        nodes => format!("all {nodes} nodes"),
    }
}

fn deletes(deleted: usize, nodes: usize) -> String {
    if deleted == nodes {
        format!("this change deletes {}", every(nodes))
    } else {
        format!("this change deletes {deleted} of {}", counted(nodes, "node"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::facts::ApiVersion;
    use crate::json::Json;

    fn said(old: &Value, new: &Value, nodes: Option<usize>) -> Option<(String, Option<usize>, String)> {
        let [old, new] = [old, new].map(|spec| {
            let annotations = spec.get("over").map(|over| json!({OVER_LIMIT_ANNOTATION: over}));
            json!({"metadata": {"annotations": annotations}, "spec": spec})
        });
        let [old, new] = [&old, &new].map(Json::from);
        let [old, new] = [&old, &new].map(|pool| NodePool::view(ApiVersion::V1, pool));
        let policy = Policy::default();
        let limits = PoolLimits::parse(&new, Some(&old), &policy);
        let removal = Removal::of(&new, &old, &limits, nodes, &policy)?;
        Some((removal.title, removal.at_most, removal.field.to_string()))
    }

    #[test]
    fn fewer_replicas_delete_the_nodes_above_them() {
        let said = |before: i64, after: i64, nodes| {
            said(&json!({"replicas": before}), &json!({"replicas": after}), nodes)
                .map(|said| (said.0, said.1))
        };
        let deletes = |title: &str, most| Some((format!("this change deletes {title}"), Some(most)));
        assert_eq!(said(30, 3, None), deletes("27 of 30 nodes", 27));
        assert_eq!(said(30, 3, Some(10)), deletes("7 of 10 nodes", 7));
        assert_eq!(said(30, 3, Some(2)), None, "the others have not been launched");
        assert_eq!(said(3, 0, None), deletes("all 3 nodes", 3));
        assert_eq!(said(1, 0, None), deletes("the pool's only node", 1));
        for (before, after) in [(3, 3), (3, 4), (0, 0)] {
            assert_eq!(said(before, after, Some(9)), None);
        }
    }

    #[test]
    fn a_limit_deletes_what_was_not_above_it_before_if_it_terminates() {
        let pool = |nodes: u32, over: &str| json!({"limits": {"nodes": nodes}, "over": over});
        let count = |old: &Value, new: &Value| said(old, new, Some(30)).and_then(|said| said.1);
        let (report, terminate) = ("Report", "Terminate");
        assert_eq!(count(&pool(40, terminate), &pool(10, terminate)), Some(20));
        assert_eq!(count(&pool(25, terminate), &pool(10, terminate)), Some(15));
        assert_eq!(count(&pool(10, report), &pool(10, terminate)), Some(20));
        assert_eq!(count(&json!({}), &pool(10, terminate)), Some(20));
        for (old, new) in [
            (pool(40, report), pool(10, report)),
            (pool(40, terminate), pool(30, terminate)),
            (pool(10, terminate), pool(10, terminate)),
            (pool(10, terminate), pool(20, terminate)),
        ] {
            assert_eq!(count(&old, &new), None, "{old} {new}");
        }
        let unknown = said(&pool(40, terminate), &pool(10, terminate), None);
        let title = "this change deletes the nodes above 10".to_owned();
        assert_eq!(unknown, Some((title, None, "spec.limits.nodes".to_owned())));
    }
}
