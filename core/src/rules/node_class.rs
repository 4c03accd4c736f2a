//! `nodeClassRef`: the node class.
//!
//! Each string is checked on its own first, and the valid ones are then checked together.

use super::findings::Findings;
use crate::diagnostic::{FieldPath, Origin, Suggestion, quoted};
use crate::facts::{ApiVersion, KarpenterVersion, NODE_CLASSES, NodeClassKind, NodeClassMismatch, Provider};
use crate::json::{Json, Object};
use crate::policy::Policy;
use crate::pool::Template;
use crate::rules::rule::Rule;
use crate::value::label::{
    NO_OBJECT_NAME, corrected_object_name, is_object_name, labelled_name, qualified_name,
};

pub static NODE_CLASS_REF: Rule = rule!("node-class-ref", Error, Silent);
pub static NODE_CLASS_KIND: Rule = rule!("node-class-kind", Error, Silent);
pub static NODE_CLASS_FORK: Rule = rule!("node-class-fork", Warning, Silent);
pub static NODE_CLASS_IMMUTABLE: Rule = rule!("node-class-immutable", Error, Schema);

pub fn check(template: &Template<'_>, old: Option<&Template<'_>>, findings: &mut Findings<'_>) {
    let Some(reference) = template.node_class_ref.present() else {
        return;
    };
    let release = findings.context.release;
    let is_valid = check_texts(reference, template, findings);
    check_name(reference, template, findings);
    if is_valid && let Some(group) = template.node_class_group() {
        check_kind(group, reference, template, findings);
        if release.has(KarpenterVersion::NODE_CLASS_LABELLED) {
            check_label_key(template, findings);
        }
    }
    if template.version == ApiVersion::V1
        && release.has(KarpenterVersion::NODE_CLASS_FIXED)
        && let Some(old) = old.and_then(|old| old.node_class_ref.present())
    {
        check_unchanged(reference, old, findings);
    }
}

fn path(field: &'static str) -> FieldPath {
    Template::path("nodeClassRef").key(field)
}

fn text<'v>(reference: &'v Object<'v>, field: &str) -> Option<&'v str> {
    reference.get(field).and_then(Json::as_str)
}

/// The field that names the group.
fn group_field(version: ApiVersion) -> &'static str {
    match version {
        ApiVersion::V1 => "group",
        ApiVersion::V1Beta1 => "apiVersion",
    }
}

/// Checks each string on its own. Returns whether group and kind can be checked together.
fn check_texts(reference: &Object<'_>, template: &Template<'_>, findings: &mut Findings<'_>) -> bool {
    // In v1beta1 an empty text is the same as a missing one, and the group is an apiVersion.
    if template.version == ApiVersion::V1Beta1 {
        return true;
    }
    let mut is_valid = true;
    // CEL rules reject empty texts, and they are not in the table.
    let rejects_empty = findings
        .context
        .release
        .has(KarpenterVersion::NODE_CLASS_NOT_EMPTY);
    let mut found = |field, value: &str, title: &str, suggestion: Option<Suggestion>| {
        is_valid = false;
        let path = path(field);
        let is_rejected = (value.is_empty() && rejects_empty) || findings.context.crd_rejects(&path, value);
        let finding = findings
            .report(&NODE_CLASS_REF, path, value, title)
            .suggest_if_known(suggestion);
        if is_rejected {
            finding.origin(Origin::Schema);
        } else {
            finding.consequence("Karpenter would find no node class");
        }
    };
    for field in ["group", "kind", "name"] {
        if let Some(value) = text(reference, field).filter(|value| value.is_empty()) {
            found(
                field,
                value,
                "a reference to a node class must not have empty fields",
                None,
            );
        }
    }
    if let Some(group) = text(reference, "group").filter(|group| group.contains('/')) {
        let bare = group
            .split('/')
            .next()
            .filter(|bare| !bare.is_empty() && bare.len() <= 253);
        let suggestion = bare.map(|bare| {
            if is_object_name(bare) {
                Suggestion::write(bare)
            } else {
                format!("write {}", bare.escape_debug()).into()
            }
        });
        let title = "a group must not contain a slash or a version";
        found("group", group, title, suggestion);
    }
    is_valid
}

/// Checks the name: as that of an object, and as the value of the label that Karpenter makes of the reference.
fn check_name(reference: &Object<'_>, template: &Template<'_>, findings: &mut Findings<'_>) {
    let Some(name) = text(reference, "name") else {
        return;
    };
    let has_label = findings
        .context
        .release
        .has(KarpenterVersion::NODE_CLASS_LABELLED);
    let (title, consequence, suggestion) = match labelled_name(name) {
        // The CRD of v1 requires a name.
        Ok(()) if name.is_empty() && template.version == ApiVersion::V1 => return,
        Ok(()) if name.is_empty() => ("a node class requires a name".into(), None, None),
        Ok(()) if is_object_name(name) => return,
        Ok(()) => (NO_OBJECT_NAME.into(), None, corrected_object_name(name)),
        Err(error) if has_label => {
            let consequence = "Karpenter writes the name into a label of every NodeClaim, which the API server then rejects";
            (error.to_string(), Some(consequence), None)
        }
        Err(_) => return,
    };
    let finding = findings
        .report(&NODE_CLASS_REF, path("name"), name, title)
        .suggest_if_known(suggestion.map(Suggestion::did_you_mean));
    if let Some(consequence) = consequence {
        finding.consequence(consequence);
    }
}

