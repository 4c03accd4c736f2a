//! Fields that must be there. Of several missing ones inside each other only the outermost is reported.

use super::findings::Findings;
use crate::diagnostic::{FieldPath, Origin, Problem, RuleId, Severity};
use crate::json::Json;
use crate::karpenter::{
    ApiVersion, Field, KarpenterVersion, NodeClaim, NodePool, Taint, Template, TemplateOwner,
};
use crate::rule::Rule;

/// The first release whose CRD demands anything; 0.32 took an empty `spec`.
const DEMANDED_SINCE: KarpenterVersion = KarpenterVersion::new(0, 33, 0);

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

pub(super) fn check_pool(pool: &NodePool<'_>, release: KarpenterVersion, findings: &mut Findings<'_>) {
    if release < DEMANDED_SINCE {
        return;
    }
    if stands(pool.object, &["spec", "template", "spec"], findings) {
        check_template(&pool.template, pool.version, findings);
    }
    check_taints(&pool.template, findings);
}

pub(super) fn check_claim(claim: &NodeClaim<'_>, release: KarpenterVersion, findings: &mut Findings<'_>) {
    if release < DEMANDED_SINCE {
        return;
    }
    if stands(claim.object, &["spec"], findings) {
        check_template(&claim.template, claim.version, findings);
    }
    check_taints(&claim.template, findings);
}

/// Whether an object is at the end of the path. Of a missing step it speaks.
fn stands(object: &Json<'_>, path: &[&'static str], findings: &mut Findings<'_>) -> bool {
    let mut value = object;
    for (position, key) in path.iter().enumerate() {
        let Some(map) = value.as_object() else {
            return false;
        };
        match map.get(key) {
            Some(Json::Null) | None => {
                let path = FieldPath::of(path.get(..=position).unwrap_or(path));
                findings.push(
                    missing(path, "nothing can be launched without it")
                        .suggest("add it, with nodeClassRef and requirements inside"),
                );
                return false;
            }
            Some(next) => value = next,
        }
    }
    value.is_object()
}

fn check_template(template: &Template<'_>, version: ApiVersion, findings: &mut Findings<'_>) {
    let owner = template.owner;
    match template.node_class_ref {
        Field::Absent => findings.push(
            missing(owner.path("nodeClassRef"), "it names what machines are made of")
                .suggest("name the group, kind and name of your node class"),
        ),
        Field::Present(reference) => {
            let demanded: &[&str] = match version {
                ApiVersion::V1 => &["group", "kind", "name"],
                ApiVersion::V1Beta1 => &["name"],
            };
            for field in demanded {
                if reference.get(field).is_none_or(Json::is_null) {
                    let suggestion = from_api_version(field, reference.get("apiVersion"))
                        .unwrap_or_else(|| format!("write the {field} of your node class"));
                    findings.push(
                        missing(
                            reference_path(owner, field),
                            "the node class cannot be found without it",
                        )
                        .suggest(suggestion),
                    );
                }
            }
        }
        Field::Mistyped => {}
    }
    if template.requirements.is_absent() {
        findings.push(
            missing(
                owner.path("requirements"),
                "the API demands the list, though it may be empty",
            )
            .suggest("write requirements: []"),
        );
    }
}

/// The group to write, where the manifest names it the way that v1beta1 did.
fn from_api_version(field: &str, api_version: Option<&Json<'_>>) -> Option<String> {
    let (group, _) = api_version
        .filter(|_| field == "group")?
        .as_str()?
        .split_once('/')?;
    let is_group = !group.is_empty() && group.len() <= 253 && !group.contains(char::is_control);
    is_group.then(|| format!("write group: {group}"))
}

fn reference_path(owner: TemplateOwner, field: &str) -> FieldPath {
    owner.path("nodeClassRef").key(field.to_owned())
}

fn check_taints(template: &Template<'_>, findings: &mut Findings<'_>) {
    for taint in all_taints(template) {
        if taint.key.is_absent() {
            findings.push(
                missing(taint.path("key"), "a taint needs a key")
                    .suggest("write one such as example.com/team"),
            );
        }
        if taint.effect.is_absent() {
            findings.push(
                missing(taint.path("effect"), "a taint needs an effect")
                    .suggest("write NoSchedule, PreferNoSchedule or NoExecute"),
            );
        }
    }
}

/// The taints of both lists.
pub(super) fn all_taints<'t, 'v>(template: &'t Template<'v>) -> impl Iterator<Item = &'t Taint<'v>> {
    let list = |taints: &'t Field<Vec<Taint<'v>>>| taints.as_ref().present().into_iter().flatten();
    list(&template.taints).chain(list(&template.startup_taints))
}

fn missing(path: FieldPath, reason: &str) -> crate::diagnostic::Diagnostic {
    FIELD_REQUIRED.finding(path, Problem::Required, reason)
}
