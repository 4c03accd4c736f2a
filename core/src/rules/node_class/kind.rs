//! Whether group and kind of `nodeClassRef` are those of a provider's node class.

use super::{group_field, path, text};
use crate::diagnostic::Suggestion;
use crate::json::Object;
use crate::karpenter::{NodeClassKind, NodeClassMismatch, Template};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static NODE_CLASS_KIND: Rule = rule!("node-class-kind", Error, [Silent], Shown);
pub static NODE_CLASS_FORK: Rule = rule!("node-class-fork", Warning, [Silent], Shown);

pub fn check(group: &str, reference: &Object<'_>, template: &Template<'_>, findings: &mut Findings<'_>) {
    let Some(kind) = text(reference, "kind") else {
        return;
    };
    let Some(mismatch) = NodeClassKind::mismatch(group, kind) else {
        return;
    };
    let policy = findings.context.policy;
    let mut allowed = policy.bounds.template.node_classes.iter().flatten();
    if allowed.any(|pattern| pattern.names(group, kind)) {
        return;
    }
    let group_field = group_field(template.version);
    let (rule, likely, reason) = match mismatch {
        NodeClassMismatch::Slip(likely) => (
            &NODE_CLASS_KIND,
            likely,
            "no provider has a node class of this group and kind, so Karpenter would silently ignore the pool",
        ),
        NodeClassMismatch::Fork(likely) => (
            &NODE_CLASS_FORK,
            likely,
            "unless a provider of this group has the kind, Karpenter silently ignores the pool",
        ),
    };
    let (field, value, other) = if likely.group == group {
        ("kind", kind, group_field)
    } else {
        (group_field, group, "kind")
    };
    findings
        .report(rule, path(field), value, reason)
        .related(path(other))
        .suggest(Suggestion::did_you_mean(format_args!(
            "{} of {}",
            likely.kind, likely.group
        )));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::json::Json;
    use crate::karpenter::{ApiVersion, KarpenterVersion};
    use crate::policy::{Glob, NodeClassPattern, Policy};
    use crate::review::{Request, Subject, review};
    use crate::rules::node_class::testing::pool;
    use crate::rules::testing::{completed, errors, errors_for, warnings};

    #[test]
    fn a_kind_of_another_provider_is_denied_and_an_unknown_one_is_not() {
        let denied = errors(&pool("karpenter.k8s.aws", "AKSNodeClass", "default"));
        assert!(denied[0].contains("nodeClassRef.kind"), "{denied:?}");
        assert!(denied[0].ends_with("did you mean EC2NodeClass of karpenter.k8s.aws? [node-class-kind]"));
        let denied = errors(&pool("karpenter.sh", "EC2NodeClass", "default"));
        assert!(denied[0].contains("nodeClassRef.group"), "{denied:?}");
        assert_eq!(
            errors(&pool("karpenter.example.com", "ExampleNodeClass", "default")),
            [""; 0]
        );
    }

    #[test]
    fn a_fork_gets_a_warning_unless_the_policy_names_it() {
        let object = pool("karpenter.example.com", "EC2NodeClass", "default");
        let warned = warnings(&object);
        assert_eq!(warned.len(), 1, "{warned:?}");
        assert!(warned[0].ends_with("did you mean EC2NodeClass of karpenter.k8s.aws? [node-class-fork]"));
        let named = |group: Option<&str>| {
            let mut policy = Policy::default();
            policy.bounds.template.node_classes = Some(vec![NodeClassPattern {
                group: group.map(Glob::new),
                kind: Some(Glob::new("EC2NodeClass")),
                name: None,
            }]);
            let object = completed(Subject::NodePool(ApiVersion::V1), &object);
            let request = Request {
                subject: Subject::NodePool(ApiVersion::V1),
                object: &Json::from(&object),
                old: None,
                claims: None,
                at: jiff::Timestamp::default(),
            };
            let report = review(&request, &policy, &KarpenterVersion::NEWEST.into()).report;
            report.diagnostics().len()
        };
        assert_eq!(named(Some("karpenter.example.com")), 0);
        assert_eq!(named(None), 1, "any group is not this group");
    }

    #[test]
    fn v1beta1_names_the_group_with_its_version() {
        let object = json!({"spec": {"template": {"spec": {"nodeClassRef": {
            "apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClas", "name": "default",
        }}}}});
        let denied = errors_for(ApiVersion::V1Beta1, KarpenterVersion::new(1, 0, 8), &object, None);
        assert_eq!(denied.len(), 1, "{denied:?}");
        assert!(denied[0].ends_with("[node-class-kind]"));
    }
}
