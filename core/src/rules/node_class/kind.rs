//! Whether group and kind of `nodeClassRef` are those of a provider's node class.

use serde_json::{Map, Value};

use super::{group_field, path, text};
use crate::diagnostic::{Origin, Problem, RuleId, Severity, Suggestion};
use crate::karpenter::{ApiVersion, NodeClassKind, TemplateOwner};
use crate::rule::{Evidence, Rule};
use crate::rules::findings::Findings;

pub(in crate::rules) const RULES: &[&Rule] = &[&NODE_CLASS_KIND];

static NODE_CLASS_KIND: Rule = Rule {
    id: RuleId::new("node-class-kind"),
    title: "Group and kind of `nodeClassRef` belong together",
    severity: Severity::Error,
    origins: &[Origin::Silent],
    evidence: Some(Evidence::Shown),
    why: "Karpenter ignores a NodePool whose node class is of a group and kind that its provider does not \
          have. No event, condition or log line says so; the READY column stays empty. poolgate knows the \
          node classes of the usual providers and accepts those of others.",
    seen_in: &[],
    bad: "\
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: Ec2NodeClass
        name: default
",
    good: "\
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
",
};

pub(super) fn check(
    group: &str,
    reference: &Map<String, Value>,
    version: ApiVersion,
    owner: TemplateOwner,
    findings: &mut Findings<'_>,
) {
    let Some(kind) = text(reference, "kind") else {
        return;
    };
    let Some(likely) = NodeClassKind::likely(group, kind) else {
        return;
    };
    let group_field = group_field(version);
    let (field, value, other) = if likely.group == group {
        ("kind", kind, group_field)
    } else {
        (group_field, group, "kind")
    };
    let reason =
        "no provider has a node class of this group and kind, so Karpenter would silently ignore the pool";
    findings.push(
        NODE_CLASS_KIND
            .finding(path(owner, field), Problem::text(value), reason)
            .related(path(owner, other))
            .suggest(Suggestion::did_you_mean(format_args!(
                "{} of {}",
                likely.kind, likely.group
            ))),
    );
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::karpenter::{ApiVersion, KarpenterVersion};
    use crate::rules::node_class::testing::pool;
    use crate::rules::testing::{errors, errors_for};

    #[test]
    fn a_kind_of_another_provider_is_refused_and_an_unknown_one_is_not() {
        let refused = errors(&pool("karpenter.k8s.aws", "AKSNodeClass", "default"));
        assert!(refused[0].contains("nodeClassRef.kind"), "{refused:?}");
        assert!(refused[0].ends_with("did you mean EC2NodeClass of karpenter.k8s.aws? [node-class-kind]"));
        let refused = errors(&pool("karpenter.sh", "EC2NodeClass", "default"));
        assert!(refused[0].contains("nodeClassRef.group"), "{refused:?}");
        assert_eq!(
            errors(&pool("karpenter.example.com", "ExampleNodeClass", "default")),
            [""; 0]
        );
    }

    #[test]
    fn v1beta1_names_the_group_with_its_version() {
        let object = json!({"spec": {"template": {"spec": {"nodeClassRef": {
            "apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClas", "name": "default",
        }}}}});
        let refused = errors_for(ApiVersion::V1Beta1, KarpenterVersion::new(1, 0, 8), &object, None);
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert!(refused[0].ends_with("[node-class-kind]"));
    }
}
