//! The text of a policy file, YAML or JSON, to the policy that everything else checks by, with the position of every
//! mistake.
//!
//! Each type defines its fields ([`Record`](crate::policy::record::Record)), and the JSON Schema follows from that.
//! `consistency` checks fields against each other.

mod consistency;
mod document;
mod policy;
mod policy_test;

#[cfg(test)]
mod tests;

pub use document::{MAX_BYTES, Mistakes, PolicyMistake};
pub use policy_test::{Case, CaseObject, Expected, PolicyTest, parse_policy_test};

use serde_json::Value;

use self::document::File;
use crate::policy::record::{Kind as _, names_of, object};
use crate::policy::{DefaultValues, Policy};

/// A policy file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadPolicy {
    /// The policy that the file describes.
    pub policy: Policy,
    /// Fields that do not take effect as written, in their order; each on one line.
    pub notes: Vec<PolicyMistake>,
    /// The fields under `defaults` that the file sets.
    pub defaults_set: Vec<&'static str>,
}

/// Reads a policy file: exactly one document, with no field that poolgate does not know.
pub fn parse(text: &str) -> Result<ReadPolicy, Mistakes> {
    let (policy, file) = File::read::<Policy>(text, "Policy", "policy")?;
    file.none_wrong(consistency::contradictions(&file.value, &policy))?;
    let defaults = file.value.get("defaults");
    let is_set = |name: &&str| {
        defaults.is_some_and(|defaults| defaults.get(name).is_some_and(|value| !value.is_null()))
    };
    Ok(ReadPolicy {
        notes: Mistakes::from(file.located(consistency::notes(&policy))).shown,
        policy,
        defaults_set: names_of::<DefaultValues>().into_iter().filter(is_set).collect(),
    })
}

/// A policy file as a JSON Schema (draft 7, which editors know), for completion and checks while writing. It lists words in
/// one spelling, and where it cannot say a grammar it is looser than [`parse`].
pub fn schema() -> Value {
    let mut schema = object::<Policy>().schema();
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("$schema".into(), "http://json-schema.org/draft-07/schema#".into());
        schema.insert("title".into(), "poolgate policy".into());
    }
    schema
}
