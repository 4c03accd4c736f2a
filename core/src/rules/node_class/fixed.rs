//! The fields of `nodeClassRef` that an update may not change.

use super::{path, text};
use crate::diagnostic::{Origin, RuleId, Severity, quoted};
use crate::json::Object;
use crate::karpenter::TemplateOwner;
use crate::rule::Rule;
use crate::rules::findings::Findings;

pub const RULES: &[&Rule] = &[&NODE_CLASS_IMMUTABLE];

static NODE_CLASS_IMMUTABLE: Rule = Rule {
    id: RuleId::new("node-class-immutable"),
    title: "Group and kind of `nodeClassRef` never change",
    severity: Some(Severity::Error),
    origins: &[Origin::Schema],
    evidence: None,
    why: "Since Karpenter 1.1 the CRD rejects such a change: a pool cannot move to another provider. The \
          name may change; Karpenter then replaces the nodes.",
    seen_in: &[],
    bad: "\
spec:
  template:
    spec:
      nodeClassRef: { group: karpenter.itsh.dev, kind: HCloudNodeClass, name: default }
---
spec:
  template:
    spec:
      nodeClassRef: { group: karpenter.hetzner.cloud, kind: HCloudNodeClass, name: default }
",
    good: "\
spec:
  template:
    spec:
      nodeClassRef: { group: karpenter.itsh.dev, kind: HCloudNodeClass, name: default }
---
spec:
  template:
    spec:
      nodeClassRef: { group: karpenter.itsh.dev, kind: HCloudNodeClass, name: other }
",
};

pub fn check(reference: &Object<'_>, old: &Object<'_>, findings: &mut Findings<'_>) {
    for field in ["group", "kind"] {
        let (Some(before), Some(now)) = (text(old, field), text(reference, field)) else {
            continue;
        };
        if before != now {
            findings.push(
                NODE_CLASS_IMMUTABLE
                    .finding(
                        path(TemplateOwner::Pool, field),
                        now,
                        format!("it is {} and cannot be changed", quoted(before)),
                    )
                    .suggest("make a new NodePool and delete this one"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::karpenter::{ApiVersion, KarpenterVersion};
    use crate::rules::node_class::testing::pool;
    use crate::rules::testing::errors_for;

    #[test]
    fn group_and_kind_cannot_change_since_1_1_but_the_name_can() {
        let old = pool("a.example", "A", "one");
        let new = pool("b.example", "B", "two");
        let errors = |release| errors_for(ApiVersion::V1, release, &new, Some(&old));
        assert_eq!(errors(KarpenterVersion::new(1, 0, 8)), [""; 0]);
        let denied = errors(KarpenterVersion::NEWEST);
        assert_eq!(denied.len(), 2, "{denied:?}");
        assert!(denied.iter().all(|line| line.ends_with("[node-class-immutable]")));
        let renamed = pool("a.example", "A", "two");
        assert_eq!(
            errors_for(ApiVersion::V1, KarpenterVersion::NEWEST, &renamed, Some(&old)),
            [""; 0]
        );
    }
}
