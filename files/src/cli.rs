//! The commands on files, which all programs share, and how a program runs what it has parsed.

mod examples;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use clap_complete::Shell;

use crate::budgets::{self, BudgetsArgs};
use crate::crd::{self, CrdArgs};
use crate::default::{self, DefaultArgs};
use crate::diff::{self, DiffArgs};
use crate::lint::{self, LintArgs};
use crate::lsp::{self, LspArgs};
use crate::policy::{self, PolicyArgs};
use crate::rules::{self, ExplainArgs, RulesArgs};
use crate::schema::{self, SchemaArgs};
use crate::sources::cluster::{Connect, FILES_ONLY, files_only};
use crate::terminal;
use crate::upgrade::{self, UpgradeArgs};
use crate::why::{self, PodArgs};

/// The exit code of a run that could not do its work: a wrong flag, a file that cannot be read, a port in use.
const UNUSABLE: u8 = 2;

/// The commands on files.
#[derive(Debug, Subcommand)]
pub enum FileCommand {
    /// Check manifests
    ///
    /// Reports what the webhook would report for a new object, with line and column.
    ///
    /// Exit codes: 0 no errors (warnings allowed), 1 errors, or warnings about what Karpenter rejects anyway, 2 could not
    /// read something. --fail-on and --exit-zero change that.
    #[command(after_help = examples::LINT)]
    Lint(Box<LintArgs>),
    /// Print manifests with their defaults, as the cluster stores them
    ///
    /// Exit codes: 0 done, 1 with --diff if something would change, 2 could not read or complete something.
    #[command(after_help = examples::DEFAULT)]
    Default(DefaultArgs),
    /// Show what a change of manifests does to nodes
    ///
    /// Shows which nodes are replaced, how fast, and which NodePools lose all their nodes.
    ///
    /// Exit codes: 0 compared, 1 if --exit-code, --max-drift or --fail-on-new applies, 2 could not read or compare something.
    #[command(after_help = examples::DIFF)]
    Diff(Box<DiffArgs>),
    /// Show how many nodes may be disrupted now or over a week, and why
    ///
    /// Exit codes: 0 all shown, 1 could not show a NodePool or a document, 2 could not read a file.
    #[command(after_help = examples::BUDGETS)]
    Budgets(Box<BudgetsArgs>),
    /// Show what another Karpenter release changes for NodePools
    ///
    /// Shows what it rejects, what it treats differently, and what is new for fields in use.
    ///
    /// Exit codes: 0 done, 1 a NodePool would be rejected, or with --exit-code treated differently, 2 something could not be
    /// read, or a release is not known.
    #[command(after_help = examples::UPGRADE)]
    Upgrade(Box<UpgradeArgs>),
    /// Check manifests in an editor, as a language server
    ///
    /// Reads and writes the Language Server Protocol on its standard streams. Shows what lint would show of the text in the
    /// editor, with its fixes, and explains rules, fields and schedules.
    ///
    /// Exit codes: 0 the editor has ended the session, 1 the editor was gone before that, 2 could not start.
    #[command(after_help = examples::LSP)]
    Lsp(Box<LspArgs>),
    /// Explain a rule, or a field of a NodePool
    #[command(after_help = examples::EXPLAIN)]
    Explain(ExplainArgs),
    /// List the rules
    #[command(after_help = examples::RULES)]
    Rules(RulesArgs),
    /// Print the JSON Schema of NodePools or node classes, for editors
    ///
    /// It has the enumerations and patterns of a release, the labels of a provider, and the bounds of a policy. Rules in CEL
    /// are missing, so what it accepts may be rejected: `poolgate lint` has them. If no release is named, that of --provider
    /// is its newest Karpenter.
    ///
    /// Exit codes: 0 printed, 2 no such definition is recorded, or a file could not be read.
    #[command(after_help = examples::SCHEMA)]
    Schema(Box<SchemaArgs>),
    /// Check or test policy files, or print their JSON Schema
    #[command(after_help = examples::POLICY)]
    Policy(PolicyArgs),
    /// Add nodeLimitMode or defaults to the NodePool CRD
    #[command(after_help = examples::CRD)]
    Crd(CrdArgs),
    /// Print a shell completion script
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
            Self::Diff(args) => diff::run(args, connect),
            Self::Budgets(args) => budgets::run(args, connect),
            Self::Upgrade(args) => upgrade::run(args, connect),
            Self::Lsp(args) => Ok(lsp::run(args)),
            Self::Explain(args) => rules::run_explain(args),
            Self::Rules(args) => rules::run(args),
            Self::Schema(args) => schema::run(args),
            Self::Policy(args) => policy::run(args),
            Self::Crd(args) => crd::run(args),
            Self::Completions(args) => completions(args, program),
            Self::Man(args) => man(args, program),
        }
    }
}

/// The commands of a program in groups, each with its heading, in place of clap's list.
pub fn grouped(mut program: Command, groups: &[(&str, &[&str])]) -> Command {
    program.build();
    let width = program
        .get_subcommands()
        .map(|command| command.get_name().len())
        .max();
    let mut text = String::new();
    for (heading, names) in groups {
        let _ = writeln!(text, "{heading}:");
        for command in names.iter().filter_map(|name| program.find_subcommand(name)) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(
                text,
                "  {:width$}  {about}",
                command.get_name(),
                width = width.unwrap_or_default()
            );
        }
        text.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}Options:\n{{options}}{{after-help}}"
    );
    program.help_template(template)
}

