//! The bounds of a policy, as far as JSON Schema can say them. Hours and sums are left to `lint`, and so is a bound that a policy
//! does not enforce for every pool: a schema has neither levels nor exemptions.

use poolgate_core::api::NODE_LIMIT_ANNOTATION;
use poolgate_core::diagnostic::{Origin, Severity};
use poolgate_core::facts::{ApiVersion, CAPACITY_TYPE_LABEL};
use poolgate_core::policy::{
    BudgetBounds, DurationBounds, Enforcement, Glob, Level, NodeClassPattern, Policy, TemplateBounds, Written,
};
use poolgate_core::value::duration::GoDuration;
use poolgate_core::value::quantity::Quantity;
use serde_json::{Map, Value, json};

use super::nested::{at_least, at_most, below, escaped, has};
use crate::text_rules;

const REQUIREMENTS: &str = "spec.template.spec.requirements";
const REQUIREMENT: &str = "spec.template.spec.requirements[]";
const LABELS: &str = "spec.template.metadata.labels";
const NODES: &str = "nodes";

/// What each pool must keep.
pub fn constraints(policy: &Policy, version: ApiVersion) -> Vec<Value> {
    let mut all = limits(policy);
    all.extend(budgets(policy, &policy.bounds.budgets));
    all.extend(template(policy, &policy.bounds.template, version));
    all
}

/// Whether the findings of a rule are errors for every pool.
fn is_enforced(policy: &Policy, rule: &str) -> bool {
    let Some(rule) = text_rules::find_any(rule) else {
        return false;
    };
    let is_exempt = |rule| {
        policy
            .exemptions
            .iter()
            .any(|exemption| exemption.rules.contains(rule))
    };
    policy.enforcement == Enforcement::Enforce
        && matches!(
            policy.levels.get(rule.id, Origin::Poolgate),
            None | Some(Level::Severity(Severity::Error))
        )
        && !is_exempt(&rule.id)
}

fn limits(policy: &Policy) -> Vec<Value> {
    let bounds = &policy.bounds.limits;
    let required = bounds.required.iter();
    let required = required.filter(|_| is_enforced(policy, "policy-limit-required"));
    let max = bounds.max.iter();
    let max = max.filter(|_| is_enforced(policy, "policy-limit-max"));
    let mut all = Vec::new();
    for resource in required.chain(max.clone().map(|(resource, _)| resource)) {
        let message = format!("the policy requires a limit of {resource}");
        let limit = json!({"required": [resource], "errorMessage": message});
        let present = below("spec", has("limits", limit, Some(&message)));
        all.push(where_limited(resource, &present));
    }
    for (resource, most) in max {
        let limit = below(
            "spec.limits",
            json!({"properties": {resource: at_most_quantity(most)}}),
        );
        all.push(where_limited(resource, &limit));
    }
    all
}

/// The constraint on the limit of a resource, for the pools to which it applies: poolgate's annotation replaces the limit of
/// nodes, and a static pool can limit nothing else.
fn where_limited(resource: &str, constraint: &Value) -> Value {
    let other = if resource == NODES {
        has(
            "metadata.annotations",
            json!({"required": [NODE_LIMIT_ANNOTATION]}),
            None,
        )
    } else {
        has("spec", json!({"required": ["replicas"]}), None)
    };
    json!({"if": other, "else": constraint})
}

/// Quantities are compared if they are a whole number, with or without one of these suffixes.
const SUFFIXES: [(&str, u64); 11] = [
    ("", 1),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("P", 1_000_000_000_000_000),
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("Pi", 1 << 50),
];

/// A quantity that is not compared.
const OTHER_QUANTITIES: &str = "[0-9]+(?:[num]|Ei?|[eE][0-9]+)|.*[^0-9A-Za-z].*";

fn at_most_quantity(most: &Written<Quantity>) -> Value {
    let whole = u64::try_from(most.value.thousandths_rounded_down() / 1_000).unwrap_or_default();
    let compared = SUFFIXES.map(|(suffix, unit)| at_most(whole / unit) + suffix);
    json!({
        "maximum": whole,
        "pattern": format!("^(?:{}|{OTHER_QUANTITIES})$", compared.join("|")),
        "patternErrorMessage": format!("the policy allows at most {}", most.text),
    })
}

