//! The node classes that a pool may use.

use crate::diagnostic::FieldPath;
use crate::json::Json;
use crate::karpenter::{ApiVersion, NodePool};
use crate::policy::{Glob, NodeClassPattern};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static NODE_CLASS: Rule = rule!("policy-node-class", Error, [Poolgate]);

pub fn check(pool: &NodePool<'_>, allowed: &[NodeClassPattern], findings: &mut Findings<'_>) {
    let Some(reference) = pool.template.node_class_ref.present() else {
        return;
    };
    let text = |field: &str| reference.get(field).and_then(Json::as_str).unwrap_or_default();
    let group = match pool.version {
        ApiVersion::V1 => text("group"),
        ApiVersion::V1Beta1 => text("apiVersion").split('/').next().unwrap_or_default(),
    };
    let (kind, name) = (text("kind"), text("name"));
    let fits =
        |pattern: &Option<Glob>, text: &str| pattern.as_ref().is_none_or(|pattern| pattern.matches(text));
    let is_allowed = allowed
        .iter()
        .any(|pattern| fits(&pattern.group, group) && fits(&pattern.kind, kind) && fits(&pattern.name, name));
    if is_allowed {
        return;
    }
    let described: Vec<String> = allowed.iter().map(described).collect();
    let class = format!("{kind}.{group}/{name}");
    let reason = format!("the policy allows only {}", described.join(", "));
    findings.report(
        &NODE_CLASS,
        FieldPath::of(&["spec", "template", "spec", "nodeClassRef"]),
        class.as_str(),
        reason,
    );
}

/// A pattern as messages show it, in kubectl's form for objects: `KIND.GROUP/NAME`.
fn described(pattern: &NodeClassPattern) -> String {
    let part = |part: &Option<Glob>| part.as_ref().map_or("*", Glob::as_str).to_owned();
    format!(
        "{}.{}/{}",
        part(&pattern.kind),
        part(&pattern.group),
        part(&pattern.name)
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::policy::{Bounds, TemplateBounds};
    use crate::rules::policy::testing::errors;

    #[test]
    fn one_pattern_that_matches_in_all_parts_is_enough() {
        let pattern = |kind: &str, name: &str| NodeClassPattern {
            group: None,
            kind: Some(Glob::new(kind)),
            name: Some(Glob::new(name)),
        };
        let template = TemplateBounds {
            node_classes: Some(vec![
                pattern("EC2NodeClass", "prod-*"),
                pattern("KWOKNodeClass", "*"),
            ]),
            ..TemplateBounds::default()
        };
        let bounds = Bounds {
            template,
            ..Bounds::default()
        };
        let denied = |kind: &str, name: &str| {
            let reference = json!({"group": "karpenter.k8s.aws", "kind": kind, "name": name});
            let object = json!({"spec": {"template": {"spec": {"nodeClassRef": reference}}}});
            errors(bounds.clone(), &object)
        };
        assert_eq!(denied("EC2NodeClass", "prod-a"), [""; 0]);
        assert_eq!(denied("KWOKNodeClass", "any"), [""; 0]);
        assert_eq!(
            denied("EC2NodeClass", "default"),
            [
                r#"spec.template.spec.nodeClassRef: Invalid value: "EC2NodeClass.karpenter.k8s.aws/default": the policy allows only EC2NodeClass.*/prod-*, KWOKNodeClass.*/* [policy-node-class]"#
            ]
        );
    }
}
