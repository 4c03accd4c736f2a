//! `poolgate budgets`: which budgets of a NodePool hold at a moment, which of them has the word, how many nodes may
//! go and when that changes; or all of it over a week.

mod clock;
mod json;
mod moment;
mod notes;
mod subject;
mod svg;
mod week;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use poolgate_core::budget::{self, Reason};
use poolgate_core::json::Json;

use crate::commands::nodepools;
use crate::files::{ReadError, read_text};
use clock::Clock;
use subject::Subject;

/// Something could not be explained.
const FOUND: u8 = 1;

/// What the user wants to know.
#[derive(Debug, Args)]
pub(crate) struct BudgetsArgs {
    /// A file with NodePools, YAML or JSON; `-` for standard input
    #[arg(default_value = "-")]
    path: PathBuf,

    /// The moment, such as 2026-01-05T10:00:00Z; now, if not given
    #[arg(long, value_name = "TIME")]
    at: Option<Timestamp>,

    /// How many nodes each pool has; those of its status, or 10, if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    nodes: Option<u32>,

    /// Only this reason
    #[arg(long, value_enum, ignore_case = true)]
    reason: Option<ReasonArg>,

    /// Show every hour of the seven days from the day of the moment on
    #[arg(long)]
    week: bool,

    /// Draw the week into a file as well, as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Print JSON, the week included
    #[arg(long)]
    json: bool,

    /// Show the time in this zone beside UTC, such as Europe/Berlin
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,
}

/// A reason on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "PascalCase")]
enum ReasonArg {
    Underutilized,
    Empty,
    Drifted,
    Unhealthy,
}

impl From<ReasonArg> for Reason {
    fn from(reason: ReasonArg) -> Self {
        match reason {
            ReasonArg::Underutilized => Self::Underutilized,
            ReasonArg::Empty => Self::Empty,
            ReasonArg::Drifted => Self::Drifted,
            ReasonArg::Unhealthy => Self::Unhealthy,
        }
    }
}

/// Prints what was asked for. A reader who has gone is no failure.
pub(crate) fn run(args: &BudgetsArgs) -> anyhow::Result<ExitCode> {
    let clock = Clock::new(args.tz.as_deref())?;
    let at = args.at.unwrap_or_else(Timestamp::now);
    ensure!(
        budget::is_reckoned(at),
        "--at {at}: budgets are reckoned from the year 1990 to 2089"
    );
    let name = args.path.display().to_string();
    let text = read(args).with_context(|| name.clone())?;
    let input = nodepools::find(&text);
    let name = name.escape_debug().to_string();
    let mut complaints: Vec<String> = input.broken.iter().map(|why| format!("{name}:{why}")).collect();
    let objects: Vec<Json<'_>> = input
        .pools
        .iter()
        .map(|found| Json::from(&found.object))
        .collect();
    let mut subjects = Vec::new();
    for (found, object) in input.pools.iter().zip(&objects) {
        match Subject::of(found, object, args.nodes, args.reason.map(Reason::from)) {
            Ok(subject) => subjects.push(subject),
            Err(why) => complaints.push(format!("{name}:{}: {why}", found.line)),
        }
    }
    let output = if args.json {
        let document = json::document(&subjects, at);
        serde_json::to_string_pretty(&document)? + "\n"
    } else if args.week {
        subjects
            .iter()
            .map(|subject| week::picture(subject, at, &clock))
            .collect()
    } else {
        subjects
            .iter()
            .map(|subject| moment::explanation(subject, at, &clock))
            .collect()
    };
    if let Some(path) = &args.svg {
        fs::write(path, svg::picture(&subjects, at, &clock))
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    if input.pools.is_empty() {
        complain(&format!("{name}: no NodePool among {} objects", input.others));
    }
    for complaint in &complaints {
        complain(complaint);
    }
    let code = if complaints.is_empty() { 0 } else { FOUND };
    match io::stdout().write_all(output.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(code.into()),
    }
}

fn read(args: &BudgetsArgs) -> Result<String, ReadError> {
    if args.path.as_os_str() == "-" {
        read_text(io::stdin().lock())
    } else {
        read_text(File::open(&args.path)?)
    }
}

/// Says something beside the results. Where nobody reads it, nobody is left to tell.
fn complain(what: &str) {
    let _ = writeln!(io::stderr(), "{what}");
}
