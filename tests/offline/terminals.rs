//! What people read on a narrow, a usual and a wide terminal: every word of it is whole, and it fits.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::pages::{on_terminal, typed};

const WIDTHS: [usize; 3] = [40, 80, 120];

/// A terminal of this width shows whole sentences in lines that it does not break.
const USUAL: usize = 80;

/// The words of a text, without what draws its lines.
fn words(text: &str) -> String {
    let is_drawn = |word: &&str| !["|", "=", "|_", "_", "..."].contains(word);
    let words: Vec<&str> = text.split_whitespace().filter(is_drawn).collect();
    words.join(" ")
}

#[test]
fn a_finding_names_its_pool_and_its_field_on_every_terminal() {
    const COMMAND: &str = "poolgate lint --isolated --karpenter-version 1.15 docs/examples/mistakes.yaml";
    let report = typed(&format!("{COMMAND} -o json")).stdout;
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let results = report["results"].as_array().expect("results");
    for columns in WIDTHS {
        let shown = on_terminal(columns, &format!("NO_COLOR=1 {COMMAND}"));
        let findings: Vec<&str> = shown
            .split("\n\n")
            .filter(|part| part.contains("docs/examples/mistakes.yaml:"))
            .collect();
        assert_eq!(findings.len(), results.len(), "{shown}");
        for (finding, result) in findings.iter().zip(results) {
            let said = words(finding);
            let text = |value: &Value| value.as_str().expect("a text").to_owned();
            let object = &result["object"];
            for wanted in [
                text(&result["rule"]),
                text(&result["title"]),
                text(&result["field"]),
                format!("{} {}", text(&object["kind"]), text(&object["name"])),
            ] {
                assert!(said.contains(&words(&wanted)), "{columns}: {wanted}: {finding}");
            }
            let widest = finding.lines().map(|line| line.chars().count()).max();
            assert!(columns < USUAL || widest <= Some(columns), "{columns}: {finding}");
        }
    }
}

/// A terminal changes where lines end, and nothing else.
#[test]
fn every_format_for_people_says_the_same_on_every_terminal() {
    const POOLS: &str = "docs/examples/mistakes.yaml";
    const OLD: &str = "docs/examples/budgets/business-hours.yaml";
    let lint = "poolgate lint --isolated --karpenter-version 1.15";
    for line in [
        format!("{lint} -o concise {POOLS}"),
        format!("{lint} -o github {POOLS}"),
        format!("{lint} --statistics {POOLS}"),
        format!("{lint} --fix --diff {POOLS}"),
        format!("poolgate budgets --at 2026-01-05T10:00:00Z {POOLS} {OLD}"),
        format!("poolgate budgets --week --at 2026-01-05T10:00:00Z --tz Europe/Berlin {OLD}"),
        format!("poolgate diff --isolated --at 2026-01-05 {OLD} {POOLS}"),
        format!("poolgate default --isolated {OLD}"),
        "poolgate default --isolated --diff docs/examples".to_owned(),
        "poolgate explain budget-allow-window".to_owned(),
    ] {
        let piped = typed(&line);
        let piped: BTreeSet<String> = lines_of_words(&(piped.stdout + &piped.stderr));
        for columns in WIDTHS {
            let shown = on_terminal(columns, &format!("NO_COLOR=1 {line}"));
            let said = words(&shown);
            for sentence in &piped {
                assert!(said.contains(sentence), "{columns}: {line}: {sentence}\n{shown}");
            }
        }
    }
}

fn lines_of_words(text: &str) -> BTreeSet<String> {
    text.lines().map(words).collect()
}