/// Checks group and kind as the key of the label.
fn check_label_key(template: &Template<'_>, findings: &mut Findings<'_>) {
    let Some(label) = template.node_class_label() else {
        return;
    };
    let title = match qualified_name(&label) {
        Err(error) => error.to_string(),
        Ok(()) if label.len() > findings.context.longest_key => format!(
            "group and kind form a label of {} bytes, but the maximum is {}",
            label.len(),
            findings.context.longest_key
        ),
        Ok(()) => return,
    };
    let group = template.node_class_group().unwrap_or_default();
    findings
        .report(&NODE_CLASS_REF, path(group_field(template.version)), group, title)
        .consequence("Karpenter makes group and kind the key of a label on every NodeClaim")
        .related(path("kind"));
}

/// Checks that a provider's node class has this group and kind.
fn check_kind(group: &str, reference: &Object<'_>, template: &Template<'_>, findings: &mut Findings<'_>) {
    let Some(kind) = text(reference, "kind") else {
        return;
    };
    let policy = findings.context.policy;
    let is_allowed = || {
        let mut allowed = policy.bounds.template.node_classes.iter().flatten();
        allowed.any(|pattern| pattern.names(group, kind))
    };
    let group_field = group_field(template.version);
    if let Some(declared) = declared_sibling(group, policy).filter(|_| !is_allowed()) {
        let written = Provider::of_group(group).map_or(group, |provider| provider.name);
        let mut classes = NODE_CLASSES.iter();
        let class = classes.find(|class| class.group == declared.group);
        let title = format!(
            "{}, the provider in the policy, has another node class",
            declared.name
        );
        findings
            .report(&NODE_CLASS_FORK, path(group_field), group, title)
            .consequence(format!(
                "the pool is ignored unless Karpenter for {written} runs as well"
            ))
            .related(path("kind"))
            .suggest_if_known(
                class.map(|class| format!("write group: {} and kind: {}", class.group, class.kind)),
            );
        return;
    }
    let Some(mismatch) = NodeClassKind::mismatch(group, kind).filter(|_| !is_allowed()) else {
        return;
    };
    let (rule, likely, title, consequence) = match mismatch {
        NodeClassMismatch::Slip(likely) => (
            &NODE_CLASS_KIND,
            likely,
            "no provider has a node class of this group and kind",
            "Karpenter would silently ignore the pool",
        ),
        NodeClassMismatch::Fork(likely) => (
            &NODE_CLASS_FORK,
            likely,
            "poolgate knows no provider with this node class",
            "Karpenter silently ignores the pool unless a provider has this node class",
        ),
    };
    let (field, value, other) = if likely.group == group {
        ("kind", kind, group_field)
    } else {
        (group_field, group, "kind")
    };
    findings
        .report(rule, path(field), value, title)
        .consequence(consequence)
        .related(path(other))
        .suggest(Suggestion::did_you_mean(format_args!(
            "{} of {}",
            likely.kind, likely.group
        )));
}

/// The provider that the policy declares, if a node class of this group is of another one with the same machines: EKS Auto
/// Mode has those of AWS.
fn declared_sibling(group: &str, policy: &Policy) -> Option<&'static Provider> {
    let declared = policy.cluster.provider?;
    (declared.machines_of == Some(group)).then_some(declared)
}

/// The help for a label of a provider in a pool with the node class of another one with the same machines: the class is the
/// mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrongClass {
    /// The policy says so, and the class is reported.
    Declared,
    /// It may be so.
    Possible,
}

impl WrongClass {
    /// Of a label of `owner`; `None` if the class is not of another provider with the same machines.
    pub fn of(owner: &Provider, group: Option<&str>, policy: &Policy) -> Option<Self> {
        let group = group.filter(|group| owner.machines_of == Some(group))?;
        if declared_sibling(group, policy).is_some() {
            return Some(Self::Declared);
        }
        policy.cluster.provider.is_none().then_some(Self::Possible)
    }
}

/// Reports the fields that an update may not change.
fn check_unchanged(reference: &Object<'_>, old: &Object<'_>, findings: &mut Findings<'_>) {
    for field in ["group", "kind"] {
        let (Some(before), Some(now)) = (text(old, field), text(reference, field)) else {
            continue;
        };
        if before != now {
            let title = format!("{field} cannot be changed from {}", quoted(before));
            findings
                .report(&NODE_CLASS_IMMUTABLE, path(field), now, title)
                .suggest("create a new NodePool and delete this one");
        }
    }
}
