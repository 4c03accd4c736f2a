//! `poolgate status`: which webhooks are registered, whether they answer (with `--probe`), and the state of the
//! NodePools. `poolgate rollout` reads the same repeatedly, and `poolgate why` more of one object. `poolgate freeze` writes
//! an annotation, and waits for its effect.

mod age;
mod declared;
mod deployments;
mod events;
mod explainer;
mod facts;
mod freeze;
mod glance;
mod json;
mod look;
mod node_events;
mod pools;
mod reconciler;
mod replacements;
mod report;
mod rollout;
mod seen_pool;
mod table;
mod why;

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use clap::Args;
use serde_json::Value;
use tokio::runtime::Runtime;

use poolgate_files::terminal::{self, OutputFormat, Progress};

use crate::cluster::ClusterReader;
use crate::runtime::flags;
use declared::DeclaredFacts;
pub use freeze::{FreezeArgs, UnfreezeArgs, freeze, unfreeze};
use look::LookArgs;
use report::Report;
pub use rollout::{RolloutArgs, rollout};
pub use why::{WhyArgs, why};

/// Something is wrong.
const WRONG: u8 = 1;

/// Something could not be read.
const UNREAD: u8 = 2;

/// How wide the text is if standard output is not a terminal.
const WITHOUT_TERMINAL: usize = 80;

/// Moves to the first line of a terminal, and clears it.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// The flags of `status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    look: LookArgs,

    /// Also call the webhooks: create a NodePool, and a NodeClaim for each pool, in dry runs
    ///
    /// Requires the right to create NodePools and NodeClaims. Nothing is stored.
    #[arg(long)]
    probe: bool,

    /// Print the field `cluster` of a policy file: the cluster's release, feature gates and webhook
    ///
    /// Reads the NodePool definition and Karpenter's Deployment.
    #[arg(long, conflicts_with_all = ["probe", "output", "watch"])]
    print_facts: bool,

    #[command(flatten)]
    show: ShowArgs,
}

/// How an answer is shown.
#[derive(Debug, Args)]
struct ShowArgs {
    /// Output format. With --watch, JSON is one line per report
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: OutputFormat,

    /// Repeat at this interval
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "10s",
        value_parser = flags::interval)]
    watch: Option<Duration>,
}

/// Reads the cluster and prints the report. Returns the exit code.
pub fn run(args: &StatusArgs) -> anyhow::Result<ExitCode> {
    let (runtime, client) = ClusterReader::connect(&args.look.cluster)?.into_parts();
    let look = args.look.look(&client, args.probe);
    if args.print_facts {
        let facts = runtime.block_on(DeclaredFacts::read(&look));
        terminal::print(facts.yaml())?;
        for line in facts.unread() {
            terminal::remark(&terminal::clean(&format!("error: could not read {line}")));
        }
        return Ok(exit_code(&[], &facts.unread()));
    }
    args.show.repeat(|| {
        let (facts, kept) = read(&runtime, async { tokio::join!(look.once(), look.kept(None)) });
        let report = Report::of(&facts, Some(&kept));
        args.show.show(
            || Ok(json::from_report(&report)),
            |width| table::render(&report, width),
        )?;
        Ok(exit_code(&report.problems, &report.unread))
    })
}

/// Waits for what is read of the cluster.
fn read<T>(runtime: &Runtime, reading: impl Future<Output = T>) -> T {
    let _progress = Progress::of("reading the cluster");
    runtime.block_on(reading)
}

impl ShowArgs {
    /// Answers once, or until it is interrupted. Then the next answer may succeed where one fails.
    fn repeat(&self, mut answer: impl FnMut() -> anyhow::Result<ExitCode>) -> anyhow::Result<ExitCode> {
        let Some(interval) = self.watch else {
            return answer();
        };
        loop {
            if let Err(error) = answer() {
                terminal::remark(&terminal::clean(&format!("error: {error:#}")));
            }
            sleep(interval);
        }
    }

    fn show(
        &self,
        json: impl FnOnce() -> serde_json::Result<Value>,
        text: impl FnOnce(usize) -> String,
    ) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if self.output == OutputFormat::Json {
            let json = json()?;
            return if self.watch.is_some() {
                writeln!(out, "{json}")
            } else {
                writeln!(out, "{json:#}")
            };
        }
        if self.watch.is_some() && out.is_terminal() {
            write!(out, "{CLEAR}")?;
        }
        let width = terminal::width().unwrap_or(WITHOUT_TERMINAL);
        write!(out, "{}", text(width))?;
        out.flush()
    }
}

fn exit_code(problems: &[String], unread: &[String]) -> ExitCode {
    if !unread.is_empty() {
        UNREAD.into()
    } else if !problems.is_empty() {
        WRONG.into()
    } else {
        ExitCode::SUCCESS
    }
}
