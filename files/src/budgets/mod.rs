//! `poolgate budgets`: which budgets of a NodePool are active at a moment, which of them decides, how many nodes may
//! be disrupted and when that changes; or all of it over a week.

mod at_limit;
mod blocked;
mod clock;
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
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use poolgate_core::budget::{self, Reason};
use poolgate_core::facts::TargetKarpenter;
use poolgate_core::json::Json;
use poolgate_core::policy::Policy;
use poolgate_core::pool::NodePool;
use serde_json::Value;

use crate::review_args::ReviewArgs;
use crate::sources::cluster::{Connect, StoredArgs};
use crate::sources::nodepools::{self, Found};
use crate::sources::{self, Excluded, Input, Patches, Whole, Written};
use crate::terminal::{self, OutputFormat, Progress};
use clock::{Clock, Moment};
use live::Live;
use plan::PlanArgs;
use subject::Subject;

/// Something could not be explained.
const FOUND: u8 = 1;

/// Something could not be read.
const UNREADABLE: u8 = 2;

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

    #[command(flatten)]
    review_args: ReviewArgs,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
enum BudgetsCommand {
    /// Write budgets that allow disruption only in some hours, or not in others
    #[command(after_help = plan::EXAMPLES)]
    Plan(PlanArgs),
}

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
    let mut picture = Written::default();
    if let Some(path) = &args.svg {
        picture.add(Some(path));
    }
    args.review_args.spare_by(&picture)?;
    let policy = args.review_args.named_policy()?;
    let (mut live, karpenter) = fetched(args, connect, policy.as_ref())?;
    if let Some(caution) = karpenter.caution() {
        terminal::remark(&caution);
    }
    let mut code = 0;
    let mut complaints = Vec::new();
    let mut pools = Vec::new();
    let mut others = 0;
    let mut inputs = Vec::new();
    if let Some(live) = &mut live {
        complaints.append(&mut live.complaints);
        let stored = std::mem::take(&mut live.pools).into_iter().map(Found::stored);
        pools.extend(stored.map(|found| Pool::new("nodepools", found, &karpenter)));
    } else {
        terminal::refuse_typed(&args.paths)?;
        inputs = found(args, &picture)?;
    }
    let patches = Patches::among(&inputs);
    for input in &inputs {
        let name = input.name.as_str();
        if patches.whole(input) == Whole::Part {
            terminal::remark(&format!(
                "{name}: skipped, because a kustomization names it as a patch"
            ));
            continue;
        }
        match input.read() {
            Ok(text) => {
                let found = nodepools::find(&text, &input.templates(&text));
                others += found.others;
                if !found.templates.is_empty() {
                    code = UNREADABLE;
                }
                complaints.extend(found.templates.iter().map(|why| format!("error: {name}:{why}")));
                complaints.extend(found.broken.iter().map(|why| format!("{name}:{why}")));
                for (line, reason) in &found.left {
                    complaints.push(format!("{name}:{line}: the budgets are unknown: {reason}"));
                }
                let found = found.pools.into_iter();
                pools.extend(found.map(|found| Pool::new(name, found, &karpenter)));
            }
            Err(error) if error.is_unrelated() => {}
            Err(error) => {
                complaints.push(format!("error: {name}: {error}"));
                code = UNREADABLE;
            }
        }
    }
    if pools.is_empty() && complaints.is_empty() {
        terminal::remark(&format!("no NodePool found among {others} objects"));
    }
    complaints.extend(unknown(&args.pool, &pools));
    pools.retain(|pool| args.pool.is_empty() || args.pool.iter().any(|name| name == pool.name()));
    let objects: Vec<(Json<'_>, Json<'_>)> = pools
        .iter()
        .map(|pool| (Json::from(&pool.completed), Json::from(&pool.found.object)))
        .collect();
    let mut subjects = Vec::new();
    for (pool, (completed, written)) in pools.iter().zip(&objects) {
        let in_use = live.as_mut().map(|live| live.take(pool.name()));
        let nodes = in_use.as_ref().map_or(args.nodes, |in_use| Some(in_use.nodes));
        let view = NodePool::view(pool.found.version, completed).written_as(Some(written));
        let subject = Subject::new(&pool.found, view, nodes, args.reason);
        match subject.map(|subject| subject.read_by(policy.as_ref(), &karpenter)) {
            Ok(mut subject) => {
                subject.file = (inputs.len() > 1).then_some(pool.file);
                subject.in_use = in_use;
                subjects.push(subject);
            }
            Err(why) => complaints.push(format!("{}:{}: {why}", pool.file, pool.found.line)),
        }
    }
    let output = written(args, &subjects, at, &clock)?;
    if let Some(path) = &args.svg {
        fs::write(path, svg::picture(&subjects, at, &clock))
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    for complaint in &complaints {
        terminal::remark(complaint);
        code = code.max(FOUND);
    }
    terminal::print(output)?;
    Ok(code.into())
}

/// The pools of a cluster with what counts there, if one is to be read, and the Karpenter that reads them.
fn fetched(
    args: &BudgetsArgs,
    connect: Connect,
    policy: Option<&Policy>,
) -> anyhow::Result<(Option<Live>, TargetKarpenter)> {
    let named = match policy {
        Some(policy) => args.review_args.karpenter_for(policy),
        None => args.review_args.karpenter(),
    };
    let _reading = Progress::of("reading");
    let Some(cluster) = args.stored.connect(connect)? else {
        return Ok((None, named));
    };
    Ok((Some(Live::fetch(&cluster)?), cluster.karpenter(&named)?))
}

/// The files to read, without the picture. Fails if an output would replace one of them.
fn found(args: &BudgetsArgs, picture: &Written) -> anyhow::Result<Vec<Input>> {
    let mut inputs = sources::find(&args.paths, None, &Excluded::nothing()).files;
    sources::spare_by_stdout(&inputs)?;
    picture.leave_out(&mut inputs)?;
    Ok(inputs)
}

/// The output in the chosen format.
fn written(
    args: &BudgetsArgs,
    subjects: &[Subject<'_>],
    at: Timestamp,
    clock: &Clock,
) -> anyhow::Result<String> {
    let each = |write: fn(&Subject<'_>, Timestamp, &Clock) -> String| -> String {
        subjects.iter().map(|subject| write(subject, at, clock)).collect()
    };
    Ok(if args.output == OutputFormat::Json {
        serde_json::to_string_pretty(&json::document(subjects, at))? + "\n"
    } else if args.week {
        each(week::picture) + &notes::of_run(subjects, clock)
    } else {
        each(moment::explanation) + &notes::of_run(subjects, clock)
    })
}

/// A NodePool of the input.
struct Pool<'i> {
    file: &'i str,
    found: Found,
    /// The pool as the API server completes it.
    completed: Value,
}

impl<'i> Pool<'i> {
    fn new(file: &'i str, found: Found, karpenter: &TargetKarpenter) -> Self {
        let completed = karpenter.completed(&found.object, found.version);
        Self {
            file,
            found,
            completed,
        }
    }

    fn name(&self) -> &str {
        let name = self.found.object.pointer("/metadata/name");
        name.and_then(Value::as_str).unwrap_or_default()
    }
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
