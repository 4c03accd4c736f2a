//! One version of a definition: methods to query its schema for fields of `spec`.
//!
//! A path is written as `template.spec.requirements[].operator`.

use serde_json::{Map, Value};

use crate::karpenter::ApiVersion;

/// The schema of `spec` in one version of a definition.
#[derive(Debug)]
pub struct Schema<'a> {
    pub version: ApiVersion,
    pub served: bool,
    pub stored: bool,
    spec: &'a Map<String, Value>,
}

impl<'a> Schema<'a> {
    /// The schema of an element of `spec.versions`; `None` if poolgate does not know the version, or it has no
    /// `spec.disruption`.
    pub fn parse(element: &'a Value) -> Option<Self> {
        let version = ApiVersion::parse(element.get("name")?.as_str()?)?;
        let spec = element
            .pointer("/schema/openAPIV3Schema/properties/spec")?
            .as_object()?;
        let is = |field| element.get(field).and_then(Value::as_bool).unwrap_or(false);
        let schema = Self {
            version,
            served: is("served"),
            stored: is("storage"),
            spec,
        };
        schema.has("disruption").then_some(schema)
    }

    /// The schema of a field.
    fn at(&self, path: &str) -> Option<&'a Map<String, Value>> {
        path.split('.').try_fold(self.spec, |node, step| {
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
    pub fn has(&self, path: &str) -> bool {
        self.at(path).is_some()
    }

    /// The values that a field accepts.
    pub fn words(&self, path: &str) -> Option<impl Iterator<Item = Box<str>> + use<'a>> {
        let words = self.at(path)?.get("enum")?.as_array()?;
        Some(words.iter().filter_map(Value::as_str).map(Box::from))
    }

    /// Whether a field accepts this value.
    pub fn has_word(&self, path: &str, word: &str) -> bool {
        self.words(path)
            .is_some_and(|mut words| words.any(|known| *known == *word))
    }

    /// Whether a field has a default.
    pub fn has_default(&self, path: &str) -> bool {
        self.at(path).is_some_and(|node| node.contains_key("default"))
    }

    /// Whether the object at `path` must have `field`.
    pub fn requires(&self, path: &str, field: &str) -> bool {
        let required = self.at(path).and_then(|node| node.get("required")?.as_array());
        required.is_some_and(|fields| fields.iter().any(|name| name == field))
    }

    /// Most elements of a list.
    pub fn max_items(&self, path: &str) -> Option<usize> {
        let most = self.at(path)?.get("maxItems")?.as_u64()?;
        usize::try_from(most).ok()
    }

    /// Whether a keyword of a field's schema has exactly this value.
    pub fn says(&self, path: &str, keyword: &str, value: &str) -> bool {
        let found = self.at(path).and_then(|node| node.get(keyword));
        found.is_some_and(|found| found == value)
    }
}
