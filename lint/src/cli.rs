//! The command line of `poolgate-lint`, and the commands that it shares with `poolgate`.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::budgets::{self, BudgetsArgs};
use crate::cluster::{Connect, files_only};
pub use crate::completions::{CompletionsArgs, ManArgs, completions, man};
use crate::crd::{self, CrdArgs};
use crate::default::{self, DefaultArgs};
pub use crate::lint::{LintArgs, run as lint};
use crate::policy::{self, PolicyArgs};
use crate::rules::{self, RulesArgs};
use crate::{examples, files};

pub use crate::examples::LINT as LINT_EXAMPLES;

/// The exit code of a run that could not do its work: a wrong flag, a file that cannot be read, a port in use.
const UNUSABLE: u8 = 2;

/// The commands on files besides `lint`.
#[derive(Debug, Subcommand)]
pub enum FileCommand {
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
}

impl FileCommand {
    /// Runs the command. An error means that the command failed; a verdict is an exit code.
    pub fn run(&self, connect: Connect) -> anyhow::Result<ExitCode> {
        match self {
            Self::Default(args) => default::run(args),
            Self::Budgets(args) => budgets::run(args, connect),
            Self::Rules(args) => rules::run(args),
            Self::Policy(args) => policy::run(args),
            Self::Crd(args) => crd::run(args),
        }
    }
}

/// Check Karpenter NodePools in files: mistakes at their line and column, as poolgate's webhook would report them for a
/// new object
///
/// This is `poolgate lint`, and the commands of `poolgate` that work on files: where a text names `poolgate COMMAND`,
/// `poolgate-lint COMMAND` is the same.
///
/// Exits with 0 if there is no error, whatever warnings and notes there are; 1 for an error, or for a warning about what
/// Karpenter rejects anyway; 2 if something could not be read. --fail-on and --exit-zero change that.
#[derive(Debug, Parser)]
#[command(
    name = PROGRAM,
    version,
    propagate_version = true,
    max_term_width = 110,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true,
    after_help = examples::LINT
)]
struct Cli {
    #[command(subcommand)]
    command: Option<OtherCommand>,

    #[command(flatten)]
    lint: LintArgs,
}

/// The program of this package.
const PROGRAM: &str = "poolgate-lint";

/// What `poolgate-lint` does besides checking files.
#[derive(Debug, Subcommand)]
enum OtherCommand {
    #[command(flatten)]
    Files(FileCommand),
    /// Print a script for shell completion of commands and flags
    Completions(CompletionsArgs),
    /// Print a manual page, for `man -l -`
    Man(ManArgs),
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

/// Runs `poolgate-lint` with these arguments, the first of which is the name of the program.
pub(crate) fn run_alone(arguments: &[OsString]) -> ExitCode {
    run(parse(arguments), |cli| match &cli.command {
        None => lint(&cli.lint, files_only),
        Some(OtherCommand::Files(command)) => command.run(files_only),
        Some(OtherCommand::Completions(args)) => completions(args, program()),
        Some(OtherCommand::Man(args)) => man(args, program()),
    })
}

fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let mut program = program();
    let mut matches = program.try_get_matches_from_mut(arguments)?;
    let cli = Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut program))?;
    // In a hook, a folder that is named like a command must not be taken for it: nothing would be checked.
    match arguments.get(1).map(Path::new) {
        Some(word) if cli.command.is_some() && word.exists() => {
            let word = word.display();
            let why = format!(
                "`{word}` is a command, and there is a file or folder of this name here: write ./{word} to check it, or \
                 run the command elsewhere"
            );
            Err(program.error(ErrorKind::InvalidSubcommand, why))
        }
        _ => Ok(cli),
    }
}

/// The command line, with examples as they are typed for this program.
fn program() -> Command {
    typed(Cli::command())
}

fn typed(command: Command) -> Command {
    let command = match command.get_after_help().map(ToString::to_string) {
        Some(examples) => {
            let examples = examples.replace("poolgate lint", PROGRAM);
            command.after_help(examples.replace("poolgate ", "poolgate-lint "))
        }
        None => command,
    };
    command.mut_subcommands(typed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        program().debug_assert();
    }
}
