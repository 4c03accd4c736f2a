//! `poolgate budgets plan`: budgets that allow disruption only in some hours, to paste into a NodePool.

use std::fmt::Write as _;

use anyhow::{Context as _, ensure};
use clap::{ArgGroup, Args};
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, ToSpan as _};
use poolgate_core::budget::{MaintenanceHours, Reason, Reasons, SeasonalBudgets, WrittenWindow};
use poolgate_core::facts::{ApiVersion, KarpenterVersion, TargetKarpenter};
use poolgate_core::value::hours::{LocalHours, LocalHoursError};
use poolgate_core::value::nodes::BudgetNodes;

use super::subject::{nodes_text, reason_on_command_line};
use crate::clock::{self, Clock, Moment};

/// What `--help` ends with.
pub const EXAMPLES: &str = "\
Examples:
  poolgate budgets plan --allow 'sat 02:00-06:00 Europe/Berlin'
  poolgate budgets plan --freeze 'mon-fri 09:00-17:00' --tz Asia/Tokyo --nodes 2
  poolgate budgets plan --allow 'sat,sun' --freeze 'sun 18:00-24:00' --reason Drifted";

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("hours").args(["allow", "freeze"]).required(true).multiple(true))]
pub struct PlanArgs {
    /// Allow disruption only in these hours, such as "sat 02:00-06:00 Europe/Berlin". May be repeated
    #[arg(long, value_name = "HOURS")]
    allow: Vec<String>,

    /// Allow no disruption in these hours, such as "mon-fri 09:00-17:00 Asia/Tokyo". May be repeated
    #[arg(long, value_name = "HOURS")]
    freeze: Vec<String>,

    /// How many nodes may be disrupted simultaneously in the allowed hours: a number or a percentage
    #[arg(long, value_name = "NODES", default_value = "10%", value_parser = nodes)]
    nodes: BudgetNodes,

    /// Restrict only this reason for disruption. May be repeated
    /// [default: Underutilized, Empty and Drifted, so that broken nodes are still repaired]
    #[arg(long, value_parser = reason_on_command_line(), ignore_case = true)]
    reason: Vec<Reason>,

    /// The time zone of hours without a zone
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    tz: String,

    /// The start of the year for which the budgets are written [default: now]
    #[arg(long, value_name = "TIME")]
    at: Option<Moment>,

    /// The Karpenter release of the cluster. Before 1.0 budgets have no reasons [default: the newest known]
    #[arg(long, env = "POOLGATE_KARPENTER_VERSION", value_name = "VERSION")]
    karpenter_version: Option<KarpenterVersion>,
}

impl PlanArgs {
    /// Whether the release is known to be one whose budgets have no reasons and limit expiration.
    fn is_before_reasons(&self) -> bool {
        self.karpenter_version
            .is_some_and(|release| !release.has(KarpenterVersion::V1_STORED))
    }

    /// The reasons that the budgets of 0 name.
    fn reasons(&self) -> Reasons {
        if self.reason.is_empty() {
            return Reasons::ALL_BUT_REPAIR;
        }
        let named = self.reason.iter();
        named.fold(Reasons::NONE, |reasons, reason| {
            reasons.with(Reasons::only(*reason))
        })
    }
}

fn nodes(text: &str) -> Result<BudgetNodes, String> {
    BudgetNodes::parse(text).map_err(|error| error.to_string())
}

/// Writes the budgets as YAML, a document for each time of the year that needs its own.
pub fn plan(args: &PlanArgs) -> anyhow::Result<String> {
    let hours = |texts: &[String]| -> anyhow::Result<Vec<LocalHours>> {
        let parsed = texts.iter().map(|text| LocalHours::parse(text, &args.tz));
        parsed.map(|hours| hours.map_err(explained)).collect()
    };
    let wish = MaintenanceHours {
        allowed: hours(&args.allow).context("--allow")?,
        frozen: hours(&args.freeze).context("--freeze")?,
    };
    let clock = Clock::new(Some(&args.tz))?;
    let from = clock.instant(args.at)?;
    let until = from
        .to_zoned(TimeZone::UTC)
        .checked_add(1.year())
        .context("--at")?
        .timestamp();
    ensure!(
        args.reason.is_empty() || !args.is_before_reasons(),
        "--reason: Karpenter before 1.0 has no reasons in budgets"
    );
    let variants = wish.variants(from, until);
    let most = TargetKarpenter::default().most("spec.disruption.budgets", ApiVersion::V1);
    let most = most.unwrap_or(usize::MAX);
    for variant in &variants {
        let count = variant.closed.len() + 1;
        ensure!(
            count <= most,
            "these hours need {count} budgets, but a NodePool may have at most {most}. Use fewer different hours"
        );
    }
    let mut text = introduction(args);
    for (place, variant) in variants.iter().enumerate() {
        if variants.len() > 1 {
            text.push_str(if place == 0 { "#\n" } else { "---\n" });
            let (number, all) = (place + 1, variants.len());
            let _ = writeln!(text, "# {number} of {all}: {}", spans(variant, from, until));
            for line in clocks(&wish, variant) {
                let _ = writeln!(text, "# {line}");
            }
        }
        text.push_str(&budgets(args, variant));
    }
    Ok(text)
}

