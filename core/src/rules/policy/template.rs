//! Bounds on the template: labels, capacity types, node classes, and how long nodes live and drain.

use std::collections::HashSet;
use std::time::Duration;

use crate::diagnostic::{ErrorType, FieldPath, first_few, quoted};
use crate::facts::shape::CAPACITY_TYPES;
use crate::facts::{ApiVersion, CAPACITY_TYPE_LABEL, Operator, ProviderSettings, Selection};
use crate::json::Json;
use crate::policy::{DurationBounds, Glob, NodeClassPattern, TemplateBounds};
use crate::pool::{Field, NodePool, Requirement, Template};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;
use crate::value::duration::GoDuration;

/// How many forbidden capacity types are shown: an object can hold any number of them.
const MOST_SHOWN: usize = 3;

pub static TEMPLATE_LABELS: Rule = rule!("policy-template-labels", Error, Poolgate);
pub static CAPACITY_TYPE: Rule = rule!("policy-capacity-type", Error, Poolgate);
pub static NODE_CLASS: Rule = rule!("policy-node-class", Error, Poolgate);
pub static EXPIRE_AFTER: Rule = rule!("policy-expire-after", Error, Poolgate);
pub static TERMINATION_GRACE_PERIOD: Rule = rule!("policy-termination-grace-period", Error, Poolgate);

pub fn check(pool: &NodePool<'_>, bounds: &TemplateBounds, findings: &mut Findings<'_>) {
    check_labels(pool, &bounds.required_labels, findings);
    if let Some(allowed) = &bounds.capacity_types {
        check_capacity_type(pool, allowed, findings);
    }
    if let Some(allowed) = &bounds.node_classes {
        check_node_class(pool, allowed, findings);
    }
    check_lifetime(pool, bounds, findings);
}

fn check_labels(pool: &NodePool<'_>, required: &[String], findings: &mut Findings<'_>) {
    let labels = match pool.template.labels {
        Field::Mistyped | Field::Beyond => return,
        labels => labels.present(),
    };
    for key in required {
        let is_label = labels.is_some_and(|labels| labels.get(key).is_some_and(|value| !value.is_null()));
        if is_label || is_required(pool, key) {
            continue;
        }
        let path = Template::labels_path().key(key.clone());
        let reason = "the policy requires this label on every node";
        findings
            .report(&TEMPLATE_LABELS, path, ErrorType::Required, reason)
            .suggest(format!("add the label {key}"))
            .related(Template::requirements_path());
    }
}

/// True if a requirement puts the label on every node.
fn is_required(pool: &NodePool<'_>, key: &str) -> bool {
    pool.template.requirements().iter().any(|requirement| {
        requirement.key == Field::Present(key) && requirement.operator == Field::Present("In")
    })
}

fn check_capacity_type(pool: &NodePool<'_>, allowed: &[String], findings: &mut Findings<'_>) {
    if matches!(pool.template.requirements, Field::Mistyped) {
        return;
    }
    let label = match pool.template.labels {
        Field::Mistyped | Field::Beyond => return,
        labels => labels
            .present()
            .and_then(|labels| labels.get(CAPACITY_TYPE_LABEL)?.as_str()),
    };
    let known = CAPACITY_TYPES.words(findings.context.release);
    let usable = usable(pool, label, known);
    let forbidden: Vec<&str> = usable
        .into_iter()
        .filter(|capacity| !allowed.iter().any(|allowed| allowed == capacity))
        .collect();
    let Some(first) = forbidden.first() else { return };
    let label_path = Template::labels_path().key(CAPACITY_TYPE_LABEL);
    let requirements_path = Template::requirements_path();
    let (path, related, suggestion) = if label.is_some_and(|label| forbidden.contains(&label)) {
        let suggestion = format!("write {}", allowed.join(" or "));
        (label_path, requirements_path, suggestion)
    } else {
        let suggestion = format!("require {CAPACITY_TYPE_LABEL} In [{}]", allowed.join(", "));
        (requirements_path, label_path, suggestion)
    };
    let says = pool.template.requirements().iter().any(is_about_capacity) || label.is_some();
    let error_type = if says {
        ErrorType::from(*first)
    } else {
        ErrorType::Required
    };
    let title = if says {
        let forbidden = forbidden.iter().map(|word| quoted(word));
        format!("the pool may use {}", first_few(forbidden, MOST_SHOWN))
    } else {
        "the pool may use every capacity type".to_owned()
    };
    findings
        .report(&CAPACITY_TYPE, path, error_type, title)
        .consequence(format!("the policy allows only {}", listed(allowed)))
        .suggest(suggestion)
        .related(related);
}

fn is_about_capacity(requirement: &Requirement<'_>) -> bool {
    requirement.key == Field::Present(CAPACITY_TYPE_LABEL)
}