/// The groups of the commands on files.
pub const FILE_GROUPS: [(&str, &[&str]); 2] = [
    (
        "Check files",
        &["lint", "lsp", "diff", "default", "budgets", "upgrade", "policy"],
    ),
    ("Look up", &["explain", "rules", "schema"]),
];

/// The group of the other commands.
pub const OTHER_GROUP: (&str, &[&str]) = ("Other", &["crd", "completions", "man", "help"]);

/// Runs what was parsed and returns the exit code of the process.
pub fn run<C>(
    parsed: Result<C, clap::Error>,
    command: impl FnOnce(C) -> anyhow::Result<ExitCode>,
) -> ExitCode {
    match parsed.map(command) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            terminal::remark(&format!("error: {}", terminal::with_causes(&error)));
            UNUSABLE.into()
        }
        Err(error) => {
            // Help and version are also errors of the parser. A closed pipe is not a failure.
            let _ = error.print();
            u8::try_from(error.exit_code()).map_or(UNUSABLE.into(), ExitCode::from)
        }
    }
}

/// The commands of poolgate that work on files, without a network
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Alone,
}

/// The commands of the offline program.
#[derive(Debug, Subcommand)]
enum Alone {
    /// Explain why a pod gets no node
    Why {
        /// What to explain
        #[command(subcommand)]
        about: About,
    },
    #[command(flatten)]
    Files(FileCommand),
}

/// What the offline program's `why` explains.
#[derive(Debug, Subcommand)]
enum About {
    /// Show which NodePool takes a pod, and why the others do not
    Pod(Box<PodArgs>),
}

/// The commands that only the whole program has.
const OF_THE_WHOLE_PROGRAM: [&str; 11] = [
    "admit",
    "certificates",
    "freeze",
    "gate",
    "reconcile",
    "rollout",
    "serve",
    "status",
    "unfreeze",
    "why node",
    "why pool",
];

/// Runs the command line of the offline program, which is installed under this name, and returns its exit code.
pub fn run_alone(name: &'static str) -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let parsed = alone(name)
        .try_get_matches_from(&arguments)
        .and_then(|matches| Cli::from_arg_matches(&matches))
        .map_err(|error| explained(error, &arguments));
    run(parsed, |cli| match cli.command {
        Alone::Why {
            about: About::Pod(args),
        } => why::run(&args),
        Alone::Files(command) => command.run(alone(name), files_only),
    })
}

/// The command line of the offline program.
fn alone(name: &'static str) -> Command {
    let [files, lookup] = FILE_GROUPS;
    let program = Cli::command()
        .name(name)
        .after_help(examples::ALONE.replace("PROGRAM", name));
    grouped(program, &[files, ("Explain", &["why"]), lookup, OTHER_GROUP])
}

/// The error for these arguments. For a command that the offline program lacks, it says where that command is.
fn explained(error: clap::Error, arguments: &[OsString]) -> clap::Error {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let words = || {
        let words = arguments.iter().skip(1).filter_map(|word| word.to_str());
        words.filter(|word| !word.starts_with('-'))
    };
    let asked = OF_THE_WHOLE_PROGRAM
        .into_iter()
        .find(|command| command.split(' ').eq(words().take(command.split(' ').count())));
    match asked {
        Some(command) => clap::Error::raw(ErrorKind::InvalidSubcommand, format!("{command}: {FILES_ONLY}\n")),
        None => error,
    }
}

/// The flags of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell to print the script for
    #[arg(value_enum)]
    shell: Shell,
}

/// The flags of `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The command to describe [default: the whole program]
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

/// Prints a script that a shell reads at its start.
fn completions(args: &CompletionsArgs, mut cli: Command) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    let program = cli.get_name().to_owned();
    clap_complete::generate(args.shell, &mut cli, program, &mut script);
    terminal::print(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a page of the manual, as `man` reads it.
fn man(args: &ManArgs, mut cli: Command) -> anyhow::Result<ExitCode> {
    cli.build();
    let subject = match &args.command {
        None => cli,
        Some(name) => {
            let commands: Vec<&str> = cli.get_subcommands().map(Command::get_name).collect();
            let known = commands.join(", ");
            cli.find_subcommand(name).cloned().ok_or_else(|| {
                anyhow::anyhow!(
                    "there is no command {}. The commands are {known}",
                    name.escape_debug()
                )
            })?
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(subject).render(&mut page)?;
    terminal::print(&page)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    #[test]
    fn each_command_that_reads_manifests_has_the_same_flags_for_it() {
        let program = Cli::command();
        for path in [
            &["lint"][..],
            &["default"],
            &["budgets"],
            &["diff"],
            &["policy", "test"],
        ] {
            let command = path.iter().fold(&program, |command, name| {
                command.find_subcommand(name).expect("a command")
            });
            let flags: Vec<&str> = command.get_arguments().filter_map(Arg::get_long).collect();
            for flag in [
                "exclude",
                "envsubst",
                "stdin-filename",
                "policy",
                "isolated",
                "karpenter-version",
                "crd",
            ] {
                assert!(flags.contains(&flag), "{path:?} --{flag}");
            }
        }
    }

    #[test]
    fn command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