fn explained(error: LocalHoursError) -> anyhow::Error {
    match error {
        LocalHoursError::Zone(unknown) => clock::with_help(&unknown),
        LocalHoursError::Hours(error) => error.into(),
    }
}

/// The given hours and what else the reader must know, as comments.
fn introduction(args: &PlanArgs) -> String {
    let mut text = String::new();
    for (texts, what) in [
        (&args.allow, "Nodes may be disrupted only in these hours"),
        (&args.freeze, "No node may be disrupted"),
    ] {
        if !texts.is_empty() {
            let texts: Vec<String> = texts.iter().map(|text| text.escape_debug().to_string()).collect();
            let _ = writeln!(text, "# {what}: {}", texts.join(", "));
        }
    }
    if args.tz != "UTC" {
        let zone = args.tz.escape_debug();
        let _ = writeln!(text, "# Hours without a zone are in {zone}.");
    }
    text.push_str(
        "# Budgets only restrict: those of 0 cover the hours, in UTC, in which no node may be disrupted.\n",
    );
    if args.is_before_reasons() {
        text.push_str("# Before Karpenter 1.0 budgets also limit expiration (expireAfter).\n");
        return text;
    }
    text.push_str("# Budgets do not limit expiration (expireAfter).\n");
    if args.reason.is_empty() {
        text.push_str("# Without reasons, budgets of 0 would also stop the repair of broken nodes (Karpenter 1.15, NodeRepair).\n");
    }
    text
}

/// The times for which a variant is written.
fn spans(variant: &SeasonalBudgets, from: Timestamp, until: Timestamp) -> String {
    let utc = |at: Timestamp| Clock::default().write(at);
    let spans = variant
        .spans
        .iter()
        .map(|(start, end)| match (*start == from, *end == until) {
            (true, true) => "always".to_owned(),
            (true, false) => format!("until {}", utc(*end)),
            (false, true) => format!("from {}", utc(*start)),
            (false, false) => format!("from {} until {}", utc(*start), utc(*end)),
        });
    spans.collect::<Vec<_>>().join(", and ")
}

/// The offsets of the zones in that time, each once.
fn clocks(wish: &MaintenanceHours, variant: &SeasonalBudgets) -> Vec<String> {
    let zones = wish.allowed.iter().chain(&wish.frozen);
    let clocks = zones.zip(&variant.offsets).map(|(local, offsets)| {
        let zone = local.zone.iana_name().unwrap_or("UTC");
        let offsets: Vec<String> = offsets.iter().copied().map(from_utc).collect();
        format!("{zone} is {}", offsets.join(" or "))
    });
    let mut lines: Vec<String> = clocks.collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

fn from_utc(offset: Offset) -> String {
    let minutes = offset.seconds().abs() / 60;
    let sign = if offset.is_negative() { '-' } else { '+' };
    format!("UTC{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

/// The part of a NodePool to paste.
fn budgets(args: &PlanArgs, variant: &SeasonalBudgets) -> String {
    let reasons = if args.is_before_reasons() {
        String::new()
    } else {
        format!("      reasons: {}\n", args.reasons().written())
    };
    let mut text = String::from("spec:\n  disruption:\n    budgets:\n");
    if args.reason.is_empty() && variant.closed.contains(&WrittenWindow::Always) {
        text.insert_str(
            0,
            "# These hours leave no minute in which a node may be disrupted.\n",
        );
    } else {
        let _ = writeln!(text, "    - nodes: {}", quoted_nodes(args.nodes));
    }
    for closed in &variant.closed {
        let _ = write!(text, "    - nodes: \"0\"\n{reasons}");
        if let WrittenWindow::Scheduled { schedule, duration } = closed {
            let _ = writeln!(text, "      schedule: \"{schedule}\"\n      duration: {duration}");
        }
    }
    text
}

/// `nodes` as YAML: a number is quoted, because the API requires a string.
fn quoted_nodes(nodes: BudgetNodes) -> String {
    let text = nodes_text(nodes);
    match nodes {
        BudgetNodes::Percent(_) => text,
        BudgetNodes::Count(_) => format!("\"{text}\""),
    }
}
