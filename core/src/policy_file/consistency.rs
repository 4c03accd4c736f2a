//! Contradictions between the fields of a policy: a policy must be able to keep its own bounds.

use crate::diagnostic::{FieldPath, Origin, Segment, Severity};
use crate::facts::{ApiVersion, canonical_label, is_on_every_instance_type};
use crate::json::Json;
use crate::policy::record::{At, Found};
use crate::policy::{DurationBounds, Policy};
use crate::review::{Request, Subject, review_file};
use crate::rules::find;
use crate::rules::reserved_labels::reserved;
use serde_json::{Value, json};

/// The contradictions of a policy.
pub fn contradictions(document: &Value, policy: &Policy) -> Found {
    let mut found = Found::default();
    check_exemptions(policy, &mut found);
    check_provider(policy, &mut found);
    check_labels(policy, &mut found);
    let template = &policy.bounds.template;
    for (field, bounds) in [
        ("expireAfter", &template.expire_after),
        ("terminationGracePeriod", &template.termination_grace_period),
    ] {
        check_range(FieldPath::of(&["bounds", "template", field]), bounds, &mut found);
    }
    if found.0.is_empty() {
        check_defaults(document, policy, &mut found);
    }
    found
}

/// Fields that do not take effect as written.
pub fn notes(policy: &Policy) -> Found {
    let mut notes = Found::default();
    let cluster = &policy.cluster;
    if let Some(caution) = cluster.target().and_then(|karpenter| karpenter.caution()) {
        let field = match cluster.karpenter {
            Some(_) => "karpenter",
            None => "providerVersion",
        };
        notes.push(&FieldPath::of(&["cluster", field]), At::Value, &caution, None);
    }
    if let Some((provider, release)) = cluster.provider.zip(cluster.provider_version)
        && let Some(newest) = provider.newest_before(release)
    {
        let wrong = format!(
            "{} {release} is newer than any release that this poolgate knows. Labels are checked as for {newest}",
            provider.name
        );
        notes.push(
            &FieldPath::of(&["cluster", "providerVersion"]),
            At::Value,
            &wrong,
            None,
        );
    }
    for (id, level) in policy.levels.iter() {
        let kinds = find(id.as_str())
            .map(|rule| rule.page().kinds)
            .unwrap_or_default();
        let raised = kinds
            .iter()
            .filter(|kind| policy.levels.get(id, kind.origin) != Some(level));
        let when = match raised.count() {
            0 => continue,
            count if count < kinds.len() => "where",
            _ => "because",
        };
        let wrong = format!("{id} stays a warning {when} Karpenter rejects it anyway");
        notes.push(
            &FieldPath::of(&["rules"]).key(id.as_str()),
            At::Value,
            &wrong,
            None,
        );
    }
    notes
}

fn check_exemptions(policy: &Policy, found: &mut Found) {
    for (index, exemption) in policy.exemptions.iter().enumerate() {
        if exemption.pools.is_empty() && exemption.labels.is_empty() {
            let path = FieldPath::of(&["exemptions"]).index(index);
            let wrong = "this exemption selects no NodePool";
            let suggestion = "add pools or labels. For all NodePools, set the level under rules instead";
            found.push(&path, At::Value, wrong, Some(suggestion));
        }
    }
}

/// A release means nothing without its provider.
fn check_provider(policy: &Policy, found: &mut Found) {
    if policy.cluster.provider_version.is_some() && policy.cluster.provider.is_none() {
        let path = FieldPath::of(&["cluster", "providerVersion"]);
        let wrong = "providerVersion requires provider";
        found.push(&path, At::Key, wrong, Some("add provider, such as aws"));
    }
}

/// A bound that no NodePool can meet, or that every node meets anyway, only denies what is right.
fn check_labels(policy: &Policy, found: &mut Found) {
    let cluster = &policy.cluster;
    let release = cluster.target().unwrap_or_default().release();
    for (index, key) in policy.bounds.template.required_labels.iter().enumerate() {
        let label = canonical_label(key, cluster.provider);
        let wrong = match reserved(key, ApiVersion::V1, release) {
            Some(refusal) => refusal.title,
            None if is_on_every_instance_type(label, cluster.provider) => {
                "every node has this label anyway".into()
            }
            None => continue,
        };
        let path = FieldPath::of(&["bounds", "template", "requiredLabels"]).index(index);
        found.push(&path, At::Value, &wrong, Some("remove it"));
    }
}

fn check_range(path: FieldPath, bounds: &DurationBounds, found: &mut Found) {
    if let (Some(min), Some(max)) = (&bounds.min, &bounds.max)
        && min.value > max.value
    {
        let wrong = format!("min is {}, longer than max, {}", min.text, max.text);
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
    let karpenter = policy.cluster.target().unwrap_or_default();
    let report = review_file(&request, &strict, &karpenter).report;
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
        let suggestion = match finding.origin {
            Origin::Poolgate => "set defaults that satisfy the bounds".to_owned(),
            _ => format!("set defaults that Karpenter {} accepts", karpenter.release()),
        };
        found.push(&path, at, &wrong, Some(&suggestion));
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
