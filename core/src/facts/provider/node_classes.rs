//! The definitions of node classes that are recorded: the newest of each, with the descriptions of its provider.

use serde::Deserialize;
use serde_json::Value;

/// A line for each kind, as `core/tests/data/crd-record` writes it.
const RECORDED: &str = include_str!("../../../providers/node-classes.jsonl");

/// The definition of a kind of node class.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct NodeClassDefinition {
    /// The Go module that publishes it.
    pub module: String,
    /// The release of the module.
    pub release: String,
    /// The API group without version.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The versions that it serves, the stored one first.
    pub versions: Vec<String>,
    /// The schema of each of them, as OpenAPI, without its rules in CEL.
    pub schema: Value,
}

impl NodeClassDefinition {
    /// All of them, read on each call.
    pub fn recorded() -> impl Iterator<Item = Self> {
        RECORDED
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Provider;

    #[test]
    fn every_recorded_definition_is_read_and_is_that_of_the_newest_release_of_its_provider() {
        let all: Vec<_> = NodeClassDefinition::recorded().collect();
        assert_eq!(all.len(), RECORDED.lines().count());
        for class in all {
            let provider = Provider::of_group(&class.group).expect("a provider");
            let newest = provider.newest.map(|newest| newest.to_string());
            assert_eq!(newest.as_ref(), Some(&class.release), "{}", class.kind);
        }
    }
}
