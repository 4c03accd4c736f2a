//! `poolgate rollout`: whether a change has reached the nodes of NodePools, as `kubectl rollout status`.

mod class;
mod pools;
mod words;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use jiff::{SignedDuration, Timestamp};
use poolgate_core::nodelimit::rollout::Verdict;
use poolgate_files::terminal::{self, OutputFormat};

use super::WRONG;
use super::look::{Look, LookArgs};
use crate::cluster::ClusterReader;
use crate::runtime::flags;
use pools::{Rollouts, Subject};
use words::RolloutReport;

/// How often to look: as often as Karpenter looks for nodes to disrupt.
const INTERVAL: SignedDuration = SignedDuration::from_secs(10);

/// How long the API server may be down while a rollout is followed.
const OUTAGE: SignedDuration = SignedDuration::from_mins(1);

/// The flags of `rollout`.
#[derive(Debug, Args)]
pub struct RolloutArgs {
    /// NodePools, or node classes whose NodePools to follow [default: all NodePools]
    #[arg(value_name = "nodepool/NAME | ec2nodeclass/NAME")]
    subjects: Vec<Subject>,

    /// Wait until all nodes that are outdated now have been replaced
    ///
    /// Ends as soon as the timeout cannot be met.
    #[arg(long)]
    wait: bool,

    /// How long to wait
    #[arg(long, value_name = "TIME", default_value = "2h", requires = "wait", value_parser = flags::interval)]
    timeout: Duration,

    /// Output format. With --wait, JSON is one line per change
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: OutputFormat,

    #[command(flatten)]
    look: LookArgs,
}

/// Looks at the cluster, once or until the end. Returns the exit code.
pub fn rollout(args: &RolloutArgs) -> anyhow::Result<ExitCode> {
    let (runtime, client) = ClusterReader::connect(&args.look.cluster)?.into_parts();
    let look = args.look.look(&client, false);
    runtime.block_on(async {
        if args.wait {
            args.follow(&look).await
        } else {
            let report = Rollouts::begin(&look, &args.subjects, None)
                .await?
                .look(&look)
                .await?;
            args.print(&report)?;
            Ok(exit_code(report.state == Verdict::Done))
        }
    })
}

impl RolloutArgs {
    async fn follow(&self, look: &Look<'_>) -> anyhow::Result<ExitCode> {
        let deadline = Timestamp::now().checked_add(self.timeout)?;
        let mut rollouts = Rollouts::begin(look, &self.subjects, Some(deadline)).await?;
        let mut last: Option<RolloutReport> = None;
        let mut failing: Option<Timestamp> = None;
        loop {
            let now = Timestamp::now();
            match rollouts.look(look).await {
                Ok(report) => {
                    failing = None;
                    if last.as_ref().is_none_or(|last| last.differs(&report)) {
                        self.print(&report)?;
                    }
                    match report.state {
                        Verdict::Done => return Ok(exit_code(true)),
                        Verdict::Stuck(_) => return Ok(exit_code(false)),
                        Verdict::Waiting => last = Some(report),
                    }
                }
                Err(error) => {
                    let since = *failing.get_or_insert(now);
                    if now.duration_since(since) >= OUTAGE || now >= deadline {
                        bail!(error);
                    }
                    terminal::remark(&terminal::clean(&format!("error: {error:#}")));
                }
            }
            let left = deadline.duration_since(Timestamp::now());
            // A look that failed is repeated at the deadline: it then says whether the rollout is done.
            if !left.is_positive() && failing.is_none() {
                terminal::remark(&format!("error: rollout not done within {:?}", self.timeout));
                return Ok(exit_code(false));
            }
            tokio::time::sleep(left.clamp(SignedDuration::ZERO, INTERVAL).unsigned_abs()).await;
        }
    }

    fn print(&self, report: &RolloutReport) -> anyhow::Result<()> {
        let text = match (self.output, self.wait) {
            (OutputFormat::Json, true) => serde_json::to_string(report)? + "\n",
            (OutputFormat::Json, false) => serde_json::to_string_pretty(report)? + "\n",
            (OutputFormat::Human, _) => report.text(),
        };
        Ok(terminal::print(text)?)
    }
}

fn exit_code(is_done: bool) -> ExitCode {
    if is_done { ExitCode::SUCCESS } else { WRONG.into() }
}
