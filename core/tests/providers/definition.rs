//! The part of the table that comes from the record alone: the rules about labels in the definitions of NodePools, and which
//! Karpenter a release contains.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use poolgate_core::facts::KarpenterVersion;
use serde_json::Value;

use super::recorded::{Recorded, Release, release, releases_with};
use super::table::{rows, text};

/// The end of a provider's entry, with nothing known if there is no record.
pub fn write(recorded: Option<&Recorded>, has_namesake: bool, table: &mut String) {
    let Some(recorded) = recorded else {
        table.push_str("    definition: Definition::NONE,\n    newest: None,\n    core: &[],\n");
        return;
    };
    write_rules(&recorded.definitions, table);
    let newest = recorded.releases.last().map(|(release, _)| *release);
    let newest = newest.map_or("None".to_owned(), |release| {
        format!("Some(ProviderVersion::new{release:?})")
    });
    let _ = writeln!(table, "    newest: {newest},");
    // The releases of a namesake have the same numbers.
    let core = if has_namesake {
        &[]
    } else {
        recorded.core.as_slice()
    };
    write_core(core, table);
}

fn write_rules(definitions: &[(Release, Value)], table: &mut String) {
    let domains: BTreeSet<&str> = definitions
        .iter()
        .filter_map(|(_, rules)| rules["domains"].as_object())
        .flat_map(|domains| domains.keys().map(String::as_str))
        .collect();
    let forbidden: BTreeSet<&str> = definitions
        .iter()
        .flat_map(|(_, rules)| rows(rules, "forbidden"))
        .map(text)
        .collect();
    if domains.is_empty() && forbidden.is_empty() {
        table.push_str("    definition: Definition::NONE,\n");
        return;
    }
    table.push_str("    definition: Definition {\n        closed: &[\n");
    for domain in domains {
        let lists = |rules: &Value, label: &str| {
            let listed = rules["domains"][domain].as_array().into_iter().flatten();
            listed.into_iter().any(|known| known == label)
        };
        let labels: BTreeSet<&str> = definitions
            .iter()
            .filter_map(|(_, rules)| rules["domains"][domain].as_array())
            .flatten()
            .map(text)
            .collect();
        let releases = releases(definitions, |rules| rules["domains"][domain].is_array());
        let _ = writeln!(
            table,
            "            ClosedDomain {{ domain: {domain:?}, releases: {releases}, labels: &["
        );
        for label in labels {
            let releases = self::releases(definitions, |rules| lists(rules, label));
            let _ = writeln!(table, "                ({label:?}, {releases}),");
        }
        table.push_str("            ] },\n");
    }
    table.push_str("        ],\n        forbidden: &[\n");
    for label in forbidden {
        let releases = releases(definitions, |rules| {
            rows(rules, "forbidden").iter().any(|known| known == label)
        });
        let _ = writeln!(table, "            ({label:?}, {releases}),");
    }
    table.push_str("        ],\n    },\n");
}

/// The releases in which something is true, as Rust. They follow each other, or the table could not have them.
fn releases(definitions: &[(Release, Value)], is_true: impl Fn(&Value) -> bool) -> String {
    let (since, until) = releases_with(definitions, &is_true).expect("it is true in some release");
    for (release, rules) in definitions {
        let is_within =
            since.is_none_or(|since| *release >= since) && until.is_none_or(|until| *release < until);
        assert_eq!(is_true(rules), is_within, "{release:?}");
    }
    let mut written = "Releases::ALL".to_owned();
    for (column, release) in [("since", since), ("until", until)] {
        if let Some(release) = release {
            let _ = write!(written, ".{column}{release:?}");
        }
    }
    written
}

fn write_core(core: &[(Release, Release)], table: &mut String) {
    let oldest = release(&KarpenterVersion::OLDEST.to_string());
    table.push_str("    core: &[\n");
    let mut line = String::from("       ");
    let mut lines_before = BTreeSet::new();
    for (first, contained) in core {
        // All of them are checked as the oldest that is known.
        if *contained < oldest && !lines_before.insert((contained.0, contained.1)) {
            continue;
        }
        let row = format!(" contains({first:?}, {contained:?}),");
        if line.len() + row.len() > 110 {
            let _ = writeln!(table, "{line}");
            line.truncate(7);
        }
        line.push_str(&row);
    }
    if line.len() > 7 {
        let _ = writeln!(table, "{line}");
    }
    table.push_str("    ],\n");
}
