//! `poolgate diff`: what a change of manifests does to the nodes of a cluster, before it is applied.

mod checkout;
mod compare;
mod git;
mod hours;
mod pool;
mod side;
mod words;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

use anyhow::{bail, ensure};
use clap::{Args, ValueEnum};
use jiff::Timestamp;

use crate::format::summary;
use crate::input::{InputArgs, Manifests};
use crate::review_args::instant;
use crate::sources::Written;
use crate::sources::cluster::{Cluster, Connect, KubeArgs};
use crate::sources::{RenderArgs, Renderer};
use crate::terminal;
use compare::Comparison;
use pool::{Judge, PoolChange};
use side::Side;

/// The exit code if there is more than the flags allow.
const FOUND: u8 = 1;

#[derive(Debug, Args)]
#[command(
    mut_arg("kustomize", |arg| arg.conflicts_with("first")),
    mut_arg("helm", |arg| arg.conflicts_with("first")),
)]
pub struct DiffArgs {
    /// A file, a directory, or - for standard input. With --git or --cluster, it is NEW [default there: .]
    #[arg(value_name = "OLD")]
    first: Option<PathBuf>,

    /// The same for the manifests that would be applied
    #[arg(value_name = "NEW", conflicts_with_all = ["git", "cluster"])]
    second: Option<PathBuf>,

    /// Compare with the same path in this revision of the Git working tree
    #[arg(long, value_name = "REVISION", conflicts_with = "cluster")]
    git: Option<String>,

    /// Compare with the objects of a cluster, and name the NodeClaims that drift
    #[arg(long, conflicts_with = "crd")]
    cluster: bool,

    #[command(flatten)]
    kube: KubeArgs,

    /// The number of nodes of a pool, or of every pool. May be repeated [default: from the status in OLD]
    #[arg(long, value_name = "[POOL=]N", conflicts_with = "cluster")]
    nodes: Vec<Nodes>,

    /// The output format
    #[arg(short, long, value_enum, default_value = "human", value_name = "FORMAT")]
    output: DiffFormat,

    /// Exit with 1 if there is a difference
    #[arg(long)]
    exit_code: bool,

    /// Exit with 1 if more nodes than this may be replaced, drained or deleted, with 2 if their number is unknown
    #[arg(long, value_name = "N")]
    max_drift: Option<usize>,

    /// Exit with 1 for an error or a warning that OLD does not have
    #[arg(long)]
    fail_on_new: bool,

    /// Compare as of this time, such as 2027-06-30 or 2027-06-30T12:00:00Z, and show the hours of its week [default: now]
    #[arg(long, value_name = "TIME", value_parser = instant)]
    at: Option<Timestamp>,

    #[command(flatten, next_help_heading = "Read")]
    input: InputArgs,

    #[command(flatten, next_help_heading = "Render")]
    rendering: RenderArgs,
}

/// How a difference is printed.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum DiffFormat {
    /// For people
    Human,
    /// For a comment of a pull request
    Markdown,
    /// For programs
    Json,
}

/// The number of nodes of one pool, or of all.
#[derive(Debug, Clone)]
struct Nodes {
    pool: Option<String>,
    count: u32,
}

impl FromStr for Nodes {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (pool, count) = match text.rsplit_once('=') {
            Some((pool, count)) => (Some(pool.to_owned()), count),
            None => (None, text),
        };
        let count = count.parse().ok().filter(|count| *count <= 1_000_000);
        let count = count.ok_or("write 40, or general=40; at most 1000000")?;
        Ok(Self { pool, count })
    }
}

