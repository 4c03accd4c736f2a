//! One version of a definition: methods to query its schema for fields of `spec`.
//!
//! A path is written as `template.spec.requirements[].operator`.

use serde_json::{Map, Value};

use super::label_rules::LabelRules;
use crate::facts::ApiVersion;
use crate::facts::release::Said;

/// The schema of `spec` in one version of a definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    pub(crate) version: ApiVersion,
    pub(crate) served: bool,
    pub(crate) stored: bool,
    spec: Map<String, Value>,
    /// The rules about labels of the template.
    pub(crate) template_labels: LabelRules,
    /// The rules about keys of requirements.
    pub(crate) requirement_keys: LabelRules,
}

impl Schema {
    /// The schema of an element of `spec.versions`; `None` if poolgate does not know the version, or it has no
    /// `spec.disruption`.
    pub(super) fn parse(element: &Value) -> Option<Self> {
        let version = ApiVersion::parse(element.get("name")?.as_str()?)?;
        let spec = element
            .pointer("/schema/openAPIV3Schema/properties/spec")?
            .as_object()?;
        let is = |field| element.get(field).and_then(Value::as_bool).unwrap_or(false);
        let mut schema = Self {
            version,
            served: is("served"),
            stored: is("storage"),
            spec: spec.clone(),
            template_labels: LabelRules::default(),
            requirement_keys: LabelRules::default(),
        };
        schema.template_labels = LabelRules::parse(schema.at("template.metadata.labels"));
        schema.requirement_keys = LabelRules::parse(schema.at("template.spec.requirements[].key"));
        schema.has("disruption").then_some(schema)
    }

    /// Whether the API server keeps `spec.disruption.nodeLimitMode`; if not, it prunes it.
    pub(crate) fn keeps_node_limit_mode(&self) -> bool {
        self.has("disruption.nodeLimitMode")
    }

    /// The schema of a field.
    fn at(&self, path: &str) -> Option<&Map<String, Value>> {
        path.split('.').try_fold(&self.spec, |node, step| {
            let name = step.trim_end_matches("[]");
            let node = node.get("properties")?.get(name)?.as_object()?;
            if name.len() == step.len() {
                Some(node)
            } else {
                node.get("items")?.as_object()
            }
        })
    }

    /// Whether the API server keeps a field.
    pub(super) fn has(&self, path: &str) -> bool {
        self.at(path).is_some()
    }

    /// The values that a field accepts.
    pub(crate) fn words(&self, path: &str) -> Option<&[Value]> {
        Some(self.at(path)?.get("enum")?.as_array()?)
    }

    /// The default of a field.
    pub(crate) fn default_of(&self, path: &str) -> Option<&Value> {
        self.at(path)?.get("default")
    }

    /// The schema of `spec`.
    pub(crate) const fn spec(&self) -> &Map<String, Value> {
        &self.spec
    }

    /// Whether a field must be written.
    pub(crate) fn requires(&self, path: &str) -> bool {
        let (parent, field) = path
            .rsplit_once('.')
            .map_or((Some(&self.spec), path), |(parent, field)| {
                (self.at(parent), field)
            });
        let required = parent.and_then(|parent| parent.get("required")?.as_array());
        required.is_some_and(|fields| fields.iter().any(|name| name == field))
    }

    /// Most elements of a list.
    pub(crate) fn max_items(&self, path: &str) -> Option<usize> {
        let most = self.at(path)?.get("maxItems")?.as_u64()?;
        usize::try_from(most).ok()
    }

    /// Whether it says this of a field.
    pub(crate) fn says(&self, said: &Said) -> bool {
        let field = said.path.strip_prefix("spec.").unwrap_or_default();
        let found = self.at(field).and_then(|node| node.get(said.keyword));
        found.is_some_and(|found| match found {
            Value::Array(all) => all.iter().any(|one| is(one, said.value)),
            one => is(one, said.value),
        })
    }
}

/// True if a value of a keyword is this one: a string as it is, a rule by its message, anything else as JSON.
fn is(value: &Value, said: &str) -> bool {
    match value {
        Value::String(text) => text == said,
        Value::Object(rule) if rule.contains_key("rule") => {
            let message = rule.get("message").or_else(|| rule.get("rule"));
            message.is_some_and(|message| message == said)
        }
        other => serde_json::to_string(other).is_ok_and(|text| text == said),
    }
}
