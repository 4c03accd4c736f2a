//! The answers as JSON. Its shape is versioned: fields are added, never changed or removed.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use poolgate_core::api::API_VERSION;
use poolgate_core::budget::{Allowance, AllowanceRange, Budget, Change, Reason};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::subject::{Subject, nodes_text};

/// All pools at a moment, and their week in UTC.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BudgetReport {
    api_version: &'static str,
    kind: &'static str,
    at: String,
    pools: Vec<Value>,
    /// What is not among the pools, with its place and the reason.
    not_shown: Vec<String>,
}

pub fn document(subjects: &[Subject<'_>], complaints: &[String], at: Timestamp) -> BudgetReport {
    BudgetReport {
        api_version: API_VERSION,
        kind: "BudgetReport",
        at: at.to_string(),
        pools: subjects.iter().map(|subject| pool(subject, at)).collect(),
        not_shown: complaints.to_vec(),
    }
}

fn pool(subject: &Subject<'_>, at: Timestamp) -> Value {
    let mut pool = json!({
        "name": subject.name,
        "file": subject.file,
        "frozen": subject.freeze_at(at),
        "nodes": subject.nodes,
        "nodesAssumed": subject.assumed,
        "budgetsWritten": subject.budgets.are_written(),
        "budgets": subject.budgets.iter().map(|it| budget(subject, it, at)).collect::<Vec<_>>(),
        "reasons": by_reason(subject, |reason| answer(subject, reason, at)),
        "week": week(subject, midnight(at)),
    });
    if let (Some(in_use), Some(pool)) = (&subject.in_use, pool.as_object_mut()) {
        pool.insert("cluster".into(), in_use.json());
    }
    pool
}

fn budget(subject: &Subject<'_>, budget: &Budget, at: Timestamp) -> Value {
    let schedule = budget.schedule.as_ref().present();
    let duration = budget.duration.as_ref().present();
    json!({
        "index": budget.index,
        "nodes": budget.nodes().map(nodes_text),
        "reasons": budget.reasons().iter().map(Reason::as_str).collect::<Vec<_>>(),
        "schedule": schedule.map(|schedule| &schedule.text),
        "duration": duration.map(|duration| &duration.text),
        "active": budget.is_active(at),
        "allows": budget.allows(subject.nodes),
        "error": schedule.and_then(|schedule| schedule.value.as_ref().err()).map(ToString::to_string),
    })
}

fn answer(subject: &Subject<'_>, reason: Reason, at: Timestamp) -> Value {
    let mut answer = allowance(subject.budgets.allowance(reason, subject.nodes, at));
    let next = match subject.budgets.next_change(reason, subject.nodes, at) {
        Change::Never => json!({"never": true}),
        Change::NotBefore(until) => json!({"notBefore": until.to_string()}),
        Change::At { at, to } => {
            let mut next = allowance(to);
            next.insert("at".into(), at.to_string().into());
            Value::Object(next)
        }
    };
    answer.insert("next".into(), next);
    answer.insert("never".into(), json!(subject.idle(reason)));
    if let Some(in_use) = &subject.in_use {
        answer.insert("consumed".into(), in_use.consumed(reason).into());
    }
    Value::Object(answer)
}

/// `nodes` is null if nothing limits.
fn allowance(allowance: Allowance) -> Map<String, Value> {
    let (budget, blocked) = match allowance {
        Allowance::Unlimited => (None, false),
        Allowance::Limited { budget, .. } => (Some(budget), false),
        Allowance::Blocked { budget } => (Some(budget), true),
    };
    Map::from_iter([
        ("nodes".to_owned(), json!(allowance.nodes())),
        ("budget".to_owned(), json!(budget)),
        ("blocked".to_owned(), json!(blocked)),
    ])
}

/// The beginning of the day in UTC.
fn midnight(at: Timestamp) -> Timestamp {
    let day = at.to_zoned(TimeZone::UTC).start_of_day();
    day.map_or(at, |day| day.timestamp())
}

/// The lowest and the highest number of each hour, null if nothing limits.
fn week(subject: &Subject<'_>, from: Timestamp) -> Value {
    let rows = subject.budgets.week(&subject.reasons, subject.nodes, from);
    let hours = |of: fn(&AllowanceRange) -> Allowance| -> Map<String, Value> {
        let rows = subject.reasons.iter().zip(&rows).map(|(reason, row)| {
            let numbers: Value = row.iter().map(|range| of(range).nodes()).collect();
            (reason.as_str().to_owned(), numbers)
        });
        rows.collect()
    };
    json!({
        "from": from.to_string(),
        "hours": hours(|range| range.lowest),
        "highest": hours(|range| range.highest),
    })
}

fn by_reason(subject: &Subject<'_>, of: impl Fn(Reason) -> Value) -> Map<String, Value> {
    let reasons = subject.reasons.iter();
    reasons
        .map(|reason| (reason.as_str().to_owned(), of(*reason)))
        .collect()
}
