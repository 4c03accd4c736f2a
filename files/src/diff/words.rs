//! A comparison as it is printed for people, and for a pull request.

use std::fmt::Write as _;

use poolgate_core::api::ACKNOWLEDGE_DRIFT_ANNOTATION;
use poolgate_core::diagnostic::{FieldPath, counted, first_few};
use poolgate_core::rules::DriftEffect;

use super::compare::{ClassChange, Comparison};
use super::pool::{Fate, PoolChange};
use crate::terminal;

/// How many NodeClaims or NodePools a line names; the rest are only counted.
const MOST_NAMED: usize = 20;

/// What is said of one object.
struct Section {
    heading: String,
    lines: Vec<String>,
}

/// Wrapped for a terminal.
pub fn human(all: &Comparison) -> String {
    let width = terminal::line_width();
    let mut text = String::new();
    for Section { heading, lines } in sections(all) {
        text += &terminal::wrapped(&heading, "", "  ", width);
        text.push('\n');
        for line in lines {
            text += &terminal::wrapped(&line, "  ", "    ", width);
            text.push('\n');
        }
        text.push('\n');
    }
    text + &summary(all) + "\n"
}

/// For a comment of a pull request.
pub fn markdown(all: &Comparison) -> String {
    let mut text = format!("**{}**\n", escaped(&summary(all)));
    for Section { heading, lines } in sections(all) {
        let _ = writeln!(text, "\n{}", escaped(&heading));
        for line in lines {
            let _ = writeln!(text, "- {}", escaped(&line));
        }
    }
    text
}

/// Characters that Markdown would read as its own.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if "\\`*_[]<>#|@!".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

fn sections(all: &Comparison) -> Vec<Section> {
    let pools = all.pools.iter().map(|change| {
        let verb = match change.fate {
            Fate::Appears => "appears",
            Fate::Changes => "changes",
            Fate::Vanishes => "vanishes",
        };
        Section {
            heading: format!("{} {verb} ({})", change.key, change.place),
            lines: lines(change),
        }
    });
    pools.chain(all.classes.iter().map(of_class)).collect()
}

fn of_class(class: &ClassChange) -> Section {
    let pools: Vec<String> = class.pools.iter().map(|pool| terminal::name(pool)).collect();
    let (verb, line) = if class.fate == Fate::Vanishes {
        let line = format!(
            "if your tool prunes, no node of {} is launched any more, not even a replacement: NEW still refers to this class",
            first_few(&pools, MOST_NAMED)
        );
        ("vanishes", line)
    } else {
        let line = format!(
            "nodes of {} may drift (the provider decides): {} changed",
            first_few(&pools, MOST_NAMED),
            joined(&class.fields)
        );
        ("changes", line)
    };
    Section {
        heading: format!("{} {verb} ({})", class.key, class.place),
        lines: vec![line],
    }
}

fn lines(change: &PoolChange) -> Vec<String> {
    let mut lines = Vec::new();
    if change.fate == Fate::Vanishes {
        let nodes = match change.nodes {
            Some(1) => "its only node is".to_owned(),
            Some(nodes) => format!("all its {nodes} nodes are"),
            None => "all its nodes are".to_owned(),
        };
        lines.push(match change.nodes {
            Some(0) => "the pool has no nodes".to_owned(),
            _ => format!(
                "if your tool prunes, {nodes} drained immediately, past every budget. PodDisruptionBudgets and \
                 do-not-disrupt hold up the drain"
            ),
        });
    }
    if let Some(drift) = &change.drift {
        lines.extend(of_drift(drift));
    }
    if let Some(removed) = &change.removed {
        lines.push(format!(
            "{}: {} changed; {}",
            removed.title, removed.field, removed.how
        ));
    }
    let immutable = change.immutable.iter();
    lines.extend(immutable.map(|finding| {
        format!("the API server rejects this, and a forced replacement deletes all nodes: {finding}")
    }));
    for (verb, hours) in [("opens", &change.hours.opens), ("closes", &change.hours.closes)] {
        if !hours.is_empty() {
            lines.push(format!("disruption by drift {verb}: {} UTC", hours.join(", ")));
        }
    }
    if !change.fields.is_empty() {
        let fields = joined(&change.fields);
        lines.push(format!("changed, without drift: {fields}"));
    }
    for (which, findings) in [("new", &change.new), ("gone", &change.gone)] {
        let findings = findings.iter();
        lines.extend(findings.map(|finding| format!("{which} {}: {finding}", finding.severity)));
    }
    lines
}

fn of_drift(drift: &DriftEffect) -> impl Iterator<Item = String> {
    let changed = format!("{}: {} changed", drift.title, joined(&drift.fields));
    let clauses = drift.doubt.iter().chain(&drift.pace).chain(&drift.remarks);
    let first = clauses.fold(changed, |line, clause| format!("{line}; {clause}"));
    let claims = (!drift.node_claims.is_empty())
        .then(|| format!("NodeClaims: {}", first_few(&drift.node_claims, MOST_NAMED)));
    let kept = drift.kept.iter().take(MOST_NAMED);
    let kept = kept.map(|(claim, why)| format!("NodeClaim {claim} stays: {why}"));
    let more = drift.kept.len().saturating_sub(MOST_NAMED);
    let more = (more > 0).then(|| format!("{more} more stay"));
    let acknowledge = drift.acknowledge.as_ref().map(|digest| {
        format!("the policy requires an acknowledgement: annotate the NodePool {ACKNOWLEDGE_DRIFT_ANNOTATION}: \"{digest}\"")
    });
    [Some(first), claims]
        .into_iter()
        .flatten()
        .chain(kept)
        .chain(more)
        .chain(acknowledge)
}

fn joined(paths: &[FieldPath]) -> String {
    let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
    paths.join(", ")
}

/// The whole in one line.
fn summary(all: &Comparison) -> String {
    let of = |fate| all.pools.iter().filter(|pool| pool.fate == fate).count();
    let parts = [
        (of(Fate::Changes), "changed"),
        (of(Fate::Appears), "new"),
        (of(Fate::Vanishes), "gone"),
        (all.unchanged, "unchanged"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
    let stake = match all.nodes_at_stake {
        Some(0) => "no node is replaced".to_owned(),
        Some(nodes) => format!("{} replaced or drained at most", counted(nodes, "node")),
        None => "the number of replaced nodes is unknown".to_owned(),
    };
    if parts.is_empty() {
        return "no NodePool on either side".to_owned();
    }
    format!("NodePools: {}; {stake}", parts.join(", "))
}
