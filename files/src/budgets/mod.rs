//! `poolgate budgets`: which budgets of a NodePool are active at a moment, which of them decides, how many nodes may
//! be disrupted and when that changes; or all of it over a week.

mod at_limit;
mod blocked;
mod grid;
mod json;
mod live;
mod moment;
mod notes;
mod plan;
mod subject;
mod svg;
mod week;
mod windows;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use poolgate_core::budget::{self, Reason};
use poolgate_core::json::Json;
use poolgate_core::pool::NodePool;

use crate::clock::{Clock, Moment};
use crate::format::summary;
use crate::input::{FOUND, InputArgs, Pool, Reading, Rest};
use crate::sources::Written;
use crate::sources::cluster::{Connect, StoredArgs};
use crate::terminal::{self, OutputFormat, Progress};
use live::Live;
use plan::PlanArgs;
use subject::Subject;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct BudgetsArgs {
    #[command(subcommand)]
    command: Option<BudgetsCommand>,

    /// Files, directories, or - for standard input
    #[arg(default_value = "-", value_name = "PATH")]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    stored: StoredArgs,

    /// Show only the NodePool of this name. May be repeated
    #[arg(long, value_name = "NAME")]
    pool: Vec<String>,

    /// The time to explain: 2026-01-05T10:00:00Z, or 2026-01-05T10:00 in the zone of --tz [default: now]
    #[arg(long, value_name = "TIME", conflicts_with = "cluster")]
    at: Option<Moment>,

    /// The number of nodes of each pool [default: from its status, else its replicas, else 10]
    #[arg(long, value_name = "N", conflicts_with = "cluster", value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    nodes: Option<u32>,

    /// Show only this reason for disruption
    #[arg(long, value_parser = subject::reason_on_command_line(), ignore_case = true)]
    reason: Option<Reason>,

    /// Show every hour of seven days, beginning with the day of --at
    #[arg(long)]
    week: bool,

    /// Also draw the week as SVG into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// The output format. JSON includes the week, in UTC
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: OutputFormat,

    /// Also show times in this zone, and the week by its clock, such as Europe/Berlin
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,

    #[command(flatten, next_help_heading = "Read")]
    input: InputArgs,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
enum BudgetsCommand {
    /// Write budgets that allow disruption only in some hours, or not in others
    #[command(after_help = plan::EXAMPLES)]
    Plan(PlanArgs),
}

const BUDGETS: Reading<'_> = Reading {
    takes: &|found| found.pool.is_some(),
    unknown: "the budgets are unknown",
    needs_all: false,
};