/// The capacity types, of those that the release knows, that satisfy all requirements and the label, in the order of the object. Empty if they
/// contradict each other: then the pool never gets a node, which this rule does not report.
fn usable<'v>(pool: &'v NodePool<'v>, label: Option<&'v str>, known: &[&'v str]) -> Vec<&'v str> {
    let requirements = pool.template.requirements().iter();
    let own = requirements.filter(|requirement| is_about_capacity(requirement));
    let label_alone = label.map(|label| Selection::new(Operator::In, &[label]));
    let allowed = Selection::all(own.clone().filter_map(Requirement::selection).chain(label_alone));
    let mut list = own.filter(|requirement| requirement.operator == Field::Present("In"));
    let mut usable: Vec<&str> = match (list.next(), label) {
        // A list that is too long to be read may have any of them.
        (Some(list), _) if list.values == Field::Beyond => known.to_vec(),
        (Some(list), _) => {
            let values = list.values.present().into_iter().flatten();
            values.filter_map(Json::as_str).collect()
        }
        (None, Some(label)) => vec![label],
        (None, None) => known.to_vec(),
    };
    let mut seen = HashSet::new();
    usable.retain(|value| allowed.has(value) && seen.insert(*value));
    usable
}

/// The words, joined with commas and `or`.
fn listed<T: AsRef<str>>(words: &[T]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => "nothing".into(),
    }
}

fn check_node_class(pool: &NodePool<'_>, allowed: &[NodeClassPattern], findings: &mut Findings<'_>) {
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
    findings
        .report(
            &NODE_CLASS,
            FieldPath::of(&["spec", "template", "spec", "nodeClassRef"]),
            class.as_str(),
            "the policy does not allow this node class",
        )
        .consequence(format!("the policy allows only {}", described.join(", ")));
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

/// The value for no end.
const NEVER: &str = "Never";

fn check_lifetime(pool: &NodePool<'_>, bounds: &TemplateBounds, findings: &mut Findings<'_>) {
    let provider = findings.context.provider_of(&pool.template);
    let own = |setting: fn(&ProviderSettings) -> Option<Duration>| {
        provider.and_then(|provider| Some((provider.name, setting(&provider.settings)?)))
    };
    check_duration(
        (pool, &EXPIRE_AFTER),
        || NodePool::expire_after_path(pool.version),
        pool.expire_after,
        own(|settings| settings.expire_after),
        &bounds.expire_after,
        findings,
    );
    if pool.version == ApiVersion::V1 {
        let path = || Template::path("terminationGracePeriod");
        let grace = pool.template.termination_grace_period;
        let bounds = &bounds.termination_grace_period;
        let otherwise = own(|settings| settings.termination_grace_period);
        check_duration(
            (pool, &TERMINATION_GRACE_PERIOD),
            path,
            grace,
            otherwise,
            bounds,
            findings,
        );
    }
}

/// Checks one field. `otherwise` is the value of an absent field, and who sets it; `None` means no end.
fn check_duration(
    (pool, rule): (&NodePool<'_>, &'static Rule),
    path: impl Fn() -> FieldPath,
    found: Field<&str>,
    otherwise: Option<(&str, Duration)>,
    bounds: &DurationBounds,
    findings: &mut Findings<'_>,
) {
    let duration = match found {
        Field::Mistyped | Field::Beyond => return,
        Field::Absent => otherwise.map(|(_, length)| GoDuration::from(length)),
        Field::Present(NEVER) => None,
        Field::Present(text) => match GoDuration::parse(text) {
            Ok(duration) => Some(duration),
            Err(_) => return,
        },
    };
    let over = bounds
        .max
        .as_ref()
        .filter(|max| duration.is_none_or(|duration| duration > max.value));
    let under = bounds
        .min
        .as_ref()
        .filter(|min| duration.is_some_and(|duration| duration < min.value));
    let (bound, word, suggestion) = match (over, under) {
        (Some(max), _) => (max, "at most", "or less"),
        (None, Some(min)) => (min, "at least", "or more"),
        (None, None) => return,
    };
    // The API server's own default, where the definition has one.
    let is_default = |length: GoDuration| {
        let length = Duration::from_nanos(u64::try_from(length.as_nanos()).ok()?);
        (!pool.is_written(&path())).then_some(("Karpenter's CRD", length))
    };
    let by_default = found.present().and(duration).and_then(is_default);
    let found = if by_default.is_some() {
        Field::Absent
    } else {
        found
    };
    let reason = match (found.present(), by_default.or(otherwise)) {
        (Some(_), _) => format!("the policy allows {word} {}", bound.text),
        (None, Some((who, length))) => format!(
            "the default is {}h ({who}), but the policy allows {word} {}",
            length.as_secs() / 3_600,
            bound.text
        ),
        (None, None) => format!(
            "the default is unlimited, but the policy allows {word} {}",
            bound.text
        ),
    };
    let error_type = found.present().map_or(ErrorType::Required, ErrorType::from);
    findings
        .report(rule, path(), error_type, reason)
        .suggest(format!("write {} {suggestion}", bound.text));
}
