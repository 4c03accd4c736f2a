//! The command line: which commands there are. What a command takes and does is in its own module.

mod examples;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::certificates::{self, CertificatesArgs};
use crate::commands::admit::{self, AdmitArgs};
use crate::commands::budgets::{self, BudgetsArgs};
use crate::commands::completions::{self, CompletionsArgs, ManArgs};
use crate::commands::crd::{self, CrdArgs};
use crate::commands::default::{self, DefaultArgs};
use crate::commands::policy::{self, PolicyArgs};
use crate::commands::rules::{self, RulesArgs};
use crate::lint::{self, LintArgs};
use crate::reconciler::{self, ReconcileArgs};
use crate::status::{self, StatusArgs};
use crate::webhook::{self, ServeArgs};

/// The admission webhook and policy server for Karpenter NodePools.
#[derive(Debug, Parser)]
#[command(
    name = "poolgate",
    version,
    about,
    propagate_version = true,
    max_term_width = 110,
    after_help = examples::POOLGATE
)]
struct Cli {
    /// What to do.
    #[command(subcommand)]
    command: Command,
}

/// The file name of the kubectl plugin for `kubectl nodepool-lint`.
const PLUGIN: &str = "kubectl-nodepool_lint";

/// Check NodePool manifests: mistakes at their line and column, as poolgate's webhook would report them for a new
/// object
///
/// Exits with 0 if there is nothing to report, 1 for findings, 2 if something could not be read.
#[derive(Debug, Parser)]
#[command(
    name = "kubectl nodepool-lint",
    bin_name = "kubectl nodepool-lint",
    version,
    about,
    long_about,
    max_term_width = 110,
    after_help = examples::PLUGIN
)]
struct Plugin {
    #[command(flatten)]
    lint: LintArgs,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Answer the API server's admission reviews over HTTPS
    #[command(after_help = examples::SERVE)]
    Serve(Box<ServeArgs>),
    /// Keep Karpenter within node limits: hold nodes that cannot be replaced, terminate what is above a limit if asked to
    #[command(after_help = examples::RECONCILE)]
    Reconcile(Box<ReconcileArgs>),
    /// Keep the certificates of a cluster without cert-manager: a CA, the serving certificate, caBundle of the webhooks
    #[command(after_help = examples::CERTIFICATES)]
    Certificates(Box<CertificatesArgs>),
    /// Show the state of poolgate in a cluster: which webhooks answer, which policy is in force, how full the NodePools are
    ///
    /// Exits with 0 if all is well, 1 if something is wrong, 2 if something could not be read.
    #[command(after_help = examples::STATUS)]
    Status(StatusArgs),
    /// Check manifests: mistakes at their line and column, as the webhook would report them for a new object
    ///
    /// Exits with 0 if there is nothing to report, 1 for findings, 2 if something could not be read.
    #[command(after_help = examples::LINT)]
    Lint(LintArgs),
    /// Answer one AdmissionReview from standard input: the webhook without the network
    ///
    /// Exits with 0 if the object is admitted, 1 if it is denied, 2 if there is no answer.
    #[command(after_help = examples::ADMIT)]
    Admit(AdmitArgs),
    /// Print manifests as the cluster would store them: with the defaults of Karpenter and of poolgate
    ///
    /// Exits with 0, with --diff as kubectl diff does: 0 if nothing would change, 1 if something would, 2 for trouble.
    #[command(after_help = examples::DEFAULT)]
    Default(DefaultArgs),
    /// Explain which budgets hold, how many nodes may go, and when that changes
    #[command(after_help = examples::BUDGETS)]
    Budgets(BudgetsArgs),
    /// List the rules, or explain one
    #[command(after_help = examples::RULES)]
    Rules(RulesArgs),
    /// Check policy files
    #[command(after_help = examples::POLICY)]
    Policy(PolicyArgs),
    /// Extend the NodePool definition
    #[command(after_help = examples::CRD)]
    Crd(CrdArgs),
    /// Print a script that completes commands and flags in a shell
    #[command(after_help = examples::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Print a page of the manual, as `man -l -` reads it
    #[command(after_help = examples::MAN)]
    Man(ManArgs),
}

impl Command {
    /// Parses the arguments, the first of which is the name of the program. Under its name as a kubectl plugin the
    /// program is `poolgate lint`.
    pub fn parse(arguments: &[OsString]) -> Result<Self, clap::Error> {
        let name = arguments.first().map(Path::new);
        if name.is_some_and(|name| name.file_stem().is_some_and(|stem| stem == PLUGIN)) {
            return Plugin::try_parse_from(arguments).map(|plugin| Self::Lint(plugin.lint));
        }
        Cli::try_parse_from(arguments).map(|cli| cli.command)
    }

    /// Runs the command. An error means that the command failed; a verdict is an exit code.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Serve(args) => webhook::serve(*args),
            Self::Reconcile(args) => reconciler::reconcile(*args),
            Self::Certificates(args) => certificates::certificates(&args),
            Self::Status(args) => status::run(&args),
            Self::Lint(args) => lint::run(&args),
            Self::Admit(args) => admit::run(&args),
            Self::Default(args) => default::run(&args),
            Self::Budgets(args) => budgets::run(&args),
            Self::Rules(args) => rules::run(&args),
            Self::Policy(args) => policy::run(&args),
            Self::Crd(args) => crd::run(&args),
            Self::Completions(args) => completions::completions(&args, Cli::command()),
            Self::Man(args) => completions::man(&args, Cli::command()),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
        Plugin::command().debug_assert();
    }

    #[test]
    fn every_flag_of_what_runs_on_has_a_variable() {
        let cli = Cli::command();
        let commands =
            ["serve", "reconcile", "certificates"].map(|name| cli.find_subcommand(name).expect(name));
        for argument in commands
            .into_iter()
            .flat_map(clap::Command::get_arguments)
            .filter(|argument| argument.get_id() != "help")
        {
            let variable = argument.get_env().map(|name| name.to_string_lossy().into_owned());
            let flag = argument.get_long().expect("a long name");
            assert_eq!(
                variable,
                Some(format!("POOLGATE_{}", flag.replace('-', "_").to_uppercase())),
                "{flag}"
            );
        }
    }
}
