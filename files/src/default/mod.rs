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
use crate::review_args::{NearestReviewArgs, Policies};
use crate::sources::{self, Excluded, Input, Patches, Source};
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

    #[command(flatten)]
    review_args: NearestReviewArgs,
}

/// The sources of the defaults.
#[derive(Debug)]
struct Defaults<'a> {
    policy: &'a Policy,
    karpenter: &'a TargetKarpenter,
    with_mode: bool,
}

/// What all inputs share.
#[derive(Debug)]
struct DefaultRun<'a> {
    args: &'a DefaultArgs,
    policies: Policies,
    karpenter: TargetKarpenter,
    patches: Patches,
}

/// The result of a run so far.
#[derive(Debug, Default)]
struct Tally {
    pools: usize,
    changed: usize,
    troubles: usize,
    /// The release whose defaults were written, in words, if it is assumed.
    assumed: Option<String>,
}

/// Runs the command. A closed pipe is not a failure.
pub fn run(args: &DefaultArgs) -> anyhow::Result<ExitCode> {
    if args.write && terminal::names_stdin(&args.paths) {
        bail!("--write cannot change standard input. Name the files");
    }
    terminal::refuse_typed(&args.paths)?;
    let inputs = sources::find(&args.paths, None, &Excluded::nothing());
    sources::spare_by_stdout(&inputs.files)?;
    let work = DefaultRun {
        args,
        policies: args.review_args.policies(sources::folders(&inputs.files))?,
        karpenter: args.review_args.karpenter(),
        patches: Patches::among(&inputs.files),
    };
    for file in work.policies.found().filter_map(|found| found.file.as_deref()) {
        terminal::remark(&format!("using the defaults of policy {}", terminal::clean(file)));
    }
    for caution in work.policies.cautions(&work.karpenter) {
        terminal::remark(&caution);
    }
    let mut tally = Tally::default();
    let prints = !args.write && !args.diff;
    let is_one = inputs.files.len() == 1 && inputs.files.iter().all(|input| input.is_named);
    for input in &inputs.files {
        match work.printed(input, &mut tally) {
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

impl DefaultRun<'_> {
    /// The output for one input. Completes every object that it can, even if another one is broken.
    fn printed(&self, input: &Input, tally: &mut Tally) -> anyhow::Result<String> {
        let before = match input.read() {
            // A file that is named and printed must be text.
            Err(error) if error.is_unrelated() && (self.args.diff || self.args.write || !input.is_named) => {
                return Ok(String::new());
            }
            read => read?,
        };
        let templates = input.templates(&before);
        let found = self.policies.for_folder(input.folder());
        let defaults = Defaults {
            policy: &found.policy,
            karpenter: found.karpenter(&self.karpenter),
            with_mode: self.args.node_limit_mode,
        };
        let completed = text::complete(&before, &templates, self.patches.whole(input), &defaults);
        tally.pools += completed.pools;
        for left in &completed.left {
            terminal::remark(&format!("{}:{left}", input.name));
        }
        for trouble in &completed.troubles {
            tally.troubles += 1;
            terminal::remark(&format!("error: {}:{trouble}", input.name));
        }
        let is_changed = completed.text != before;
        tally.changed += usize::from(is_changed);
        if is_changed && defaults.karpenter.is_assumed() {
            tally.assumed = Some(defaults.karpenter.called());
        }
        if self.args.diff {
            let diff = is_changed.then(|| edit::diff(&input.name, "defaults", &before, &completed.text));
            return Ok(diff.unwrap_or_default());
        }
        if !self.args.write {
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
}

/// A text as a part of a stream, with its file as `helm template` names it.
fn with_source(name: &str, text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // A comment stands before the mark of the document too.
    let mark = if text.starts_with("---") { "" } else { "---\n" };
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{mark}# Source: {name}\n{text}{end}")
}
