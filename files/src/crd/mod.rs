//! `poolgate crd`: adds the field that upstream's NodePool definition lacks, and the policy's defaults.
//!
//! The API server drops fields that a definition does not have, so `spec.disruption.nodeLimitMode` can only be stored
//! if the definition was extended. It also writes the definition's own defaults before it calls any webhook, so a
//! policy's defaults must be there to have an effect.

pub mod definition;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail, ensure};
use clap::{Args, Subcommand};
use poolgate_core::manifest::{self, Limits, Lines};
use poolgate_core::policy::DefaultValues;
use serde_json::Value;

use crate::edit::yaml;
use crate::policy_file;
use crate::sources::read_text;
use crate::terminal;

/// The name of the input in messages.
const INPUT: &str = "the NodePool CRD (kubectl get crd nodepools.karpenter.sh -o yaml)";

const EXAMPLES: &str = "\
Examples:
  kubectl get crd nodepools.karpenter.sh -o yaml | poolgate crd patch | kubectl replace -f -
  poolgate crd patch --policy policy.yaml <crd.yaml >patched.yaml";

#[derive(Debug, Args)]
pub struct CrdArgs {
    #[command(subcommand)]
    command: CrdCommand,
}

#[derive(Debug, Subcommand)]
enum CrdCommand {
    /// Print the NodePool CRD from standard input with `spec.disruption.nodeLimitMode` added
    ///
    /// The CRD may be YAML or JSON, alone, among other documents or in a List. The output has the same format, without
    /// comments. Other objects keep their values, and so does a CRD that has the field.
    #[command(after_help = EXAMPLES)]
    Patch {
        /// Also replace the defaults of the CRD that differ from those of this policy
        #[arg(long, env = "POOLGATE_POLICY", value_name = "FILE")]
        policy: Option<PathBuf>,
    },
}

/// Runs the command. A closed pipe is not a failure.
pub fn run(args: &CrdArgs) -> anyhow::Result<ExitCode> {
    let CrdCommand::Patch { policy } = &args.command;
    let read = policy.as_deref().map(policy_file::load).transpose()?;
    let defaults = read.map(|read| read.policy.defaults);
    let text = read_text(terminal::stdin(INPUT)).map_err(|error| anyhow!("the input {error}"))?;
    let patched = patched(&text, defaults.as_ref())?;
    terminal::print(patched).context("the patched CRD cannot be written")?;
    Ok(ExitCode::SUCCESS)
}

/// The documents of a text, with every NodePool definition extended.
fn patched(text: &str, defaults: Option<&DefaultValues>) -> anyhow::Result<String> {
    let lines = Lines::new(text);
    let mut documents = Vec::new();
    let mut extended = 0;
    for document in manifest::parse(text, &Limits::default()) {
        if let Some(problem) = document.unreadable() {
            let at = lines.position(problem.span.start());
            let (line, column) = (at.line, at.column);
            bail!("the input cannot be parsed, line {line}, column {column}: {problem}");
        }
        let mut document = document.into_value();
        for definition in definition::among(&mut document) {
            definition::extend(definition, defaults)?;
            extended += 1;
        }
        if !document.is_null() {
            documents.push(document);
        }
    }
    ensure!(
        extended > 0,
        "the input contains no NodePool CRD of the group karpenter.sh. \
         `kubectl get crd nodepools.karpenter.sh -o yaml` prints the installed one"
    );
    let is_json = text.trim_start_matches('\u{feff}').trim_start().starts_with('{');
    printed(&documents, is_json)
}

fn printed(documents: &[Value], as_json: bool) -> anyhow::Result<String> {
    let mut printed = String::new();
    for document in documents {
        if as_json {
            printed += &serde_json::to_string_pretty(document)?;
            printed += "\n";
        } else {
            printed += if printed.is_empty() { "" } else { "---\n" };
            printed += &yaml::document(document);
        }
    }
    Ok(printed)
}
