//! `poolgate upgrade`: what another release of Karpenter does differently to NodePools: what it rejects, what it treats
//! differently, and what a field that is in use can do then.

mod report;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail, ensure};
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use poolgate_core::facts::{KarpenterVersion, ReleaseSource, TargetKarpenter};

use crate::format::summary;
use crate::input::{InputArgs, Pool, Reading, UNREADABLE};
use crate::sources::Written;
use crate::sources::cluster::{Cluster, Connect, Request, StoredArgs};
use crate::terminal::{self, Progress};
use report::{PoolChanges, UpgradeReport};

/// A NodePool would be rejected, or with --exit-code treated differently.
const TOUCHED: u8 = 1;

#[derive(Debug, Args)]
#[command(mut_arg("karpenter_version", |arg| arg
    .long("to")
    .required(true)
    .env(clap::builder::Resettable::Reset)
    .help("The release to come, such as 1.15")
    .help_heading("Releases")))]
#[command(mut_arg("crd", |arg| arg.hide(true)))]
pub struct UpgradeArgs {
    /// Files, directories, or - for standard input
    #[arg(default_value = "-", value_name = "PATH")]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    stored: StoredArgs,

    /// The release that runs now, such as 1.8 [default with --cluster: the installed one]
    #[arg(
        long,
        value_name = "VERSION",
        required_unless_present = "cluster",
        help_heading = "Releases"
    )]
    from: Option<KarpenterVersion>,

    /// Also exit with 1 if a NodePool would be treated differently
    #[arg(long)]
    exit_code: bool,

    /// The output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: UpgradeFormat,

    #[command(flatten, next_help_heading = "Read")]
    input: InputArgs,
}

/// The output formats.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum UpgradeFormat {
    /// For people
    #[default]
    Human,
    /// For the pull request that raises Karpenter
    Markdown,
    /// For programs
    Json,
}

const UPGRADE: Reading<'_> = Reading {
    takes: &|found| found.pool.is_some(),
    unknown: "what changes for it is unknown",
    needs_all: false,
};

/// Runs the command. A closed pipe is not a failure.
pub fn run(args: &UpgradeArgs, connect: Connect) -> anyhow::Result<ExitCode> {
    let cluster = args.stored.connect(connect)?;
    let paths = match &cluster {
        Some(_) => &[][..],
        None => &args.paths,
    };
    terminal::refuse_typed(paths)?;
    let manifests = args.input.manifests(paths, &Written::stdout())?;
    let to = &manifests.karpenter;
    ensure_known("--to", to)?;
    let from = from(args.from, cluster.as_ref())?;
    ensure!(
        from.release() < to.release(),
        "--from {} is not older than --to {}",
        from.release(),
        to.release()
    );
    let mut pools = Vec::new();
    let _reading = Progress::of("reading");
    let rest = UPGRADE.each(&manifests, &mut |applied| {
        pools.extend(applied.pool());
        Ok(())
    });
    if let Some(cluster) = &cluster {
        let project = manifests.projects.for_folder(Path::new("."));
        cluster.each(Request::NodePools, |object| {
            pools.push(Pool::stored(object, project, to));
        })?;
    }
    if let Some(skipped) = summary::skipped(&rest.skipped) {
        terminal::remark(&skipped);
    }
    if pools.is_empty() && rest.complaints.is_empty() {
        terminal::remark(&format!("no NodePool found among {} objects", rest.others));
    }
    let at = Timestamp::now();
    let report = UpgradeReport {
        from: from.release(),
        to: to.release(),
        pools: pools
            .iter()
            .map(|pool| PoolChanges::of(pool, &from, at))
            .collect(),
        unread: rest.complaints,
    };
    for complaint in &report.unread {
        terminal::remark(complaint);
    }
    terminal::print(match args.output {
        UpgradeFormat::Human => report.text(terminal::width()),
        UpgradeFormat::Markdown => report.markdown(),
        UpgradeFormat::Json => serde_json::to_string_pretty(&report.json())? + "\n",
    })?;
    let is_touched = report.rejects() || args.exit_code && report.differs();
    Ok(if report.unread.is_empty() {
        if is_touched {
            TOUCHED.into()
        } else {
            ExitCode::SUCCESS
        }
    } else {
        UNREADABLE.into()
    })
}

/// The Karpenter that runs now.
fn from(named: Option<KarpenterVersion>, cluster: Option<&Cluster>) -> anyhow::Result<TargetKarpenter> {
    let from = match (named, cluster) {
        (Some(named), _) => TargetKarpenter::from(named),
        (None, Some(cluster)) => {
            let installed = cluster.karpenter(&TargetKarpenter::default())?;
            if installed.source() != ReleaseSource::Definition {
                bail!("the installed release of Karpenter is unknown. Set --from");
            }
            installed
        }
        (None, None) => None.context("set --from")?,
    };
    ensure_known("--from", &from)?;
    Ok(from)
}

/// An error if nothing is known of a release.
fn ensure_known(flag: &str, karpenter: &TargetKarpenter) -> anyhow::Result<()> {
    ensure!(
        karpenter.caution().is_none(),
        "{flag}: poolgate knows Karpenter {} to {}",
        KarpenterVersion::OLDEST,
        KarpenterVersion::NEWEST
    );
    Ok(())
}
