//! The commands on files, which `poolgate` and `poolgate-lint` share, and how a program runs what it has parsed.

use std::process::ExitCode;

use clap::{Command, CommandFactory as _, Parser, Subcommand};

use crate::budgets::{self, BudgetsArgs};
use crate::cluster::{Connect, files_only};
use crate::completions::{self, CompletionsArgs, ManArgs};
use crate::crd::{self, CrdArgs};
use crate::default::{self, DefaultArgs};
use crate::lint::{self, LintArgs};
use crate::policy::{self, PolicyArgs};
use crate::rules::{self, RulesArgs};
use crate::{examples, files};

/// The exit code of a run that could not do its work: a wrong flag, a file that cannot be read, a port in use.
const UNUSABLE: u8 = 2;

/// The commands on files.
#[derive(Debug, Subcommand)]
pub enum FileCommand {
    /// Check manifests: what the webhook would report for a new object, with line and column
    ///
    /// Exits with 0 if there is no error, whatever warnings and notes there are; 1 for an error, or for a warning about what
    /// Karpenter rejects anyway; 2 if something could not be read. --fail-on and --exit-zero change that.
    #[command(after_help = examples::LINT)]
    Lint(Box<LintArgs>),
    /// Print manifests as the cluster would store them: with the defaults of Karpenter and of poolgate
    ///
    /// Exits with 2 if something could not be read or completed, else with 0; with --diff as kubectl diff does: with 1 if
    /// something would change.
    #[command(after_help = examples::DEFAULT)]
    Default(DefaultArgs),
    /// Explain which budgets are active, how many nodes may be disrupted, and when that changes
    ///
    /// Exits with 0 if all is explained, 1 if a NodePool or a document could not be, 2 if a file cannot be read.
    #[command(after_help = examples::BUDGETS)]
    Budgets(Box<BudgetsArgs>),
    /// List the rules, search them for a word, or explain one
    #[command(after_help = examples::RULES)]
    Rules(RulesArgs),
    /// Check policy files, or print their JSON Schema
    #[command(after_help = examples::POLICY)]
    Policy(PolicyArgs),
    /// Add nodeLimitMode, or defaults, to the NodePool definition
    #[command(after_help = examples::CRD)]
    Crd(CrdArgs),
    /// Print a script for shell completion of commands and flags
    #[command(after_help = examples::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Print a manual page, for `man -l -`
    #[command(after_help = examples::MAN)]
    Man(ManArgs),
}

impl FileCommand {
    /// Runs the command of a program that connects to clusters like this. An error means that the command failed; a
    /// verdict is an exit code.
    pub fn run(&self, program: Command, connect: Connect) -> anyhow::Result<ExitCode> {
        match self {
            Self::Lint(args) => lint::run(args, connect),
            Self::Default(args) => default::run(args),
            Self::Budgets(args) => budgets::run(args, connect),
            Self::Rules(args) => rules::run(args),
            Self::Policy(args) => policy::run(args),
            Self::Crd(args) => crd::run(args),
            Self::Completions(args) => completions::completions(args, program),
            Self::Man(args) => completions::man(args, program),
        }
    }
}

/// Runs what was parsed and returns the exit code of the process.
pub fn run<C>(
    parsed: Result<C, clap::Error>,
    command: impl FnOnce(C) -> anyhow::Result<ExitCode>,
) -> ExitCode {
    match parsed.map(command) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            files::remark(&format!("error: {}", files::with_causes(&error)));
            UNUSABLE.into()
        }
        Err(error) => {
            // Help and version are also errors of the parser. A closed pipe is not a failure.
            let _ = error.print();
            u8::try_from(error.exit_code()).map_or(UNUSABLE.into(), ExitCode::from)
        }
    }
}

/// The commands of `poolgate` that work on files, without a network: poolgate-lint COMMAND does what poolgate COMMAND does.
#[derive(Debug, Parser)]
#[command(
    name = "poolgate-lint",
    version,
    propagate_version = true,
    max_term_width = 110,
    after_help = examples::POOLGATE_LINT
)]
struct Cli {
    #[command(subcommand)]
    command: FileCommand,
}

/// Runs the command line of the program `poolgate-lint` and returns its exit code.
pub fn run_alone() -> ExitCode {
    run(Cli::try_parse(), |cli| {
        cli.command.run(Cli::command(), files_only)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