/// Runs the command. A closed pipe is not a failure.
pub fn run(args: &DiffArgs, connect: Connect) -> anyhow::Result<ExitCode> {
    let cluster = args.kube.connect(args.cluster, connect)?;
    let (mut old, new, mut manifests) = sides(args, cluster.as_ref())?;
    if cluster.is_none() {
        manifests.look_from(old.pools.iter().map(|pool| &*pool.folder))?;
    }
    if let Some(skipped) = summary::skipped(&manifests.skipped()) {
        terminal::remark(&skipped);
    }
    for skipped in old.skipped.iter().chain(&new.skipped) {
        terminal::remark(skipped);
    }
    let judge = Judge {
        projects: manifests.projects,
        karpenter: manifests.karpenter,
        at: args.at.unwrap_or_else(Timestamp::now),
        nodes: args
            .nodes
            .iter()
            .map(|nodes| (nodes.pool.clone(), nodes.count))
            .collect(),
    };
    for caution in judge.projects.cautions(&judge.karpenter) {
        terminal::remark(&caution);
    }
    for name in judge.nodes.keys().flatten() {
        let mut pools = old.pools.iter().chain(&new.pools);
        ensure!(
            pools.any(|pool| pool.key.name == *name),
            "--nodes {}: there is no NodePool of this name",
            terminal::name(name)
        );
    }
    let mut all = Comparison::of(&old, &new, &judge)?;
    let drifting = all.pools.iter().filter_map(|pool| pool.drift.as_ref());
    let drifting: Vec<&str> = drifting
        .flat_map(|drift| drift.node_claims.iter().map(|name| &**name))
        .collect();
    if let Some(cluster) = &cluster {
        match old.read_kept(cluster, &drifting, judge.at) {
            Ok(false) => {}
            Ok(true) => all = Comparison::of(&old, &new, &judge)?,
            Err(error) => terminal::remark(&terminal::clean(&format!(
                "the reasons why drifted nodes stay were not read: {error}"
            ))),
        }
    }
    let assumed = judge.assumed(&old, &new);
    terminal::print(match args.output {
        DiffFormat::Human => words::human(&all) + &assumed,
        DiffFormat::Markdown if assumed.is_empty() => words::markdown(&all),
        DiffFormat::Markdown => words::markdown(&all) + "\n" + &assumed,
        DiffFormat::Json => serde_json::to_string_pretty(&all)? + "\n",
    })?;
    verdict(args, &all).map(ExitCode::from)
}

/// OLD, NEW, and what they are judged by.
fn sides(args: &DiffArgs, cluster: Option<&Cluster>) -> anyhow::Result<(Side, Side, Manifests)> {
    let is_stdin = |side: &Path| side.as_os_str() == "-";
    let first = args.first.clone().unwrap_or_else(|| ".".into());
    let written = Written::stdout();
    let found = |side: &Path| args.input.manifests(&[side.to_owned()], &written);
    let rendered = args.rendering.renderable();
    Ok(match (&args.second, &args.git, cluster, &rendered) {
        (None, Some(revision), _, Some(sources)) => {
            let program = Renderer::of(sources)?;
            let now = args.input.rendered(sources, &program, &written)?;
            let new = Side::of_rendered(&now, sources, false)?;
            (Side::of_checkout(&now, revision, sources, &program)?, new, now)
        }
        (None, None, Some(cluster), Some(sources)) => {
            let program = Renderer::of(sources)?;
            let mut now = args.input.rendered(sources, &program, &written)?;
            now.karpenter = cluster.karpenter(&now.karpenter)?;
            let new = Side::of_rendered(&now, sources, true)?;
            (Side::of_cluster(cluster)?, new, now)
        }
        (None, None, None, Some(sources)) => {
            bail!("{} gives NEW. Add --git REVISION or --cluster", sources.flag())
        }
        (Some(second), ..) => {
            ensure!(
                !(is_stdin(&first) && is_stdin(second)),
                "standard input can be read only once. Give a file for OLD or NEW"
            );
            let before = found(&first)?;
            let old = Side::of_files(&before, &first, false)?;
            let after = args.input.more(before, std::slice::from_ref(second), &written)?;
            (old, Side::of_files(&after, second, false)?, after)
        }
        (None, Some(revision), ..) => {
            ensure!(
                !is_stdin(&first),
                "--git compares files, not standard input. Name the files"
            );
            let mut now = found(&first)?;
            let new = Side::of_files(&now, &first, false)?;
            (Side::of_revision(revision, &first, &mut now)?, new, now)
        }
        (None, None, Some(cluster), None) => {
            let mut now = found(&first)?;
            now.karpenter = cluster.karpenter(&now.karpenter)?;
            let new = Side::of_files(&now, &first, true)?;
            (Side::of_cluster(cluster)?, new, now)
        }
        (None, None, None, None) => {
            bail!("give OLD and NEW, or --git REVISION or --cluster with NEW alone")
        }
    })
}

fn verdict(args: &DiffArgs, all: &Comparison) -> anyhow::Result<u8> {
    let is_too_much = match args.max_drift {
        None => false,
        Some(most) => match all.nodes_at_stake {
            Some(nodes) => nodes > most,
            None => bail!(
                "--max-drift: the number of nodes of {} is unknown. Add --nodes or --cluster",
                all.uncounted().into_iter().collect::<Vec<_>>().join(", ")
            ),
        },
    };
    let is_worse = args.fail_on_new && all.pools.iter().any(PoolChange::is_worse);
    let differs = args.exit_code && !(all.pools.is_empty() && all.classes.is_empty());
    Ok(if is_too_much || is_worse || differs {
        FOUND
    } else {
        0
    })
}