fn budgets(policy: &Policy, bounds: &BudgetBounds) -> Vec<Value> {
    let percent = bounds.max_percent;
    let percent = percent.filter(|_| is_enforced(policy, "policy-budget-percent"));
    let nodes = bounds.max_nodes;
    let nodes = nodes.filter(|_| is_enforced(policy, "policy-budget-nodes"));
    let number = |most: Option<u64>| most.map_or_else(|| "[0-9]+".to_owned(), at_most);
    let mut all = Vec::new();
    if percent.is_some() || nodes.is_some() {
        let percents = number(percent.map(u64::from));
        let counts = number(nodes.and_then(|most| u64::try_from(most).ok()));
        let allowed = [
            percent.map(|most| format!("{most}%")),
            nodes.map(|most| format!("{most} nodes")),
        ];
        let allowed: Vec<String> = allowed.into_iter().flatten().collect();
        all.push(below(
            "spec.disruption.budgets[].nodes",
            json!({
                "pattern": format!("^(?:{percents}%|{counts})$"),
                "patternErrorMessage": format!("the policy allows at most {}", allowed.join(", and at most ")),
            }),
        ));
    }
    if let Some(most) = bounds
        .max_budgets
        .filter(|_| is_enforced(policy, "policy-budget-count"))
    {
        all.push(below("spec.disruption.budgets", json!({"maxItems": most})));
    }
    all
}

fn template(policy: &Policy, bounds: &TemplateBounds, version: ApiVersion) -> Vec<Value> {
    let mut all = Vec::new();
    if is_enforced(policy, "policy-template-labels") {
        all.extend(bounds.required_labels.iter().map(|label| required_label(label)));
    }
    let enforced = |rule| is_enforced(policy, rule);
    if let Some(allowed) = bounds
        .capacity_types
        .as_ref()
        .filter(|_| enforced("policy-capacity-type"))
    {
        all.push(capacity_types(allowed));
    }
    if let Some(allowed) = bounds
        .node_classes
        .as_ref()
        .filter(|_| enforced("policy-node-class"))
    {
        let any: Vec<Value> = allowed.iter().map(|class| node_class(class, version)).collect();
        all.push(below("spec.template.spec.nodeClassRef", json!({"anyOf": any})));
    }
    let expire_after = match version {
        ApiVersion::V1 => "spec.template.spec.expireAfter",
        ApiVersion::V1Beta1 => "spec.disruption.expireAfter",
    };
    let grace_period = "spec.template.spec.terminationGracePeriod";
    for (path, rule, bounds) in [
        (expire_after, "policy-expire-after", &bounds.expire_after),
        (
            grace_period,
            "policy-termination-grace-period",
            &bounds.termination_grace_period,
        ),
    ] {
        if enforced(rule) && (version == ApiVersion::V1 || path == expire_after) {
            all.extend(durations(bounds).into_iter().map(|schema| below(path, schema)));
        }
    }
    all
}

/// A label that each node has: by the template's labels, or by a requirement.
fn required_label(label: &str) -> Value {
    let listed = json!({
        "required": ["key", "operator"],
        "properties": {"key": {"const": label}, "operator": {"const": "In"}},
    });
    let message = format!("the policy requires the label {label} on every node");
    let labelled = json!({"required": [label], "errorMessage": message});
    json!({
        "if": has(REQUIREMENT, listed, None),
        "else": below("spec", has("template.metadata.labels", labelled, Some(&message))),
    })
}

/// A list of capacity types, unless something else says which of them are used.
fn capacity_types(allowed: &[String]) -> Value {
    let is_about = json!({"key": {"const": CAPACITY_TYPE_LABEL}});
    let excludes = json!({
        "contains": {"required": ["key"], "properties": {
            "key": {"const": CAPACITY_TYPE_LABEL}, "operator": {"not": {"const": "In"}},
        }},
    });
    let message = format!("the policy allows only {}", allowed.join(", "));
    let list = json!({
        "if": {"required": ["key"], "properties": is_about},
        "then": {"properties": {"values": {"items": {"enum": allowed, "errorMessage": message}}}},
    });
    json!({
        "if": {"anyOf": [has(LABELS, json!({"required": [CAPACITY_TYPE_LABEL]}), None), has(REQUIREMENTS, excludes, None)]},
        "else": below(REQUIREMENT, list),
    })
}

