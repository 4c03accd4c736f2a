//! The effect of a Hard node limit on nodes that must be replaced, whatever the budgets allow.

use poolgate_core::api::{AtLimit, NodeLimit, NodeLimitMode, OverLimit, SURGE_ANNOTATION};
use poolgate_core::budget::Reason;
use poolgate_core::defaults::node_limit_mode;

use super::subject::Subject;

/// The note on a pool whose limit is known to be Hard, because it says so itself or a policy is given: only such a pool is
/// known to have poolgate's gate.
pub fn note(subject: &Subject<'_>) -> Option<String> {
    let pool = &subject.pool;
    let replaces = |reason: &Reason| matches!(reason, Reason::Drifted | Reason::Unhealthy);
    if !pool.replicas.is_absent() || !subject.reasons.iter().any(replaces) {
        return None;
    }
    let by_policy = || node_limit_mode(pool, None, subject.policy?.defaults.node_limit_mode);
    let mode = pool.node_limit_mode().or_else(by_policy)?;
    let limit = NodeLimit::of(pool, OverLimit::default())?;
    if mode != NodeLimitMode::Hard {
        return None;
    }
    let limit = NodeLimit { mode, ..limit };
    let nodes = limit.nodes;
    let surge = limit.surge(pool);
    if surge > 0 {
        return Some(format!(
            "At its Hard limit of {nodes} nodes the pool may have {surge} more while Karpenter replaces nodes \
             ({SURGE_ANNOTATION}). Drifted and broken nodes are therefore replaced, as the budgets allow."
        ));
    }
    let at_limit = AtLimit::annotated(pool).or(subject.policy.map(|policy| policy.at_limit));
    let drifted = "Drifted nodes that need a replacement stay, whatever the budgets allow";
    let then = match at_limit {
        Some(AtLimit::Block) => {
            format!("{drifted}. Broken nodes stay, too (at-limit: Block). {SURGE_ANNOTATION} makes room")
        }
        Some(AtLimit::Replace) if pool.annotated_node_limit().is_some() => {
            "Drifted nodes, and nodes that Karpenter wants to repair, are terminated first and then replaced, one at a \
             time (at-limit: Replace)"
                .into()
        }
        Some(AtLimit::Repair | AtLimit::Replace) => format!(
            "{drifted}. Nodes that Karpenter wants to repair are terminated first and then replaced, one at a time"
        ),
        None => format!("{drifted}, unless at-limit of the pool or policy is Replace"),
    };
    Some(format!(
        "At its Hard limit of {nodes} nodes the pool gets no replacement before a node is gone. {then}."
    ))
}

#[cfg(test)]
mod tests {
    use poolgate_core::facts::ApiVersion;
    use poolgate_core::json::Json;
    use poolgate_core::policy::Policy;
    use poolgate_core::pool::NodePool;
    use serde_json::{Value, json};

    use super::*;

    /// The note on a pool with a limit of 5 nodes, or what stands after its beginning.
    fn said(annotations: &Value, spec: &Value, policy: Option<AtLimit>) -> Option<String> {
        let mut object = json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
            "metadata": {"name": "a", "annotations": annotations},
            "spec": {"limits": {"nodes": "5"}},
        });
        let fields = object["spec"].as_object_mut().expect("a spec");
        fields.extend(spec.as_object().expect("an object").clone());
        let policy = policy.map(|at_limit| Policy {
            at_limit,
            ..Policy::default()
        });
        let read = Json::from(&object);
        let view = NodePool::view(ApiVersion::V1, &read);
        let mut subject = Subject::new(&object, view, None, None).expect("budgets");
        subject.policy = policy.as_ref();
        let note = note(&subject)?;
        let begin = "At its Hard limit of 5 nodes the pool ";
        Some(note.strip_prefix(begin).unwrap_or(&note).to_owned())
    }

    #[track_caller]
    fn expect(annotations: &Value, policy: Option<AtLimit>, parts: &[&str]) {
        let note = said(annotations, &json!({}), policy).expect("a note");
        for part in parts {
            assert!(note.contains(part), "{part}: {note}");
        }
    }

    #[test]
    fn what_becomes_of_nodes_at_a_hard_limit_is_said_as_far_as_it_is_known() {
        let hard = json!({"poolgate.dev/node-limit-mode": "Hard"});
        expect(&hard, None, &["unless at-limit of the pool or policy is Replace"]);
        expect(
            &hard,
            Some(AtLimit::Block),
            &["Broken nodes stay, too (at-limit: Block)"],
        );
        let repair = [
            "Drifted nodes that need a replacement stay",
            "repair are terminated first",
        ];
        expect(&hard, Some(AtLimit::Repair), &repair);
        expect(&json!({}), Some(AtLimit::Replace), &repair);
        let left = json!({"poolgate.dev/node-limit": "5", "poolgate.dev/at-limit": "replace"});
        expect(
            &left,
            Some(AtLimit::Block),
            &["Drifted nodes, and nodes that Karpenter wants to repair"],
        );
        let surge = json!({"poolgate.dev/surge": "2"});
        expect(&surge, Some(AtLimit::Block), &["may have 2 more"]);
    }

    #[test]
    fn nothing_is_said_of_a_pool_whose_limit_prevents_no_replacement() {
        let (hard, none) = (json!({"poolgate.dev/node-limit-mode": "Hard"}), json!({}));
        let soft = json!({"poolgate.dev/node-limit-mode": "Soft"});
        assert_eq!(said(&none, &none, None), None, "there may be no gate");
        assert_eq!(said(&soft, &none, Some(AtLimit::Block)), None);
        assert_eq!(said(&hard, &json!({"limits": {"cpu": "5"}}), None), None);
        assert_eq!(
            said(&hard, &json!({"replicas": 3}), None),
            None,
            "Karpenter's part"
        );
    }
}
