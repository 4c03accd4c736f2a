//! What a provider takes of labels: the keys that editors offer, domains with listed labels only, and closed sets of values.

use poolgate_core::facts::{
    ApiVersion, CAPACITY_TYPE_LABEL, Label, LabelValues, NodeClassKind, Provider, TargetKarpenter,
    WELL_KNOWN_LABELS,
};
use poolgate_core::policy::Policy;
use serde_json::{Value, json};

use super::nested::{below, escaped};

const REQUIREMENT: &str = "spec.template.spec.requirements[]";
const LABELS: &str = "spec.template.metadata.labels";

/// Whose pools a schema is for.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    pub karpenter: &'a TargetKarpenter,
    pub provider: Option<&'static Provider>,
    pub policy: &'a Policy,
}

/// What each pool must keep, and what editors offer.
pub fn constraints(of: Subject<'_>, version: ApiVersion) -> Vec<Value> {
    let mut of_all = vec![json!({"properties": {"key": offered(&keys(of))}})];
    of_all.extend(values_of(
        CAPACITY_TYPE_LABEL,
        of.karpenter.capacity_types(),
        Some("Karpenter has no such capacity type"),
    ));
    let mut all = vec![below(REQUIREMENT, json!({"allOf": of_all}))];
    let Some(provider) = of.provider else {
        return all;
    };
    let labels = provider.labels.iter();
    let mut requirement: Vec<Value> = labels.flat_map(|label| of_label(label, of, provider)).collect();
    let closed = match version {
        ApiVersion::V1 => closed_domains(of, provider),
        ApiVersion::V1Beta1 => Vec::new(),
    };
    requirement.extend(closed.iter().map(|known| json!({"properties": {"key": known}})));
    let mut own = match version {
        ApiVersion::V1 => node_class(provider),
        ApiVersion::V1Beta1 => Vec::new(),
    };
    if !requirement.is_empty() {
        own.push(below(REQUIREMENT, json!({"allOf": requirement})));
    }
    own.extend(
        closed
            .into_iter()
            .map(|known| below(LABELS, json!({"propertyNames": known}))),
    );
    all.push(in_pools_of(provider, version, &own));
    all
}

/// The group and the kinds of the provider's node classes.
fn node_class(provider: &Provider) -> Vec<Value> {
    let kinds = NodeClassKind::of_group(provider.group);
    let kinds: Vec<&str> = kinds.map(|class| class.kind).collect();
    let fields = json!({"group": offered(&[provider.group]), "kind": offered(&kinds)});
    vec![below(
        "spec.template.spec.nodeClassRef",
        json!({"properties": fields}),
    )]
}

/// The constraints, for a pool whose node class is the provider's or has no group yet: files have pools of several providers.
fn in_pools_of(provider: &Provider, version: ApiVersion, constraints: &[Value]) -> Value {
    let group = match version {
        ApiVersion::V1 => json!({"group": {"const": provider.group}}),
        ApiVersion::V1Beta1 => {
            json!({"apiVersion": {"pattern": format!("^{}/", escaped(provider.group))}})
        }
    };
    let class = below("spec.template.spec.nodeClassRef", json!({"properties": group}));
    json!({"if": class, "then": {"allOf": constraints}})
}

/// The labels that a requirement can name.
fn keys(of: Subject<'_>) -> Vec<&str> {
    let own = of.provider.map_or(&[][..], |provider| provider.labels);
    let present = own.iter().filter(|label| label.releases.until.is_none());
    let mut keys: Vec<&str> = WELL_KNOWN_LABELS.to_vec();
    keys.extend(present.map(|label| label.key));
    keys.extend(of.policy.labels.added());
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The values of a label of the provider, where there are few.
fn of_label(label: &Label, of: Subject<'_>, provider: &Provider) -> Vec<Value> {
    let Some(closed) = label.closed else {
        let few = match label.values {
            LabelValues::Boolean => &["false", "true"][..],
            _ => label.only,
        };
        return values_of(label.key, few, None);
    };
    // Without a release it is not known whether other values are checked.
    let is_checked = match (closed.since, of.policy.cluster.version_of(provider)) {
        (None, _) => true,
        (Some(since), Some(release)) => release >= since,
        (Some(_), None) => false,
    };
    let message = format!("{} accepts none of these values", provider.name);
    values_of(label.key, closed.values, is_checked.then_some(message.as_str()))
}

/// What editors offer as values of a label; with a message, one of them must be in each list of `In`. The others match
/// nothing, which `lint` says and no schema rejects.
fn values_of(key: &str, values: &[&str], message: Option<&str>) -> Vec<Value> {
    if values.is_empty() {
        return Vec::new();
    }
    let then = |values: Value| json!({"properties": {"values": values}});
    let is_about = json!({"required": ["key"], "properties": {"key": {"const": key}}});
    let mut all = vec![json!({"if": is_about, "then": then(json!({"items": offered(values)}))})];
    if let Some(message) = message {
        let is_list = json!({
            "required": ["key", "operator"],
            "properties": {"key": {"const": key}, "operator": {"const": "In"}},
        });
        let one = json!({"contains": {"enum": values}, "errorMessage": message});
        all.push(json!({"if": is_list, "then": then(one)}));
    }
    all
}

/// Any string. Editors offer these.
pub fn offered(words: &[&str]) -> Value {
    json!({"anyOf": [{"enum": words}, {}]})
}

/// The domains in which the provider's definition takes listed labels only, whatever its release.
fn closed_domains(of: Subject<'_>, provider: &Provider) -> Vec<Value> {
    let declared = of.policy.cluster.version_of(provider);
    // What a release newer than all that are known takes is not known.
    if declared.is_some_and(|release| provider.newest.is_some_and(|newest| newest < release)) {
        return Vec::new();
    }
    let closed = provider.definition.closed.iter();
    let closed = closed.filter(|closed| closed.releases.has(declared) == Some(true));
    let all = closed.map(|closed| {
        let mut listed: Vec<&str> = closed.labels.iter().map(|(label, _)| *label).collect();
        listed.extend(of.policy.labels.added());
        // A key without a slash counts as a domain.
        let in_domain = format!("^[^/]*{}(/|$)", escaped(closed.domain));
        let message = format!(
            "{}'s NodePool CRD takes only listed labels in domains that end in {}",
            provider.name, closed.domain
        );
        json!({"if": {"type": "string", "pattern": in_domain}, "then": {"enum": listed, "errorMessage": message}})
    });
    all.collect()
}
