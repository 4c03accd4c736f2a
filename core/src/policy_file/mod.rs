//! The text of a policy file, YAML or JSON, to the policy that everything else checks by, with the position of every
//! mistake.
//!
//! Each type defines its fields ([`Record`](crate::policy::record::Record)), and the JSON Schema follows from that.
//! `consistency` checks fields against each other.

mod consistency;
mod document;
mod files;
mod policy;
mod policy_test;

#[cfg(test)]
mod tests;

pub use document::{MAX_BYTES, Mistakes, PolicyMistake};
pub use files::Files;
pub use policy_test::{Case, CaseObject, Expected, PolicyTest, parse_policy_test};

use serde_json::{Value, json};

use self::document::File;
use crate::policy::record::{Kind as _, names_of, object};
use crate::policy::{DefaultValues, Policy};

/// A policy file as it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadPolicy {
    /// The policy that the file describes.
    pub policy: Policy,
    /// Fields that do not take effect as written, in their order; each on one line.
    pub notes: Vec<PolicyMistake>,
    /// The fields under `defaults` that the file sets.
    pub defaults_set: Vec<&'static str>,
}

/// A project's file as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Project {
    /// The policy; `None` without one.
    pub policy: Option<ReadPolicy>,
    /// What the commands on files read; `None` if the file does not say it.
    pub files: Option<Files>,
}

/// Reads a policy file: exactly one document, with no field that poolgate does not know.
pub fn parse(text: &str) -> Result<ReadPolicy, Mistakes> {
    let (policy, file) = File::read::<Policy>(text, "Policy", POLICY)?;
    checked(policy, &file)
}

/// Reads a project's file: a policy, or a document of kind `Files`, or both.
pub fn parse_project(text: &str) -> Result<Project, Mistakes> {
    let documents = File::documents(text);
    if documents.is_empty() {
        return Err(document::none("Policy", POLICY));
    }
    let mut project = Project::default();
    let mut mistakes: Vec<PolicyMistake> = Vec::new();
    let (mut policies, mut files) = (0, 0);
    for file in &documents {
        let is_files = file.is_of_kind(document::FILES);
        let (seen, what) = if is_files {
            (&mut files, "document of kind Files")
        } else {
            (&mut policies, POLICY)
        };
        *seen += 1;
        if *seen > 1 {
            mistakes.push(file.repeated(what));
        } else if is_files {
            let read = file.record().map_err(|mut own| mistakes.append(&mut own));
            project.files = read.ok();
        } else {
            let read = file.record().map_err(Mistakes::from);
            match read.and_then(|policy| checked(policy, file)) {
                Ok(read) => project.policy = Some(read),
                Err(mut own) => mistakes.append(&mut own.shown),
            }
        }
    }
    if mistakes.is_empty() {
        Ok(project)
    } else {
        Err(mistakes.into())
    }
}

/// What the policy of a file is called in messages.
const POLICY: &str = "policy";

/// A policy whose fields do not contradict each other.
fn checked(policy: Policy, file: &File<'_>) -> Result<ReadPolicy, Mistakes> {
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

/// A project's file as a JSON Schema (draft 7, which editors know), for completion and checks while writing: for a document of
/// kind `Files`, and else for a policy. It lists words in one spelling, and where it cannot say a grammar it is looser than
/// [`parse_project`].
pub fn schema() -> Value {
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "poolgate policy",
        "if": {"required": ["kind"], "properties": {"kind": {"const": document::FILES}}},
        "then": object::<Files>().schema(),
        "else": object::<Policy>().schema(),
    })
}
