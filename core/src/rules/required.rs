//! Fields that must be there. Of several missing ones inside each other only the outermost is reported.

use crate::diagnostic::{FieldPath, Origin, RuleId, Severity, Suggestion};
use crate::json::Json;
use crate::rule::Rule;

pub(in crate::rules) const RULES: &[&Rule] = &[&FIELD_REQUIRED];

static FIELD_REQUIRED: Rule = Rule {
    id: RuleId::new("field-required"),
    title: "Every field that the API requires is there",
    severity: Some(Severity::Error),
    origins: &[Origin::Schema],
    evidence: None,
    why: "A NodePool needs `spec.template.spec` with `requirements`, which may be an empty list, and a \
          `nodeClassRef` of `group`, `kind` and `name`; a taint needs `key` and `effect`. Manifests written for \
          v1beta1 name the node class by `apiVersion`, which v1 does not know.",
    seen_in: &[],
    bad: "\
spec:
  template:
    spec:
      nodeClassRef:
        kind: EC2NodeClass
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

/// The group to write where it is missed, and the manifest names it the way that v1beta1 did.
pub(super) fn group_of_v1beta1(object: &Json<'_>, missed: &FieldPath) -> Option<Suggestion> {
    let api_version = missed
        .parent()
        .filter(|reference| reference.clone().key("group") == *missed)?
        .key("apiVersion");
    let (group, _) = api_version.find(object)?.as_str()?.split_once('/')?;
    let is_group = !group.is_empty() && group.len() <= 253 && !group.contains(char::is_control);
    is_group.then(|| format!("write group: {group}").into())
}
