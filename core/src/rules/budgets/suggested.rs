//! What is suggested about budgets, done to the letter, has the effect that was promised and no other.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::budget::{Budgets, Reason};
use crate::json::Json;
use crate::karpenter::{ApiVersion, KarpenterVersion, NodePool};
use crate::manifest::{Limits, parse};
use crate::rules::testing::findings_for;

/// The rules whose suggestions are budgets to add.
const ADDING: [&str; 3] = [
    "budget-allow-window",
    "budget-uncovered-hours",
    "budget-uncovered-reason",
];

/// A Sunday.
const WEEK: &str = "2026-01-04T00:00:00Z";

fn pool(budgets: &[Value]) -> Value {
    json!({"spec": {"disruption": {"budgets": budgets}}})
}

/// Each finding about budgets: its rule, its field and its suggestion.
fn found(budgets: &[Value]) -> Vec<(String, String, String)> {
    findings_for(ApiVersion::V1, KarpenterVersion::NEWEST, &pool(budgets))
        .into_iter()
        .filter(|finding| finding.rule.as_str().starts_with("budget-"))
        .map(|finding| {
            let text = finding.help.map(|suggestion| suggestion.text);
            (
                finding.rule.as_str().to_owned(),
                finding.path.to_string(),
                text.unwrap_or_default(),
            )
        })
        .collect()
}

/// The budgets in a suggestion, read as YAML.
fn written(suggestion: &str) -> Vec<Value> {
    let mut budgets = Vec::new();
    for part in suggestion.split('{').skip(1) {
        let (budget, _) = part.split_once('}').expect("an end");
        let text = format!("{{{budget}}}");
        let document = parse(&text, &Limits::default());
        budgets.push(document.into_iter().next().expect("a budget").into_value());
    }
    budgets
}

/// What is allowed for each reason in each quarter of an hour of a week.
fn allowed(budgets: &[Value]) -> Vec<[Option<u32>; 4]> {
    let object = pool(budgets);
    let object = Json::from(&object);
    let budgets = Budgets::parse(&NodePool::view(ApiVersion::V1, &object)).expect("budgets");
    let rows = budgets.periods(
        &Reason::ALL,
        17,
        WEEK.parse::<Timestamp>().expect("an instant"),
        SignedDuration::from_mins(15),
        7 * 24 * 4,
    );
    let quarters = rows.first().map_or(0, Vec::len);
    (0..quarters)
        .map(|quarter| std::array::from_fn(|reason| rows[reason][quarter].lowest.nodes()))
        .collect()
}

fn budget() -> impl Strategy<Value = Value> {
    let nodes = prop::sample::select(vec!["0", "1", "5", "10%", "50%"]);
    let reasons = prop::sample::select(vec![
        json!(null),
        json!(null),
        json!(["Drifted"]),
        json!(["Empty", "Underutilized"]),
        json!(["Underutilized", "Drifted"]),
        json!(["Underutilized", "Empty", "Drifted"]),
    ]);
    let days = prop::sample::select(vec!["*", "*", "mon-fri", "sat,sun", "wed"]);
    let window = prop::option::weighted(0.8, (0..24_u32, days, 1..30_u32));
    (nodes, reasons, window).prop_map(|(nodes, reasons, window)| {
        let mut budget = json!({"nodes": nodes, "reasons": reasons});
        if let Some((hour, days, length)) = window {
            budget["schedule"] = format!("0 {hour} * * {days}").into();
            budget["duration"] = format!("{}m", length * 45).into();
        }
        budget
    })
}

proptest! {
    #[test]
    fn added_to_the_letter_a_suggestion_limits_what_was_open_and_nothing_else(
        budgets in prop::collection::vec(budget(), 1..4)
    ) {
        let before = found(&budgets);
        let mut changed = budgets.clone();
        let mut spelt_out = true;
        for (rule, _, suggestion) in &before {
            if ADDING.contains(&rule.as_str()) {
                let added = written(suggestion);
                spelt_out &= !added.is_empty();
                changed.extend(added);
            }
        }
        let after = found(&changed);
        let others = |all: &[(String, String, String)]| -> Vec<(String, String)> {
            let kept = all.iter().filter(|(rule, ..)| !ADDING.contains(&rule.as_str()));
            kept.map(|(rule, path, _)| (rule.clone(), path.clone())).collect()
        };
        // A budget that never counted may now be below another one, too.
        prop_assert_eq!(others(&after), others(&before), "{:?}", changed);
        if spelt_out {
            let left = after.iter().find(|(rule, ..)| ADDING.contains(&rule.as_str()));
            prop_assert_eq!(left, None, "{:?}", changed);
        }
        for (old, new) in allowed(&budgets).into_iter().zip(allowed(&changed)) {
            for (reason, (old, new)) in Reason::ALL.into_iter().zip(old.into_iter().zip(new)) {
                let is_replacing = matches!(reason, Reason::Underutilized | Reason::Drifted);
                prop_assert!(old.is_none() || new == old, "{:?}: {:?} {:?}", reason, old, changed);
                prop_assert!(!spelt_out || !is_replacing || new.is_some(), "{:?} {:?}", reason, changed);
            }
        }
    }
}
