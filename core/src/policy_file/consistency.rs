//! Contradictions between the fields of a policy: a policy must be able to keep its own bounds.

use crate::diagnostic::{FieldPath, Segment, Severity};
use crate::json::Json;
use crate::karpenter::{ApiVersion, TargetKarpenter};
use crate::policy::{DurationBounds, Policy};
use crate::review::{Request, Subject, review};
use serde_json::{Value, json};

use super::mistakes::{At, Found};

/// The fields under `defaults`.
const DEFAULTS: [&str; 4] = [
    "budgets",
    "consolidationPolicy",
    "consolidateAfter",
    "nodeLimitMode",
];

/// Notes what contradicts itself.
pub fn check(document: &Value, policy: &Policy, found: &mut Found) {
    check_windows(document, found);
    check_exemptions(policy, found);
    check_provider(policy, found);
    let template = &policy.bounds.template;
    for (field, bounds) in [
        ("expireAfter", &template.expire_after),
        ("terminationGracePeriod", &template.termination_grace_period),
    ] {
        check_range(FieldPath::of(&["bounds", "template", field]), bounds, found);
    }
    if found.is_empty() {
        check_defaults(document, policy, found);
    }
}

/// The fields under `defaults` that a document sets.
pub fn defaults_set(document: &Value) -> Vec<&'static str> {
    let is_set = |field: &&'static str| FieldPath::of(&["defaults", field]).find_value(document).is_some();
    DEFAULTS.into_iter().filter(is_set).collect()
}

/// A default budget has both schedule and duration or neither. The rules for NodePools check this as well, but half a
/// window never reaches them.
fn check_windows(document: &Value, found: &mut Found) {
    let budgets = FieldPath::of(&["defaults", "budgets"]);
    let listed = budgets.find_value(document).and_then(Value::as_array);
    for (index, budget) in listed.into_iter().flatten().enumerate() {
        let is_absent = |field: &str| budget.get(field).is_none_or(Value::is_null);
        let missing = match (is_absent("schedule"), is_absent("duration")) {
            (true, false) => "schedule",
            (false, true) => "duration",
            _ => continue,
        };
        let path = budgets.clone().index(index).key(missing);
        let wrong = format!("{missing} is missing: a window needs a start and a length");
        found.push(
            &path,
            At::Value,
            &wrong,
            Some("add it, or leave out the other one"),
        );
    }
}

fn check_exemptions(policy: &Policy, found: &mut Found) {
    for (index, exemption) in policy.exemptions.iter().enumerate() {
        if exemption.pools.is_empty() && exemption.labels.is_empty() {
            let path = FieldPath::of(&["exemptions"]).index(index);
            let wrong = "this exemption selects no NodePool";
            let suggestion = "add pools or labels; for all of them, set the level under rules instead";
            found.push(&path, At::Value, wrong, Some(suggestion));
        }
    }
}

/// A release without its provider says nothing.
fn check_provider(policy: &Policy, found: &mut Found) {
    if policy.cluster.provider_version.is_some() && policy.cluster.provider.is_none() {
        let path = FieldPath::of(&["cluster", "providerVersion"]);
        let wrong = "providerVersion without provider";
        found.push(&path, At::Key, wrong, Some("add provider, such as aws"));
    }
}

fn check_range(path: FieldPath, bounds: &DurationBounds, found: &mut Found) {
    if let (Some(min), Some(max)) = (&bounds.min, &bounds.max)
        && min.value > max.value
    {
        let wrong = format!(
            "the shortest, {}, is longer than the longest, {}",
            min.text, max.text
        );
        found.push(&path.key("min"), At::Value, &wrong, None);
    }
}

/// A NodePool that leaves everything to the defaults must not be denied for them.
fn check_defaults(document: &Value, policy: &Policy, found: &mut Found) {
    let defaults = &policy.defaults;
    let pool = json!({"spec": {"disruption": {
        "budgets": defaults.budgets,
        "consolidationPolicy": defaults.consolidation_policy,
        "consolidateAfter": defaults.consolidate_after,
        "nodeLimitMode": defaults.node_limit_mode.as_str(),
    }}});
    let strict = Policy {
        bounds: policy.bounds.clone(),
        ..Policy::default()
    };
    let request = Request {
        subject: Subject::NodePool(ApiVersion::V1),
        object: &Json::from(&pool),
        old: None,
        claims: None,
        at: jiff::Timestamp::default(),
    };
    let report = review(&request, &strict, &TargetKarpenter::default()).report;
    for finding in report.with_severity(Severity::Error) {
        let [Segment::Key(spec), Segment::Key(disruption), inside @ ..] = finding.path.segments() else {
            continue;
        };
        if spec != "spec" || disruption != "disruption" {
            continue;
        }
        let root = [Segment::Key("defaults".into())];
        let path: FieldPath = root.into_iter().chain(inside.iter().cloned()).collect();
        let (path, at, whose) = if is_set(inside, document) {
            (path, At::Value, "the defaults")
        } else {
            (FieldPath::of(&["bounds"]), At::Key, "the built-in defaults")
        };
        let wrong = format!("a NodePool with {whose} would be denied: {}", finding.message());
        let suggestion = "set defaults that satisfy the bounds";
        found.push(&path, at, &wrong, Some(suggestion));
    }
}

/// Whether the document has a value of its own for the first of these steps under `defaults`.
fn is_set(inside: &[Segment], document: &Value) -> bool {
    let Some(Segment::Key(field)) = inside.first() else {
        return false;
    };
    FieldPath::of(&["defaults"])
        .key(field.clone())
        .find_value(document)
        .is_some()
}
