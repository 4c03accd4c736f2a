//! A model of the node limit gate: every interleaving, within bounds, of API servers, replicas, watches, lost
//! writes and time, around the real functions of `poolgate_core::nodelimit::ledger`.

#![cfg(test)]

mod api_server;
mod driver;
mod explore;
mod fingerprint;
mod outcome;
mod probe;
mod real;
mod scenario;
mod steps;
mod times;
mod world;

use std::time::Instant;

use explore::explore;
use scenario::{BOUNDED, FULL, MISSED};

/// More than any scenario has, so none is cut short.
const MOST: usize = 10_000_000;

fn full() -> bool {
    std::env::var_os("POOLGATE_TEST_FULL").is_some_and(|value| value == "1")
}

/// The documentation gives the exact number of states: a smaller exploration must not go unnoticed. It writes 1,234
/// for 1234.
fn assert_documented(words: &str) {
    let text = include_str!("../../../docs/explanation/what-holds.md").replace(',', "");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains(words),
        "docs/explanation/what-holds.md does not say: {words}"
    );
}

#[test]
fn the_limit_holds_and_no_place_is_lost_in_any_order_of_events() {
    let larger = if full() { FULL } else { &[] };
    let mut total = 0;
    for scenario in BOUNDED.iter().chain(larger) {
        let begun = Instant::now();
        let explored = explore(scenario, None, MOST);
        if let Some((violation, story)) = explored.violation {
            panic!("{}: {violation:?} after\n{story:#?}", scenario.name);
        }
        assert!(explored.whole, "{} has more than {MOST} states", scenario.name);
        println!(
            "{}: {} states in {:.1?}",
            scenario.name,
            explored.worlds,
            begun.elapsed()
        );
        total += explored.worlds;
    }
    println!("{total} states in all");
    assert_documented(&format!("{total} states"));
}

#[test]
fn each_guard_is_missed_when_it_is_removed() {
    let mut steps = Vec::new();
    for (guard, scenario, expected) in MISSED {
        let explored = explore(scenario, Some(*guard), MOST);
        let (violation, story) = explored
            .violation
            .unwrap_or_else(|| panic!("{guard:?} can go without harm to: {}", scenario.name));
        assert_eq!(violation, *expected, "without {guard:?}, after\n{story:#?}");
        println!("without {guard:?}: {violation:?} after {} steps", story.len());
        steps.push(story.len());
    }
    assert_documented(&format!("{} guards", MISSED.len()));
    let (least, most) = (steps.iter().min(), steps.iter().max());
    let (least, most) = least.zip(most).expect("there are guards");
    assert_documented(&format!("{least} to {most} steps"));
}
