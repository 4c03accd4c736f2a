//! `poolgate admit`: the webhook without the network. One AdmissionReview in, its answer out, for scripts and bug
//! reports.

use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use clap::Args;

use crate::cluster::view::ClusterView;
use crate::review::{Endpoint, MutateVerdict, Reviewer};
use crate::serving::admission::Verdict;
use poolgate_files::review_args::ReviewArgs;
use poolgate_files::terminal;

/// Longest review that is read, in bytes: the API server sends at most two objects of 3 MiB, and the envelope.
const MAX_BYTES: u64 = 7 << 20;

/// The exit code if the object is denied.
const DENIED: u8 = 1;

/// The flags of `admit`.
#[derive(Debug, Args)]
pub struct AdmitArgs {
    /// Answer as /mutate does: complete the object
    #[arg(long, conflicts_with = "validate")]
    mutate: bool,

    /// Answer as /validate does: check the object. This is the default
    #[arg(long)]
    validate: bool,

    #[command(flatten)]
    review_args: ReviewArgs,
}

/// Runs the command. A closed pipe is not a failure.
pub fn run(args: &AdmitArgs) -> anyhow::Result<ExitCode> {
    let endpoint = if args.mutate {
        Endpoint::Mutate
    } else {
        Endpoint::Validate
    };
    let policy = args.review_args.policy()?;
    let karpenter = args.review_args.karpenter_for(&policy);
    if let Some(caution) = karpenter.caution() {
        terminal::remark(&caution);
    }
    let view = Arc::new(ClusterView::new(karpenter));
    let reviewer = Reviewer::new(policy, view, MutateVerdict::On);
    let body = read_bounded(terminal::stdin("an AdmissionReview"))?;
    let mut answer = reviewer
        .respond(endpoint, &body)
        .context("could not answer standard input")?;
    answer.body.push(b'\n');
    terminal::print(&answer.body)?;
    Ok(match answer.summary.verdict {
        Verdict::Allowed => ExitCode::SUCCESS,
        Verdict::Denied => DENIED.into(),
    })
}

/// All of the input, and never more than one byte over the bound.
fn read_bounded(input: impl Read) -> anyhow::Result<Vec<u8>> {
    let mut body = Vec::new();
    input
        .take(MAX_BYTES + 1)
        .read_to_end(&mut body)
        .context("standard input cannot be read")?;
    ensure!(
        u64::try_from(body.len()).is_ok_and(|length| length <= MAX_BYTES),
        "standard input exceeds {MAX_BYTES} bytes, the most that an API server sends"
    );
    Ok(body)
}
