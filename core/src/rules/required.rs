//! Required fields. Of nested missing fields, only the outermost is reported.

use crate::diagnostic::{FieldPath, Origin, RuleId, Severity, Suggestion};
use crate::json::Json;
use crate::rule::Rule;

pub const RULES: &[&Rule] = &[&FIELD_REQUIRED];

pub static FIELD_REQUIRED: Rule = Rule {
    id: RuleId::new("field-required"),
    title: "Every field that the API requires is present",
    severity: Some(Severity::Error),
    origins: &[Origin::Schema],
    evidence: None,
    why: "A NodePool needs `spec.template.spec` with `requirements`, which may be an empty list, and a \
          `nodeClassRef` with `group`, `kind` and `name`; a taint needs `key` and `effect`. Manifests written \
          for v1beta1 have `apiVersion` instead of `group`, and v1 does not know that field.",
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

/// The group to write if it is missing and the manifest has it in `apiVersion`, as in v1beta1.
pub fn group_of_v1beta1(object: &Json<'_>, missed: &FieldPath) -> Option<Suggestion> {
    let api_version = missed
        .parent()
        .filter(|reference| reference.clone().key("group") == *missed)?
        .key("apiVersion");
    let (group, _) = api_version.find(object)?.as_str()?.split_once('/')?;
    let is_group = !group.is_empty() && group.len() <= 253 && !group.contains(char::is_control);
    is_group.then(|| format!("write group: {group}").into())
}