fn node_class(class: &NodeClassPattern, version: ApiVersion) -> Value {
    let mut fields = Map::new();
    let mut add = |field: &str, pattern: &Option<Glob>, end: &str| {
        if let Some(pattern) = pattern {
            let parts: Vec<String> = pattern.as_str().split('*').map(escaped).collect();
            let regex = format!("^{}{end}", parts.join(".*"));
            let message = format!(
                "the policy does not allow this node class: {field} is not {}",
                pattern.as_str()
            );
            fields.insert(
                field.to_owned(),
                json!({"pattern": regex, "patternErrorMessage": message}),
            );
        }
    };
    match version {
        ApiVersion::V1 => add("group", &class.group, "$"),
        ApiVersion::V1Beta1 => add("apiVersion", &class.group, "(/|$)"),
    }
    add("kind", &class.kind, "$");
    add("name", &class.name, "$");
    json!({"properties": fields})
}

/// The units of durations, in nanoseconds.
const UNITS: [(&str, u64); 3] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
];

/// Durations are compared if they have a single unit.
fn durations(bounds: &DurationBounds) -> Vec<Value> {
    let nanos = |bound: &Written<GoDuration>| u64::try_from(bound.value.as_nanos()).unwrap_or_default();
    let schema = |compared: [String; 3], never: &str, words: &str, text: &str| {
        json!({
            "pattern": format!("^(?:{}|(?:[0-9]+[hms]){{2,}}{never})$", compared.join("|")),
            "patternErrorMessage": format!("the policy allows {words} {text}"),
        })
    };
    let longest = bounds.max.as_ref().map(|most| {
        let compared = UNITS.map(|(unit, length)| at_most(nanos(most) / length) + unit);
        schema(compared, "", "at most", &most.text)
    });
    let shortest = bounds.min.as_ref().map(|least| {
        let compared = UNITS.map(|(unit, length)| at_least(nanos(least).div_ceil(length)) + unit);
        schema(compared, "|Never", "at least", &least.text)
    });
    longest.into_iter().chain(shortest).collect()
}

#[cfg(test)]
mod tests {
    use poolgate_core::policy_file::parse;

    use super::*;

    const POLICY: &str = "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\n";

    /// Whether a schema of the bounds accepts a NodePool with this spec.
    fn accepts(bounds: &str, spec: &Value) -> bool {
        let policy = parse(&format!("{POLICY}{bounds}")).expect("a policy").policy;
        let mut all = constraints(&policy, ApiVersion::V1);
        all.push(json!({}));
        let schema = json!({"allOf": all});
        jsonschema::is_valid(&schema, &json!({"spec": spec}))
    }

    #[track_caller]
    fn assert_bounds(bounds: &str, kept: &[Value], broken: &[Value]) {
        for spec in kept {
            assert!(accepts(bounds, spec), "{bounds}: {spec}");
        }
        for spec in broken {
            assert!(!accepts(bounds, spec), "{bounds}: {spec}");
        }
    }

    #[test]
    fn limits_are_compared_by_value_in_any_unit_that_is_a_suffix() {
        let memory = |amount: Value| json!({"limits": {"memory": amount}});
        assert_bounds(
            "bounds: {limits: {max: {memory: 4Ti}}}",
            &[
                memory(json!("4Ti")),
                memory(json!("4096Gi")),
                memory(json!(4_398_046_511_104_u64)),
                memory(json!("4398046511104")),
                memory(json!("4T")),
                memory(json!("1000000m")),
                memory(json!("9.5Ti")),
                memory(json!("9e99")),
                json!({"replicas": 3}),
            ],
            &[
                memory(json!("5Ti")),
                memory(json!("4097Gi")),
                memory(json!(4_398_046_511_105_u64)),
                memory(json!("005Ti")),
                memory(json!("5T")),
                json!({"limits": {"cpu": 1}}),
                json!({}),
            ],
        );
        assert_bounds(
            "bounds: {limits: {required: [nodes]}}",
            &[json!({"limits": {"nodes": 5}})],
            &[json!({"limits": {}}), json!({"replicas": 3})],
        );
    }

