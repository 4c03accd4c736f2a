//! The command line: which commands there are. What a command takes and does is in its own module.

mod examples;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use poolgate_files::cli::FileCommand;

use crate::certificates::{self, CertificatesArgs};
use crate::cluster::ClusterReader;
use crate::gate::{self, GateArgs};
use crate::reconcile::{self, ReconcileArgs};
use crate::review::{self, AdmitArgs, ServeArgs};
use crate::status::{self, RolloutArgs, StatusArgs};

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

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Answer the API server's reviews of NodePools over HTTPS
    #[command(after_help = examples::SERVE)]
    Serve(Box<ServeArgs>),
    /// Answer whether a NodeClaim may be created: hold the node limits of NodePools. Needs a cluster
    ///
    /// At /gate and /gate/strict, by the spec.limits.nodes of its NodePool; what cannot be decided, the first admits and the
    /// second denies.
    #[command(after_help = examples::GATE)]
    Gate(Box<GateArgs>),
    /// Keep Karpenter within node limits: hold nodes that cannot be replaced, terminate nodes above a limit if asked to
    #[command(after_help = examples::RECONCILE)]
    Reconcile(Box<ReconcileArgs>),
    /// Issue and renew the webhooks' CA, certificate and caBundle without cert-manager
    #[command(after_help = examples::CERTIFICATES)]
    Certificates(Box<CertificatesArgs>),
    /// Show the state of poolgate in a cluster: which webhooks answer, which policy is in force, how full the NodePools are
    ///
    /// Exits with 0 if all is well, 1 if something is wrong, 2 if something could not be read.
    #[command(after_help = examples::STATUS)]
    Status(StatusArgs),
    /// Show how many nodes of NodePools have been replaced after a change, or wait until all are
    ///
    /// Exits with 0 if all are, 1 if not or if they will not be in time, 2 if that cannot be read.
    #[command(after_help = examples::ROLLOUT)]
    Rollout(RolloutArgs),
    /// Answer one AdmissionReview from standard input, as the webhook would
    ///
    /// Exits with 0 if the object is admitted, 1 if it is denied, 2 if there is no answer.
    #[command(after_help = examples::ADMIT)]
    Admit(AdmitArgs),
    #[command(flatten)]
    Files(FileCommand),
}

impl Command {
    /// Parses the arguments, the first of which is the name of the program.
    pub fn parse(arguments: &[OsString]) -> Result<Self, clap::Error> {
        Cli::try_parse_from(arguments).map(|cli| cli.command)
    }

    /// Runs the command. An error means that the command failed; a verdict is an exit code.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Serve(args) => review::serve(*args),
            Self::Gate(args) => gate::gate(*args),
            Self::Reconcile(args) => reconcile::reconcile(*args),
            Self::Certificates(args) => certificates::certificates(&args),
            Self::Status(args) => status::run(&args),
            Self::Rollout(args) => status::rollout(&args),
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
