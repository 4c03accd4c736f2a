//! `replicas` against `limits.nodes`, for NodePools and for `kubectl scale`.

use super::path;
use crate::diagnostic::{Diagnostic, FieldPath, Origin, RuleId, Severity};
use crate::rule::{Evidence, Rule};
use crate::value::quantity::Quantity;

pub const RULES: &[&Rule] = &[&REPLICAS_ABOVE_LIMIT, &REPLICAS_AT_LIMIT];

static REPLICAS_ABOVE_LIMIT: Rule = Rule {
    id: RuleId::new("replicas-above-limit"),
    title: "`replicas` is not above `limits.nodes`",
    severity: Some(Severity::Error),
    origins: &[Origin::Silent],
    evidence: Some(Evidence::Shown),
    why: "Karpenter launches nodes up to the limit and then tries again every 30 seconds, forever. The only \
          sign is a line in its log.",
    seen_in: &[],
    bad: r#"spec:
  replicas: 10
  limits:
    nodes: "5"
"#,
    good: r#"spec:
  replicas: 10
  limits:
    nodes: "12"
"#,
};

static REPLICAS_AT_LIMIT: Rule = Rule {
    id: RuleId::new("replicas-at-limit"),
    title: "A static pool has room to replace a drifted node",
    severity: Some(Severity::Warning),
    origins: &[Origin::Silent],
    evidence: Some(Evidence::Shown),
    why: "Karpenter launches the replacement of a drifted node before it removes the node. If \
          `limits.nodes` equals `replicas`, there is no room for it, so drifted nodes are never replaced. \
          From 1.15 on Karpenter removes the node first if its feature gate `TerminateFirstDrift` is on.",
    seen_in: &["aws/karpenter-provider-aws#8873", "3203", "3312"],
    bad: r#"spec:
  replicas: 5
  limits:
    nodes: "5"
"#,
    good: r#"spec:
  replicas: 5
  limits:
    nodes: "6"
"#,
};

/// What is wrong with this number of replicas under this limit.
pub fn check(replicas: i64, limit: Option<&Quantity>) -> Option<Diagnostic> {
    let limit = limit.filter(|limit| !limit.is_negative())?.rounded_up();
    let finding = if replicas > limit {
        let reason = format!("limits.nodes is {limit}, so the pool never has more nodes than that");
        REPLICAS_ABOVE_LIMIT
            .finding(path(), replicas, reason)
            .suggest(match limit {
                0 => "raise the limit, or write 0".to_owned(),
                _ => format!("write {limit} or less, or raise the limit"),
            })
    } else if replicas == limit && replicas > 0 {
        let reason = format!("limits.nodes is {limit} too, so there is no room to replace a drifted node");
        REPLICAS_AT_LIMIT
            .finding(path(), replicas, reason)
            .suggest("raise the limit by one at least")
    } else {
        return None;
    };
    Some(finding.related(FieldPath::of(&["spec", "limits", "nodes"])))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::rules::testing::{errors, warnings};

    #[test]
    fn replicas_leave_room_below_the_limit() {
        let pool =
            |replicas: i64, nodes: &str| json!({"spec": {"replicas": replicas, "limits": {"nodes": nodes}}});
        assert_eq!(
            errors(&pool(6, "5")),
            [
                "spec.replicas: Invalid value: 6: limits.nodes is 5, so the pool never has more nodes than that; \
                 write 5 or less, or raise the limit [replicas-above-limit]"
            ]
        );
        assert!(errors(&pool(3, "0"))[0].contains("; raise the limit, or write 0 ["));
        assert!(warnings(&pool(5, "5"))[0].ends_with("[replicas-at-limit]"));
        for (replicas, nodes) in [(4, "5"), (0, "0"), (3, "1k")] {
            assert_eq!(errors(&pool(replicas, nodes)), [""; 0]);
            assert_eq!(warnings(&pool(replicas, nodes)), [""; 0]);
        }
    }
}
