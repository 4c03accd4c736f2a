//! Checks the kinds beside NodePool and NodeClaim that Karpenter reads, as their definitions and its own validation do.

use super::findings::Findings;
use crate::diagnostic::{ErrorType, FieldPath, Origin, Suggestion, nearest};
use crate::facts::shape::ConstraintKind;
use crate::facts::{CAPACITY_TYPE_LABEL, GROUP, HOSTNAME_LABEL, NODEPOOL_LABEL, Operator, OtherKind};
use crate::json::Json;
use crate::pool::{SchemaViolation, violations};
use crate::rules::rule::Rule;
use crate::value::label::domain_of;

pub static NODE_OVERLAY: Rule = rule!("node-overlay", Error, Schema);
pub static CAPACITY_BUFFER: Rule = rule!("capacity-buffer", Error, Schema);

/// Resources that an overlay cannot set.
// karpenter: pkg/apis/v1/labels.go WellKnownResources
const PROVIDERS_OWN: [&str; 4] = ["cpu", "memory", "ephemeral-storage", "pods"];

/// Checks an object of this kind.
pub fn check(object: &Json<'_>, kind: OtherKind, findings: &mut Findings<'_>) {
    let rule = match kind {
        OtherKind::NodeOverlay => &NODE_OVERLAY,
        OtherKind::CapacityBuffer => &CAPACITY_BUFFER,
    };
    check_fields(object, kind, rule, findings);
    let Some(spec) = object.get("spec").filter(|spec| spec.is_object()) else {
        return;
    };
    check_texts(spec, &FieldPath::of(&["spec"]), rule, findings);
    match kind {
        OtherKind::NodeOverlay => check_overlay(spec, findings),
        OtherKind::CapacityBuffer => check_buffer(spec, findings),
    }
}

/// Checks each field by itself.
fn check_fields(object: &Json<'_>, kind: OtherKind, rule: &'static Rule, findings: &mut Findings<'_>) {
    let (_, _, name) = kind.named();
    violations(
        object,
        kind.shape(),
        (findings.context.release, &[]),
        &mut |violation| match violation {
            SchemaViolation::Mistyped {
                path,
                value,
                expected,
            } => {
                let title = format!("the value must be {expected}");
                findings.report(rule, path, ErrorType::mistyped(value), title);
            }
            SchemaViolation::Unknown {
                path,
                name: field,
                known,
            } => {
                let likely = nearest(field, known.iter().map(|(known, _)| *known));
                findings
                    .report(
                        rule,
                        path,
                        ErrorType::Unknown,
                        format!("{name} has no such field"),
                    )
                    .consequence("kubectl rejects the field, and other clients silently drop it")
                    .suggest_if_known(likely.map(Suggestion::did_you_mean));
            }
            SchemaViolation::UnknownToo { path, count } => {
                let title = format!("{name} does not have {count} more fields here");
                findings.report(rule, path, ErrorType::Unknown, title);
            }
            SchemaViolation::Unmet {
                path,
                value,
                constraint,
            } => unmet(rule, path, value, &constraint.kind, findings),
        },
    );
}

fn unmet(
    rule: &'static Rule,
    path: FieldPath,
    value: &Json<'_>,
    constraint: &ConstraintKind,
    findings: &mut Findings<'_>,
) {
    let text = value.as_str().unwrap_or_default();
    match constraint {
        ConstraintKind::Present => {
            findings.report(rule, path, ErrorType::Required, "the field is required");
        }
        ConstraintKind::Within(range) => {
            let title = format!("the number must be from {} to {}", range.start(), range.end());
            findings.report(rule, path, value, title);
        }
        ConstraintKind::AtMost(most) if value.as_array().is_some() => {
            let actual = value.as_array().map_or(0, <[_]>::len);
            let title = format!("at most {most} entries are allowed");
            findings.report(rule, path, ErrorType::TooMany { actual }, title);
        }
        ConstraintKind::OneOf(words) => {
            findings.unsupported(rule, path, text, words, "there is no such word");
        }
        // Texts are compared by themselves.
        ConstraintKind::AtMost(_)
        | ConstraintKind::AtLeast(_)
        | ConstraintKind::Matches(_)
        | ConstraintKind::Default(_) => {}
    }
}

/// Checks the texts of an object that have a form.
fn check_texts(value: &Json<'_>, at: &FieldPath, rule: &'static Rule, findings: &mut Findings<'_>) {
    match value {
        Json::Object(fields) => {
            for (field, value) in fields {
                check_texts(value, &at.clone().key(field.to_owned()), rule, findings);
            }
        }
        Json::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                check_texts(value, &at.clone().index(index), rule, findings);
            }
        }
        Json::String(text) if findings.context.crd_rejects(at, text) => {
            let path = at.without_positions();
            // Another check says which words there are.
            if path != "spec.requirements[].operator" {
                let (title, advice) = form_of(&path);
                findings.report(rule, at.clone(), &**text, title).suggest(advice);
            }
        }
        _ => {}
    }
}