/// Runs the command. A closed pipe is not a failure.
pub fn run(args: &BudgetsArgs, connect: Connect) -> anyhow::Result<ExitCode> {
    if let Some(BudgetsCommand::Plan(args)) = &args.command {
        terminal::print(plan::plan(args)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let clock = Clock::new(args.tz.as_deref())?;
    let at = clock.instant(args.at)?;
    ensure!(
        budget::is_supported(at),
        "--at {at}: budgets can be computed for the years 1990 to 2089"
    );
    let mut written = Written::stdout();
    if let Some(path) = &args.svg {
        written.add(Some(path));
    }
    let cluster = {
        let _reading = Progress::of("reading");
        args.stored.connect(connect)?
    };
    let paths = match &cluster {
        Some(_) => &[][..],
        None => &args.paths,
    };
    terminal::refuse_typed(paths)?;
    let mut manifests = args.input.manifests(paths, &written)?;
    let mut live = None;
    if let Some(cluster) = &cluster {
        let _reading = Progress::of("reading");
        live = Some(Live::fetch(cluster)?);
        let declared = manifests.projects.for_folder(Path::new("."));
        manifests.karpenter = cluster.karpenter(declared.karpenter(&manifests.karpenter))?;
    }
    for caution in manifests.projects.cautions(&manifests.karpenter) {
        terminal::remark(&caution);
    }
    let mut pools = Vec::new();
    let Rest {
        mut complaints,
        code,
        others,
        skipped,
    } = BUDGETS.each(&manifests, &mut |applied| {
        pools.extend(applied.pool());
        Ok(())
    });
    if let Some(live) = &mut live {
        complaints.append(&mut live.complaints);
        let project = manifests.projects.for_folder(Path::new("."));
        let stored = std::mem::take(&mut live.pools).into_iter();
        pools.extend(stored.map(|object| Pool::stored(object, project, &manifests.karpenter)));
    }
    if let Some(skipped) = summary::skipped(&skipped) {
        terminal::remark(&skipped);
    }
    if pools.is_empty() && complaints.is_empty() {
        terminal::remark(&format!("no NodePool found among {others} objects"));
    }
    complaints.extend(unknown(&args.pool, &pools));
    pools.retain(|pool| args.pool.is_empty() || args.pool.iter().any(|name| name == pool.name()));
    let objects: Vec<(Json<'_>, Json<'_>)> = pools
        .iter()
        .map(|pool| (Json::from(&pool.completed), Json::from(&pool.object)))
        .collect();
    let mut subjects = Vec::new();
    for (pool, (completed, written)) in pools.iter().zip(&objects) {
        let in_use = live.as_mut().map(|live| live.take(pool.name()));
        let nodes = in_use.as_ref().map_or(args.nodes, |in_use| Some(in_use.nodes));
        let view = NodePool::view(pool.version, completed).written_as(Some(written));
        let subject = Subject::new(&pool.object, view, nodes, args.reason);
        let policy = pool.project.file.is_some().then_some(&pool.project.policy);
        match subject.map(|subject| subject.read_by(policy, pool.karpenter)) {
            Ok(mut subject) => {
                subject.file = (manifests.inputs.len() > 1).then_some(pool.file);
                subject.in_use = in_use;
                subjects.push(subject);
            }
            Err(why) => complaints.push(format!("{}:{}: {why}", pool.file, pool.line)),
        }
    }
    let output = output(args, &subjects, &complaints, (at, &clock))?;
    if let Some(path) = &args.svg {
        fs::write(path, svg::picture(&subjects, at, &clock))
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    for complaint in &complaints {
        terminal::remark(complaint);
    }
    terminal::print(output)?;
    let least = if complaints.is_empty() { 0 } else { FOUND };
    Ok(code.max(least).into())
}

/// The output in the chosen format.
fn output(
    args: &BudgetsArgs,
    subjects: &[Subject<'_>],
    complaints: &[String],
    (at, clock): (Timestamp, &Clock),
) -> anyhow::Result<String> {
    let each = |write: fn(&Subject<'_>, Timestamp, &Clock) -> String| -> String {
        subjects.iter().map(|subject| write(subject, at, clock)).collect()
    };
    Ok(if args.output == OutputFormat::Json {
        serde_json::to_string_pretty(&json::document(subjects, complaints, at))? + "\n"
    } else if args.week {
        each(week::picture) + &notes::of_run(subjects, clock)
    } else {
        each(moment::explanation) + &notes::of_run(subjects, clock)
    })
}

/// A complaint about each pool that is asked for and was not found.
fn unknown(wanted: &[String], pools: &[Pool<'_>]) -> Vec<String> {
    let found: Vec<&str> = pools.iter().map(Pool::name).collect();
    let unknown = wanted.iter().filter(|name| !found.contains(&name.as_str()));
    unknown
        .map(|name| {
            format!(
                "there is no NodePool {}. Found: {}",
                terminal::name(name),
                listed(&found)
            )
        })
        .collect()
}

/// The names of the pools, for a message.
fn listed(names: &[&str]) -> String {
    if names.is_empty() {
        return "none".into();
    }
    let names: Vec<String> = names.iter().map(|name| terminal::name(name)).collect();
    names.join(", ")
}
