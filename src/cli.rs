//! The commands of the command line. The flags and the work of a command are in its own module.

mod examples;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use poolgate_files::cli::{FILE_GROUPS, FileCommand, grouped};

use crate::certificates::{self, CertificatesArgs};
use crate::cluster::ClusterReader;
use crate::gate::{self, GateArgs};
use crate::reconcile::{self, ReconcileArgs};
use crate::review::{self, AdmitArgs, ServeArgs};
use crate::status::{self, FreezeArgs, RolloutArgs, StatusArgs, UnfreezeArgs, WhyArgs};

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
    #[command(subcommand)]
    command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the admission webhook for NodePools
    #[command(after_help = examples::SERVE)]
    Serve(Box<ServeArgs>),
    /// Run the node limit webhook: deny NodeClaims above limits.nodes
    ///
    /// Serves /gate, which fails open, and /gate/strict, which fails closed. Requires a cluster.
    #[command(after_help = examples::GATE)]
    Gate(Box<GateArgs>),
    /// Run the reconciler that keeps Karpenter within node limits
    ///
    /// Holds nodes that cannot be replaced at a limit. Terminates nodes above a limit if the policy or the pool
    /// says so.
    #[command(after_help = examples::RECONCILE)]
    Reconcile(Box<ReconcileArgs>),
    /// Issue and renew the webhooks' certificates without cert-manager
    #[command(after_help = examples::CERTIFICATES)]
    Certificates(Box<CertificatesArgs>),
    /// Show whether poolgate works, and how full the NodePools are
    ///
    /// Exit codes: 0 all is well; 1 something is wrong; 2 something could not be read.
    #[command(after_help = examples::STATUS)]
    Status(StatusArgs),
    /// Explain why a node stays, or why a pod gets none
    #[command(after_help = examples::WHY)]
    Why(WhyArgs),
    /// Show how many nodes a change has replaced, or wait until it has replaced all
    ///
    /// Exit codes: 0 all outdated nodes are replaced; 1 some are not, or cannot be in time; 2 something could not
    /// be read.
    #[command(after_help = examples::ROLLOUT)]
    Rollout(RolloutArgs),
    /// Keep Karpenter and poolgate from disrupting the nodes of NodePools until a time
    ///
    /// Does not stop commands that Karpenter has begun, expiration, interruption, the repair of broken nodes, and fewer
    /// replicas of a static pool.
    ///
    /// Exit codes: 0 all nodes are marked; 1 no reconciler that writes is leading, or a node is not marked after 30 s; 2
    /// something could not be read or written.
    #[command(after_help = examples::FREEZE)]
    Freeze(FreezeArgs),
    /// End the freeze of NodePools
    ///
    /// Exit codes: 0 no node is marked; 1 no reconciler that writes is leading, or a node is marked after 30 s; 2 something
    /// could not be read or written.
    #[command(after_help = examples::UNFREEZE)]
    Unfreeze(UnfreezeArgs),
    /// Answer one AdmissionReview from standard input
    ///
    /// The object is checked as it is in the review. The API server has completed it by its CRD before it asks.
    ///
    /// Exit codes: 0 admitted; 1 denied; 2 no answer.
    #[command(after_help = examples::ADMIT)]
    Admit(AdmitArgs),
    #[command(flatten)]
    Files(FileCommand),
}

impl Command {
    /// Parses the arguments, which begin with the program's name.
    pub fn parse(arguments: &[OsString]) -> Result<Self, clap::Error> {
        let [files, lookup] = FILE_GROUPS;
        let groups = [
            files,
            ("Ask a cluster", &["status", "why", "rollout"]),
            ("Change a cluster", &["freeze", "unfreeze"]),
            (
                "Run in a cluster",
                &["serve", "gate", "reconcile", "certificates"],
            ),
            lookup,
            ("Other", &["admit", "crd", "completions", "man", "help"]),
        ];
        let matches = grouped(Cli::command(), &groups).try_get_matches_from(arguments)?;
        Cli::from_arg_matches(&matches).map(|cli| cli.command)
    }

    /// Runs the command. An error means that the command failed; a verdict is an exit code.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Serve(args) => review::serve(*args),
            Self::Gate(args) => gate::gate(*args),
            Self::Reconcile(args) => reconcile::reconcile(*args),
            Self::Certificates(args) => certificates::certificates(&args),
            Self::Status(args) => status::run(&args),
            Self::Why(args) => status::why(&args),
            Self::Rollout(args) => status::rollout(&args),
            Self::Freeze(args) => status::freeze(&args),
            Self::Unfreeze(args) => status::unfreeze(&args),
            Self::Admit(args) => review::admit(&args),
            Self::Files(command) => command.run(Cli::command(), ClusterReader::lend),
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
    }

    #[test]
    fn every_flag_of_what_runs_on_has_a_variable() {
        let cli = Cli::command();
        let commands =
            ["serve", "gate", "reconcile", "certificates"].map(|name| cli.find_subcommand(name).expect(name));
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
