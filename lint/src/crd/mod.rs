//! `poolgate crd`: adds the field that upstream's NodePool definition lacks, and the policy's defaults.
//!
//! The API server drops fields that a definition does not have, so `spec.disruption.nodeLimitMode` can only
//! be stored if the definition was extended. It also writes the definition's own defaults before it calls any
//! webhook, so a policy's defaults must be there to have an effect. The definition is not written from scratch:
//! the property is inserted into the text, default values are replaced in it, and every other byte stays.

pub mod defaults;
pub mod subject;

#[cfg(test)]
mod tests;

use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail, ensure};
use clap::{Args, Subcommand};
use poolgate_core::diagnostic::FieldPath;
use poolgate_core::json::Json;
use poolgate_core::policy::DefaultValues;
use serde_json::Value;

use crate::insertion::{self, Entry, Insertion, Order};
use poolgate_core::manifest::{self, Document, Limits, Lines, Span};

use crate::files::{self, read_text};
use crate::policy_file;
use crate::written;
use defaults::Overruled;

/// The property that is added.
const PROPERTY: &str = "nodeLimitMode";

/// The property and its schema, as YAML in block style.
const PROPERTY_YAML: &str = include_str!("property.yaml");

/// The name of the input in messages.
const INPUT: &str = "the NodePool definition (kubectl get crd nodepools.karpenter.sh -o yaml)";

/// The last part of `--help`.
const EXAMPLES: &str = "\
Examples:
  kubectl get crd nodepools.karpenter.sh -o yaml | poolgate crd patch | kubectl replace -f -
  poolgate crd patch --policy policy.yaml <crd.yaml >patched.yaml";

/// The flags of `crd`.
#[derive(Debug, Args)]
pub struct CrdArgs {
    #[command(subcommand)]
    command: CrdCommand,
}

#[derive(Debug, Subcommand)]
enum CrdCommand {
    /// Print the NodePool definition from standard input with `spec.disruption.nodeLimitMode` added
    ///
    /// The definition may be YAML or JSON, alone, among other documents or in a List; all else is printed
    /// unchanged, and so is a definition that has the field.
    #[command(after_help = EXAMPLES)]
    Patch {
        /// Also write this policy's defaults into the definition, if it has others
        #[arg(long, env = "POOLGATE_POLICY", value_name = "FILE")]
        policy: Option<PathBuf>,
    },
}

/// Runs the command. A closed pipe is not a failure.
pub fn run(args: &CrdArgs) -> anyhow::Result<ExitCode> {
    let CrdCommand::Patch { policy } = &args.command;
    let read = policy.as_deref().map(policy_file::load).transpose()?;
    let defaults = read.map(|read| read.policy.defaults);
    let patched = patch(files::stdin(INPUT), defaults.as_ref())?;
    files::print(patched).context("the patched definition cannot be written")?;
    Ok(ExitCode::SUCCESS)
}

/// The input with the property added, and with these defaults.
fn patch(input: impl Read, defaults: Option<&DefaultValues>) -> anyhow::Result<String> {
    let text = read_text(input).map_err(|error| anyhow!("the input {error}"))?;
    patched(&text, defaults)
}

/// The text with the property added to every served version of every NodePool definition in it, and with other
/// default values, if any are given.
fn patched(text: &str, defaults: Option<&DefaultValues>) -> anyhow::Result<String> {
    let lines = Lines::new(text);
    let mut insertions = Vec::new();
    let mut wanted = Vec::new();
    let mut definitions = 0;
    for document in manifest::parse(text, &Limits::default()) {
        if let Some(problem) = document.unreadable() {
            let place = place(problem.span.start(), &lines);
            bail!("the input cannot be read, {place}: {problem}");
        }
        let present = Value::from(document.value());
        let mut value = present.clone();
        for definition in subject::definitions(&present) {
            definitions += 1;
            for (version, properties) in subject::unextended(&present, &definition)? {
                insertions.push(insertion(text, &document, &version, &properties, &lines)?);
                extend(&mut value, &properties);
            }
            let defaults = defaults.map(|defaults| defaults::overruled(&present, &definition, defaults));
            for overruled in defaults.into_iter().flatten() {
                insertions.push(replacement(text, &document, &overruled, &lines)?);
                replace(&mut value, &overruled);
            }
        }
        wanted.push(value);
    }
    ensure!(
        definitions > 0,
        "the input contains no CustomResourceDefinition of NodePools in the group karpenter.sh; \
         `kubectl get crd nodepools.karpenter.sh -o yaml` prints the installed one"
    );
    let patched = insertion::apply(text, insertions);
    // The last check before a definition is applied to a cluster.
    let is_meant = written::is_as_meant(text, &patched, |number, _, value| {
        wanted.get(number).map(Json::from).as_ref() == Some(value)
    });
    ensure!(
        is_meant,
        "the definition is laid out in a way that cannot be extended without changing something else"
    );
    Ok(patched)
}

/// The replacement of a default of one version.
fn replacement(
    text: &str,
    document: &Document<'_>,
    overruled: &Overruled,
    lines: &Lines<'_>,
) -> anyhow::Result<Insertion> {
    ensure!(
        overruled.is_taken,
        "version {} of the definition does not accept the policy's {} {}",
        overruled.version,
        overruled.field,
        overruled.wanted
    );
    let node = insertion::node_at(document, &overruled.path);
    let replacement = node.and_then(|node| insertion::in_place_of(text, node, &overruled.wanted));
    replacement.ok_or_else(|| layout(&overruled.version, &overruled.path, document, lines))
}

/// Replaces a default in the value of a document.
fn replace(value: &mut Value, overruled: &Overruled) {
    if let Some(default) = value.pointer_mut(&overruled.path.to_pointer()) {
        *default = overruled.wanted.clone();
    }
}

/// The error if the value at `path` cannot be edited.
fn layout(version: &str, path: &FieldPath, document: &Document<'_>, lines: &Lines<'_>) -> anyhow::Error {
    let place = place(document.span_of(path).map_or(0, Span::start), lines);
    anyhow!(
        "version {version} of the definition is laid out, {place}, in a way that cannot be extended without rewriting \
         it: pass it through `kubectl create --dry-run=client -o yaml -f -` first"
    )
}

fn place(offset: usize, lines: &Lines<'_>) -> String {
    let at = lines.position(offset);
    format!("line {}, column {}", at.line, at.column)
}

/// The insertion of the property into one version.
fn insertion(
    text: &str,
    document: &Document<'_>,
    version: &str,
    properties: &FieldPath,
    lines: &Lines<'_>,
) -> anyhow::Result<Insertion> {
    let node = insertion::node_at(document, properties);
    let entry = Entry {
        key: PROPERTY,
        value: &property(),
        yaml: PROPERTY_YAML,
        order: Order::Alphabetical,
    };
    let insertion = node.and_then(|node| insertion::into_mapping(text, node, &entry));
    insertion.ok_or_else(|| layout(version, properties, document, lines))
}

/// Adds the property to the value of a document.
fn extend(value: &mut Value, properties: &FieldPath) {
    let properties = value.pointer_mut(&properties.to_pointer());
    if let Some(properties) = properties.and_then(Value::as_object_mut) {
        properties.insert(PROPERTY.to_owned(), property());
    }
}

/// The schema of the property. Without a default: that would give every stored pool a mode at once.
fn property() -> Value {
    let entry = written::values(PROPERTY_YAML).next();
    entry
        .and_then(|entry| entry.get(PROPERTY).cloned())
        .unwrap_or_default()
}