/// What a text at a path must be like, and what to write.
fn form_of(path: &str) -> (&'static str, &'static str) {
    match path {
        "spec.price" => (
            "a price is a number without sign",
            "write the dollars for an hour, such as 1.25",
        ),
        "spec.priceAdjustment" => (
            "an adjustment is a signed number, or a signed percentage of at least -100%",
            "write such as -10%, +10% or -0.5",
        ),
        "spec.podTemplateRef.name" | "spec.scalableRef.name" | "spec.scalableRef.kind" => {
            ("the text must not be empty", "write what it refers to")
        }
        "spec.requirements[].key" => (
            "a key is the name of a label",
            "write such as karpenter.sh/capacity-type",
        ),
        _ => (
            "the value must be a quantity",
            "write a number with a suffix, such as 2 or 100Gi",
        ),
    }
}

fn has(spec: &Json<'_>, field: &str) -> bool {
    spec.get(field).is_some_and(|value| !value.is_null())
}

/// Reports two fields of a `spec` that have both a value, at the second one.
fn exclude_each_other(rule: &'static Rule, [first, second]: [&'static str; 2], findings: &mut Findings<'_>) {
    let title = format!("{first} and {second} cannot both be set");
    findings
        .report(rule, path(second), ErrorType::showing("[…]"), title)
        .related(path(first))
        .suggest("remove one of them");
}

/// What several fields of an overlay say together.
// karpenter: pkg/apis/v1alpha1/nodeoverlay.go NodeOverlaySpec
// karpenter: pkg/apis/v1alpha1/nodeoverlay_validation.go NodeOverlaySpec.validateRequirements
// karpenter: pkg/apis/v1alpha1/nodeoverlay_validation.go NodeOverlaySpec.validateCapacity
fn check_overlay(spec: &Json<'_>, findings: &mut Findings<'_>) {
    if has(spec, "price") && has(spec, "priceAdjustment") {
        exclude_each_other(&NODE_OVERLAY, ["price", "priceAdjustment"], findings);
    }
    for (resource, _) in spec
        .get("capacity")
        .and_then(Json::as_object)
        .into_iter()
        .flatten()
    {
        if PROVIDERS_OWN.contains(&resource) {
            let title = "only the provider sets the capacity of this resource";
            let at = path("capacity").key(resource.to_owned());
            findings
                .report(&NODE_OVERLAY, at, resource, title)
                .suggest("remove it");
        }
    }
    let requirements = spec.get("requirements").and_then(Json::as_array);
    for (index, requirement) in requirements.into_iter().flatten().enumerate() {
        check_requirement(requirement, &path("requirements").index(index), findings);
    }
}

fn check_requirement(requirement: &Json<'_>, at: &FieldPath, findings: &mut Findings<'_>) {
    let text = |field: &str| requirement.get(field).and_then(Json::as_str);
    if let Some(key) = text("key").filter(|key| is_restricted(key)) {
        let title = "Karpenter sets this label itself, so no overlay can require it";
        findings.report(&NODE_OVERLAY, at.clone().key("key"), key, title);
    }
    let values: Vec<&Json<'_>> = requirement
        .get("values")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .collect();
    let Some(operator) = text("operator").and_then(Operator::parse) else {
        return;
    };
    let is_number = |value: &&Json<'_>| {
        let text = value.as_str().unwrap_or_default();
        text.parse::<u32>().is_ok_and(|_| !text.starts_with('+'))
    };
    let title = match operator {
        Operator::In | Operator::NotIn if values.is_empty() => "In and NotIn require values",
        _ if operator.is_numeric() && !(values.len() == 1 && values.iter().all(is_number)) => {
            "Gt, Lt, Gte and Lte require one whole number, not below 0"
        }
        _ => return,
    };
    findings.report(
        &NODE_OVERLAY,
        at.clone().key("values"),
        ErrorType::showing("[…]"),
        title,
    );
}

/// Whether an overlay cannot require a label.
fn is_restricted(key: &str) -> bool {
    let is_allowed = [CAPACITY_TYPE_LABEL, NODEPOOL_LABEL].contains(&key);
    key == HOSTNAME_LABEL || !is_allowed && domain_of(key).ends_with(GROUP)
}

/// What several fields of a buffer say together.
// karpenter: pkg/apis/autoscaling/v1beta1/capacitybuffer.go CapacityBufferSpec
// karpenter: pkg/controllers/capacitybuffer/controller.go Controller.Reconcile
fn check_buffer(spec: &Json<'_>, findings: &mut Findings<'_>) {
    match (has(spec, "podTemplateRef"), has(spec, "scalableRef")) {
        (true, true) => exclude_each_other(&CAPACITY_BUFFER, ["podTemplateRef", "scalableRef"], findings),
        (true, false) if !has(spec, "replicas") && !has(spec, "limits") => {
            let title = "a buffer of a pod template requires replicas or limits";
            findings
                .report(&CAPACITY_BUFFER, path("replicas"), ErrorType::Required, title)
                .suggest("add replicas: 1");
        }
        (false, false) => {
            let title = "a buffer requires podTemplateRef or scalableRef";
            findings
                .report(
                    &CAPACITY_BUFFER,
                    path("podTemplateRef"),
                    ErrorType::Required,
                    title,
                )
                .origin(Origin::Runtime)
                .consequence("Karpenter keeps no room for it");
        }
        _ => {}
    }
}

fn path(field: &'static str) -> FieldPath {
    FieldPath::of(&["spec", field])
}
