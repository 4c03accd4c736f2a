//! The budgets of a pool at one moment, in sentences.

use std::fmt::Write as _;

use jiff::Timestamp;
use poolgate_core::budget::{Allowance, Budget, Change, Reason, Reasons, Timing};
use poolgate_core::diagnostic::counted;

use super::notes;
use super::subject::{Subject, nodes_text, window};
use crate::clock::Clock;
use crate::terminal;

/// Explains the budgets at a moment.
pub fn explanation(subject: &Subject<'_>, at: Timestamp, clock: &Clock) -> String {
    let mut text = heading(subject);
    let _ = writeln!(text, "at {}{}\n", clock.write(at), subject.and_assumed_release());
    text.push_str(&frozen(subject, at));
    text.push_str(&list(subject, at));
    for (reasons, answer) in answers(subject, at) {
        let names: Vec<_> = reasons.iter().map(|reason| reason.as_str()).collect();
        let names = names.join(", ");
        let _ = match answer {
            Answer::Idle(why) => writeln!(text, "{names}: never happens, because {why}"),
            Answer::Allowed(allowance, left, change) => writeln!(
                text,
                "{names}: {}{left}\n  {}",
                subject.described(allowance),
                changed(subject, change, clock)
            ),
        };
    }
    for blocked in subject.in_use.iter().flat_map(|in_use| &in_use.blocked) {
        let _ = write!(text, "\n{}", blocked.described(clock));
    }
    text.push_str(&notes::paragraphs(subject, at, clock));
    text.push('\n');
    text
}

/// The pool and its size.
pub fn heading(subject: &Subject<'_>) -> String {
    let nodes = counted(subject.nodes as usize, "node");
    let assumed = if subject.assumed {
        " (assumed; set with --nodes)"
    } else {
        ""
    };
    let file = subject.file.map(|file| format!(" ({file})")).unwrap_or_default();
    format!("NodePool {}{file}, {nodes}{assumed}\n", subject.name)
}

/// That the pool is frozen: then its budgets do not matter.
pub fn frozen(subject: &Subject<'_>, at: Timestamp) -> String {
    let Some(freeze) = subject.freeze_at(at) else {
        return String::new();
    };
    let text = format!(
        "{}. While a reconciler of poolgate leads, no node is disrupted whatever the budgets allow.",
        freeze.described()
    );
    terminal::wrapped(&terminal::clean(&text), "", "  ", terminal::line_width()) + "\n\n"
}

/// The budgets, a line each.
fn list(subject: &Subject<'_>, at: Timestamp) -> String {
    let budgets = subject.budgets.iter();
    let rows: Vec<[String; 5]> = budgets.map(|budget| row(subject, budget, at)).collect();
    let mut text = terminal::columns("  ", &rows);
    if !rows.is_empty() {
        text.push('\n');
    }
    text
}

fn row(subject: &Subject<'_>, budget: &Budget, at: Timestamp) -> [String; 5] {
    let allowed = budget.allows(subject.nodes).filter(|_| budget.is_active(at));
    let state = match (&budget.timing, allowed) {
        (Timing::Blocked, _) => "cannot be parsed".to_owned(),
        (_, Some(allowed)) => format!("active: {allowed}"),
        _ => "not active".to_owned(),
    };
    [
        subject.called(budget.index),
        format!("nodes {}", budget.nodes().map(nodes_text).unwrap_or_default()),
        names(budget.reasons()),
        window(budget),
        state,
    ]
}

fn names(reasons: Reasons) -> String {
    if reasons == Reasons::ALL {
        return "every reason".into();
    }
    let names: Vec<_> = reasons.iter().map(Reason::as_str).collect();
    if names.is_empty() {
        "no reason".into()
    } else {
        names.join(", ")
    }
}

/// The answer for a reason.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    /// Why it never applies.
    Idle(&'static str),
    /// The allowance, how much of it is left, and when the allowance changes.
    Allowed(Allowance, String, Change),
}

/// The answer for each reason; reasons with the same answer share one.
fn answers(subject: &Subject<'_>, at: Timestamp) -> Vec<(Vec<Reason>, Answer)> {
    let mut answers: Vec<(Vec<Reason>, Answer)> = Vec::new();
    for reason in &subject.reasons {
        let allowed = || {
            let allowance = subject.budgets.allowance(*reason, subject.nodes, at);
            let change = subject.budgets.next_change(*reason, subject.nodes, at);
            Answer::Allowed(allowance, subject.left(*reason, allowance), change)
        };
        let answer = subject.idle(*reason).map_or_else(allowed, Answer::Idle);
        match answers.iter_mut().find(|(_, known)| *known == answer) {
            Some((reasons, _)) => reasons.push(*reason),
            None => answers.push((vec![*reason], answer)),
        }
    }
    answers
}

fn changed(subject: &Subject<'_>, change: Change, clock: &Clock) -> String {
    match change {
        Change::Never => "permanent".into(),
        Change::At { at, to } => format!("from {}: {}", clock.write(at), subject.described(to)),
        Change::NotBefore(until) => format!(
            "unchanged until at least {} (later times were not checked)",
            clock.write(until)
        ),
    }
}
