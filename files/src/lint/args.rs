//! The flags of `lint`.

use std::borrow::Cow;
use std::path::PathBuf;

use clap::builder::UnknownArgumentValueParser;
use clap::{Arg, Args, ColorChoice, ValueEnum};
use jiff::Timestamp;

use crate::check::Selection;
use crate::format::Format;
use crate::format::output::{self, Wanted};
use crate::input::InputArgs;
use crate::review_args::instant;
use crate::sources::RenderArgs;
use crate::sources::cluster::StoredArgs;

/// What the flag of the format is called elsewhere: an error that names the one here.
fn names_output() -> Arg {
    let suggestion = UnknownArgumentValueParser::suggest_arg("--output");
    Arg::new("format")
        .long("format")
        .hide(true)
        .value_parser(suggestion)
}

#[derive(Debug, Args)]
#[command(
    arg = names_output(),
    mut_arg("kustomize", |arg| arg.conflicts_with_all(["paths", "cluster"])),
    mut_arg("helm", |arg| arg.conflicts_with_all(["paths", "cluster"])),
)]
pub struct LintArgs {
    /// Files, directories, or - for standard input [default: the current directory]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Write a fix into the files where only one is possible. Comments and layout stay
    #[arg(long, conflicts_with = "cluster")]
    pub(crate) fix: bool,

    #[command(flatten)]
    pub(crate) instead: Instead,

    /// The output format: human, concise, json, github, gitlab, junit or sarif. With =FILE, it is written to a file.
    /// May be repeated [default: human]
    #[arg(short, long, value_name = "FORMAT[=FILE]", value_parser = output::on_command_line(), hide_possible_values = true)]
    output: Vec<Wanted>,

    /// Treat the input as a complete cluster: also check NodePools against each other. Implied by --cluster
    #[arg(long)]
    pub(crate) together: bool,

    /// Check as of this time, such as 2027-06-30 or 2027-06-30T12:00:00Z, at which exemptions may have ended [default: now]
    #[arg(long, value_name = "TIME", value_parser = instant)]
    pub(crate) at: Option<Timestamp>,

    #[command(flatten, next_help_heading = "Select")]
    pub(crate) selection: Selection,

    #[command(flatten, next_help_heading = "Exit code")]
    pub(crate) failure: Failure,

    #[command(flatten, next_help_heading = "Read")]
    pub(crate) input: InputArgs,

    #[command(flatten, next_help_heading = "Render")]
    pub(crate) rendering: RenderArgs,

    #[command(flatten, next_help_heading = "Cluster")]
    pub(crate) stored: StoredArgs,

    /// Write a policy report on each NodePool to the cluster (openreports.io/v1alpha1, or wgpolicyk8s.io/v1alpha2)
    #[arg(long, requires = "cluster", help_heading = "Cluster")]
    pub(crate) report: bool,

    /// When to colour the human format
    #[arg(
        long,
        value_enum,
        default_value = "auto",
        value_name = "WHEN",
        help_heading = "Look"
    )]
    pub(crate) color: ColorChoice,

    /// The URL of the published page of rules. Findings link to it in human and sarif
    #[arg(long, env = "POOLGATE_RULES_URL", value_name = "URL", help_heading = "Look")]
    pub(crate) rules_url: Option<String>,
}

impl LintArgs {
    /// The files and directories to check.
    pub(crate) fn paths(&self) -> Cow<'_, [PathBuf]> {
        if self.paths.is_empty() {
            Cow::Owned(vec![PathBuf::from(".")])
        } else {
            Cow::Borrowed(&self.paths)
        }
    }

    /// The formats, including those printed instead of findings.
    pub(crate) fn formats(&self) -> Vec<Wanted> {
        let instead = [
            (self.instead.diff, Format::Diff),
            (self.instead.statistics, Format::Statistics),
        ];
        let instead = instead.into_iter().filter(|(is_wanted, _)| *is_wanted);
        let instead = instead.map(|(_, format)| Wanted { format, file: None });
        instead.chain(self.output.iter().cloned()).collect()
    }

    /// Whether files are changed.
    pub(crate) fn writes_fixes(&self) -> bool {
        self.fix && !self.instead.diff
    }
}

/// What is printed instead of findings.
#[derive(Debug, Args)]
pub struct Instead {
    /// Show the changes of --fix without writing them. Exits with 1 if there are any
    #[arg(long, requires = "fix")]
    pub(crate) diff: bool,

    /// Print the number of findings of each rule instead of the findings
    #[arg(long)]
    statistics: bool,
}

/// What makes a run fail.
#[derive(Debug, Args)]
pub struct Failure {
    /// Exit with 1 for findings of this severity or higher
    #[arg(long, value_enum, default_value = "error", value_name = "SEVERITY")]
    pub(crate) fail_on: FailOn,

    /// Exit with 0 even if there are errors. Unreadable input still exits with 2
    #[arg(long)]
    pub(crate) exit_zero: bool,

    /// Exit with 1 if the input has no NodePool or NodeClaim
    #[arg(long)]
    pub(crate) fail_if_empty: bool,
}

/// The lowest severity that fails a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Only errors, which the webhook or Karpenter rejects.
    Error,
    /// Errors and warnings.
    Warning,
}
