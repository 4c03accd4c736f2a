//! `poolgate default`: writes into manifests the defaults that the cluster would store: those of Karpenter's
//! definition, then those of admission. Everything else stays as it is.

mod text;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use poolgate_core::facts::TargetKarpenter;
use poolgate_core::policy::Policy;

use crate::edit;
use crate::format::summary;
use crate::format::tally::{self, Count};
use crate::input::{InputArgs, Manifests, Unread};
use crate::sources::{Input, Source, Written};
use crate::terminal;

/// The exit code of --diff if something would change.
const DIFFERENT: u8 = 1;
/// Something was not read or could not be completed.
const TROUBLE: u8 = 2;

#[derive(Debug, Args)]
pub struct DefaultArgs {
    /// Files, directories, or - for standard input
    #[arg(default_value = "-", value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Show the changes instead of the manifest
    #[arg(long, conflicts_with = "write")]
    diff: bool,

    /// Write the defaults into the files. Comments and layout stay
    #[arg(long)]
    write: bool,

    /// Also write nodeLimitMode, for clusters whose NodePool CRD has the field
    #[arg(long)]
    node_limit_mode: bool,

    #[command(flatten, next_help_heading = "Read")]
    input: InputArgs,
}

/// The sources of the defaults.
#[derive(Debug)]
struct Defaults<'a> {
    policy: &'a Policy,
    karpenter: &'a TargetKarpenter,
    with_mode: bool,
}

/// The result of a run so far.
#[derive(Debug, Default)]
struct Tally {
    pools: usize,
    changed: usize,
    troubles: usize,
    /// What was left out.
    skipped: tally::Tally,
    /// The release whose defaults were written, in words, if it is assumed.
    assumed: Option<String>,
}

/// Runs the command. A closed pipe is not a failure.
pub fn run(args: &DefaultArgs) -> anyhow::Result<ExitCode> {
    if args.write && terminal::names_stdin(&args.paths) {
        bail!("--write cannot change standard input. Name the files");
    }
    terminal::refuse_typed(&args.paths)?;
    let manifests = args.input.manifests(&args.paths, &Written::stdout())?;
    let projects = &manifests.projects;
    for file in projects.found().filter_map(|found| found.file.as_deref()) {
        terminal::remark(&format!("using the defaults of policy {}", terminal::clean(file)));
    }
    for caution in projects.cautions(&manifests.karpenter) {
        terminal::remark(&caution);
    }
    let mut tally = Tally {
        skipped: manifests.skipped(),
        ..Tally::default()
    };
    let prints = !args.write && !args.diff;
    let inputs = &manifests.inputs;
    let is_one = inputs.len() == 1 && inputs.iter().all(|input| input.is_named);
    for input in inputs {
        match printed(args, &manifests, input, &mut tally) {
            Ok(text) if prints && !is_one && !text.is_empty() => {
                terminal::print(with_source(&input.name, &text))?;
            }
            Ok(text) => terminal::print(text)?,
            Err(error) => {
                tally.troubles += 1;
                terminal::remark(&format!(
                    "error: {} {}",
                    input.name,
                    terminal::with_causes(&error)
                ));
            }
        }
    }
    if tally.pools == 0 && tally.troubles == 0 {
        terminal::remark("no NodePool found");
    }
    if let Some(skipped) = summary::skipped(&tally.skipped) {
        terminal::remark(&skipped);
    }
    if let Some(release) = &tally.assumed {
        let assumed = terminal::ASSUMED_RELEASE;
        terminal::remark(&format!(
            "the defaults are those of Karpenter {release} {assumed}"
        ));
    }
    Ok(match tally {
        Tally { troubles: 1.., .. } => TROUBLE.into(),
        Tally { changed: 1.., .. } if args.diff => DIFFERENT.into(),
        _ => ExitCode::SUCCESS,
    })
}

/// The output for one input. Completes every object that it can, even if another one is broken.
fn printed(
    args: &DefaultArgs,
    manifests: &Manifests,
    input: &Input,
    tally: &mut Tally,
) -> anyhow::Result<String> {
    let before = match manifests.read(input) {
        Ok(before) => before,
        // A file that is named and printed must be text.
        Err(Unread::NotText(error)) if input.is_named && !args.diff && !args.write => {
            return Err(error.into());
        }
        Err(Unread::NotText(_)) => {
            tally.skipped.add(Count::NotText, 1);
            return Ok(String::new());
        }
        Err(Unread::Failed(error)) => return Err(error.into()),
    };
    let defaults = Defaults {
        policy: &manifests.project(input).policy,
        karpenter: manifests.karpenter_of(input),
        with_mode: args.node_limit_mode,
    };
    let completed = text::complete(&before, &defaults);
    tally.pools += completed.pools;
    for left in &completed.left {
        terminal::remark(&format!("{}:{left}", input.name));
    }
    for trouble in &completed.troubles {
        tally.troubles += 1;
        terminal::remark(&format!("error: {}:{trouble}", input.name));
    }
    let is_changed = completed.text != before.text;
    tally.changed += usize::from(is_changed);
    if is_changed && defaults.karpenter.is_assumed() {
        tally.assumed = Some(defaults.karpenter.called());
    }
    if args.diff {
        let diff = is_changed.then(|| edit::diff(&input.name, "defaults", &before.text, &completed.text));
        return Ok(diff.unwrap_or_default());
    }
    if !args.write {
        return Ok(completed.text);
    }
    if let Source::File(path) = &input.source
        && is_changed
    {
        edit::replace(path, &completed.text).context("cannot be written")?;
        terminal::remark(&format!("{}: defaults written", input.name));
    }
    Ok(String::new())
}

/// A text as a part of a stream, with its file as `helm template` names it.
fn with_source(name: &str, text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // A comment stands before the mark of the document too.
    let mark = if text.starts_with("---") { "" } else { "---\n" };
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{mark}# Source: {name}\n{text}{end}")
}
