//! A definition of NodePools as a value: how it is extended, and which of its defaults overrule those of a policy.

use anyhow::{Context as _, ensure};
use poolgate_core::api::NodeLimitMode;
use poolgate_core::facts::ApiVersion;
use poolgate_core::policy::DefaultValues;
use serde_json::{Value, json};

/// The property that is added.
const PROPERTY: &str = "nodeLimitMode";

/// The definitions of NodePools in a document: itself, or elements of a List.
pub fn among(document: &mut Value) -> Vec<&mut Value> {
    if is_definition(document) {
        return vec![document];
    }
    let is_list = text(document, "/kind").is_some_and(|kind| kind.ends_with("List"));
    let items = document.get_mut("items").and_then(Value::as_array_mut);
    let items = items.filter(|_| is_list).into_iter().flatten();
    items.filter(|item| is_definition(item)).collect()
}

/// Adds the property to every served version, and replaces the defaults that differ from these.
pub fn extend(definition: &mut Value, defaults: Option<&DefaultValues>) -> anyhow::Result<()> {
    for Served { name, disruption } in served(definition) {
        let properties = definition.pointer_mut(&format!("{disruption}/properties"));
        let properties = properties
            .and_then(Value::as_object_mut)
            .with_context(|| format!("version {name} of the CRD has no schema of spec.disruption"))?;
        properties.entry(PROPERTY).or_insert_with(property);
    }
    for default in defaults
        .map(|defaults| overruled(definition, defaults))
        .into_iter()
        .flatten()
    {
        ensure!(
            default.is_taken,
            "version {} of the CRD rejects the policy's {} {}",
            default.version,
            default.field,
            default.wanted
        );
        if let Some(present) = definition.pointer_mut(&default.pointer) {
            *present = default.wanted;
        }
    }
    Ok(())
}

/// The schema of the property. Without a default: that would give every stored pool a mode.
pub fn property() -> Value {
    json!({
        "description": "NodeLimitMode says how strictly limits.nodes is enforced.\n\
            Hard: every node counts until it is gone, so a replacement waits until a place is free.\n\
            Soft: new capacity stops at the limit; replacements of nodes that are being disrupted may exceed\n\
            it for a while.\n\
            Enforced by poolgate's gate, not by Karpenter.",
        "enum": NodeLimitMode::VALUES,
        "type": "string",
    })
}

/// A default of a definition that is not the policy's: the API server writes it before it calls any webhook.
#[derive(Debug)]
pub struct Overruled {
    /// The version of the API, such as `v1`.
    pub version: String,
    /// The field under `defaults` of the policy.
    pub field: &'static str,
    /// The default that the definition has.
    pub present: Value,
    /// What the policy wants.
    pub wanted: Value,
    /// Whether it only counts if a NodePool leaves out all of `spec.disruption`.
    pub only_if_all_is_absent: bool,
    /// Whether the definition allows the value that the policy wants.
    is_taken: bool,
    /// Where the definition's default is.
    pointer: String,
}

impl Overruled {
    /// Whether it only counts if all of `spec.disruption` is left out, and the field has another default that
    /// always counts.
    pub fn is_reported_by_another_of(&self, all: &[Self]) -> bool {
        let same = |other: &Self| other.version == self.version && other.field == self.field;
        self.only_if_all_is_absent
            && all
                .iter()
                .any(|other| same(other) && !other.only_if_all_is_absent)
    }
}

/// The defaults of a definition that are not the policy's. In v1beta1 only `budgets` can be: the policy has no values for
/// its other fields.
pub fn overruled(definition: &Value, defaults: &DefaultValues) -> Vec<Overruled> {
    let mut overruled = Vec::new();
    for Served { name, disruption } in served(definition) {
        let version = ApiVersion::parse(&name).unwrap_or(ApiVersion::V1);
        let mut wanted = vec![("budgets", defaults.budgets_in(version))];
        if version != ApiVersion::V1Beta1 {
            wanted.push((
                "consolidationPolicy",
                defaults.consolidation_policy.as_str().into(),
            ));
            wanted.push(("consolidateAfter", defaults.consolidate_after.as_str().into()));
        }
        for (field, wanted) in wanted {
            let allowed = definition.pointer(&format!("{disruption}/properties/{field}/enum"));
            let allowed = allowed.and_then(Value::as_array);
            for (pointer, only_if_all_is_absent) in [
                (format!("{disruption}/properties/{field}/default"), false),
                (format!("{disruption}/default/{field}"), true),
            ] {
                let Some(present) = definition.pointer(&pointer).filter(|present| **present != wanted) else {
                    continue;
                };
                overruled.push(Overruled {
                    version: name.clone(),
                    field,
                    present: present.clone(),
                    wanted: wanted.clone(),
                    only_if_all_is_absent,
                    is_taken: allowed.is_none_or(|allowed| allowed.contains(&wanted)),
                    pointer,
                });
            }
        }
    }
    overruled
}

/// A served version: its name, and where its schema of `spec.disruption` should be.
struct Served {
    name: String,
    disruption: String,
}

fn served(definition: &Value) -> Vec<Served> {
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
    let versions = versions.into_iter().flatten().enumerate();
    versions
        .filter(|(_, version)| version.get("served") == Some(&Value::Bool(true)))
        .map(|(index, version)| Served {
            name: text(version, "/name").unwrap_or_default().to_owned(),
            disruption: format!(
                "/spec/versions/{index}/schema/openAPIV3Schema/properties/spec/properties/disruption"
            ),
        })
        .collect()
}

fn is_definition(value: &Value) -> bool {
    text(value, "/kind") == Some("CustomResourceDefinition")
        && text(value, "/spec/group") == Some("karpenter.sh")
        && text(value, "/spec/names/kind") == Some("NodePool")
}

fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str)
}