    #[test]
    fn budgets_are_compared_by_the_form_of_their_number() {
        let nodes = |nodes: &str| json!({"disruption": {"budgets": [{"nodes": "0"}, {"nodes": nodes}]}});
        assert_bounds(
            "bounds: {budgets: {maxPercent: 20, maxNodes: 3}}",
            &[nodes("20%"), nodes("3"), nodes("5%")],
            &[nodes("21%"), nodes("100%"), nodes("4"), nodes("10")],
        );
        assert_bounds(
            "bounds: {budgets: {maxPercent: 20}}",
            &[nodes("500")],
            &[nodes("21%")],
        );
        let budgets = |count: usize| json!({"disruption": {"budgets": vec![json!({}); count]}});
        assert_bounds("bounds: {budgets: {maxBudgets: 2}}", &[budgets(2)], &[budgets(3)]);
    }

    #[test]
    fn templates_keep_labels_capacity_types_node_classes_and_lifetimes() {
        let template = |spec: Value| json!({"template": {"spec": spec}});
        let requires = |key: &str, operator: &str, values: &[&str]| json!({"key": key, "operator": operator, "values": values});
        let requirements = |all: &[Value]| template(json!({"requirements": all}));
        assert_bounds(
            "bounds: {template: {requiredLabels: [team]}}",
            &[
                json!({"template": {"metadata": {"labels": {"team": "a"}}}}),
                requirements(&[requires("team", "In", &["a"])]),
            ],
            &[requirements(&[requires("team", "Exists", &[])]), json!({})],
        );
        let types = |operator, values: &[&str]| requires("karpenter.sh/capacity-type", operator, values);
        assert_bounds(
            "bounds: {template: {capacityTypes: [on-demand]}}",
            &[
                requirements(&[types("In", &["on-demand"])]),
                requirements(&[types("In", &["on-demand", "spot"]), types("NotIn", &["spot"])]),
            ],
            &[requirements(&[types("In", &["on-demand", "spot"])])],
        );
        let class = |kind: &str, name: &str| template(json!({"nodeClassRef": {"kind": kind, "name": name}}));
        assert_bounds(
            "bounds: {template: {nodeClasses: [{kind: A, name: 'prod-*'}, {kind: B.C}]}}",
            &[class("A", "prod-1"), class("B.C", "x")],
            &[class("A", "dev-1"), class("BxC", "x")],
        );
        let expires = |after: &str| template(json!({"expireAfter": after}));
        assert_bounds(
            "bounds: {template: {expireAfter: {min: 90m, max: 720h}}}",
            &[
                expires("720h"),
                expires("2h"),
                expires("90m"),
                expires("5400s"),
                expires("1h30m"),
            ],
            &[
                expires("721h"),
                expires("1h"),
                expires("89m"),
                expires("43201m"),
                expires("Never"),
            ],
        );
        let grace = |period: &str| template(json!({"terminationGracePeriod": period}));
        assert_bounds(
            "bounds: {template: {terminationGracePeriod: {max: 1h}}}",
            &[grace("1h"), grace("60m")],
            &[grace("2h")],
        );
    }

    #[test]
    fn bound_that_is_no_error_for_every_pool_is_left_out() {
        let bounds = "bounds: {limits: {max: {cpu: 1}}}";
        let above = json!({"limits": {"cpu": 2}});
        assert!(!accepts(bounds, &above));
        for more in [
            "rules: {policy-limit-max: warning}",
            "rules: {policy-limit-max: off}",
            "enforcement: warn",
            "exemptions: [{pools: [gpu], rules: [policy-limit-max]}]",
        ] {
            assert!(accepts(&format!("{bounds}\n{more}\n"), &above), "{more}");
        }
    }
}
