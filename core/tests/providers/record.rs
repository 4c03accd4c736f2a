//! Each row of the data against what the releases of the provider's Go module register.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::Value;

use super::recorded::{Recorded, Release, recorded, release, releases_with};
use super::table::{instance_types, is_common, providers, rows, text};

fn lists(says: &Value, list: &str, wanted: &str) -> bool {
    rows(says, list).iter().any(|known| known == wanted)
}

fn written(row: &Value, column: &str) -> Option<Release> {
    row[column].as_str().map(release)
}

/// Each provider that has a module, with the record of it.
fn with_records() -> Vec<(Value, Recorded)> {
    let mut modules = recorded();
    let mut found = Vec::new();
    for provider in providers() {
        let Some(name) = provider["source"]["module"].as_str() else {
            continue;
        };
        let at = modules.iter().position(|module| module.module == name);
        let record = modules.swap_remove(at.unwrap_or_else(|| panic!("{name} has no record")));
        found.push((provider, record));
    }
    assert!(modules.is_empty(), "a module is recorded, and no data names it");
    found
}

#[test]
fn every_label_is_in_the_releases_that_the_data_says_and_none_is_missing() {
    for (provider, record) in with_records() {
        let mut known = BTreeSet::new();
        for row in rows(&provider, "labels") {
            let key = text(&row["key"]);
            assert!(known.insert(key), "{key} has two rows");
            let releases = releases_with(&record.releases, |says| lists(says, "labels", key));
            let said = (written(row, "since"), written(row, "until"));
            if releases.is_none() && !is_common(key) {
                assert!(
                    row["source"].is_string(),
                    "{key} is not in the record, so it needs a source"
                );
            } else if !is_common(key) {
                assert_eq!(Some(said), releases, "{key}");
            }
        }
        for (_, says) in &record.releases {
            for key in rows(says, "labels") {
                let key = text(key);
                assert!(known.contains(key) || is_common(key), "{key} is missing");
            }
        }
    }
}

#[test]
fn a_label_of_every_type_gets_a_value_unconditionally_or_from_the_types_name() {
    for (provider, record) in with_records() {
        for row in rows(&provider, "labels") {
            let key = text(&row["key"]);
            let is_everywhere = |says: &Value| {
                let carried = &says["carried"][key];
                // Whether all names have the usual parts can be seen only where they are listed.
                carried == "all" || carried == "named" && provider["instanceTypes"].is_object()
            };
            let said = match &row["everywhere"] {
                Value::Null => continue,
                Value::Bool(true) => None,
                since => Some(release(text(since))),
            };
            let expected = releases_with(&record.releases, is_everywhere);
            assert_eq!(Some((said, None)), expected, "{key}");
        }
    }
}

#[test]
fn closed_sets_normalised_labels_and_domains_are_as_recorded() {
    for (provider, record) in with_records() {
        let (_, newest) = record.releases.last().expect("a release");
        let mut closed = BTreeSet::new();
        for row in rows(&provider, "labels")
            .iter()
            .filter(|row| row["closed"].is_object())
        {
            let (key, set) = (text(&row["key"]), &row["closed"]);
            closed.insert(key);
            let releases = releases_with(&record.releases, |says| says["closed"][key] == set["values"]);
            assert_eq!(Some((written(set, "since"), None)), releases, "{key}");
        }
        let all = newest["closed"].as_object().into_iter().flatten();
        assert_eq!(closed, all.map(|(key, _)| key.as_str()).collect());

        let mut normalized = BTreeSet::new();
        for row in rows(&provider, "normalized") {
            let key = text(&row["key"]);
            normalized.insert(key);
            let releases = releases_with(&record.releases, |says| says["normalized"][key] == row["label"]);
            assert_eq!(Some((written(row, "since"), None)), releases, "{key}");
        }
        let all = newest["normalized"].as_object().into_iter().flatten();
        assert_eq!(normalized, all.map(|(key, _)| key.as_str()).collect());

        let group = text(&provider["group"]);
        let restricted = releases_with(&record.releases, |says| lists(says, "domains", group));
        let is_closed = restricted == Some((None, None));
        assert_eq!(provider["closed"], is_closed, "{group}");
    }
}

#[test]
fn the_releases_and_instance_types_that_were_read_are_those_of_the_record() {
    let numbers = |(major, minor, patch): Release| format!("{major}.{minor}.{patch}");
    for (provider, record) in with_records() {
        let ends = [record.releases.first(), record.releases.last()];
        let ends: Vec<_> = ends.into_iter().flatten().map(|(at, _)| numbers(*at)).collect();
        let said = rows(&provider["source"], "releases");
        assert_eq!(said, ends, "{}", record.module);
        let types = record.types.unwrap_or_default();
        let data = &provider["instanceTypes"];
        assert_eq!(
            Value::from(instance_types(&provider)),
            match &types["instanceTypes"] {
                Value::Null => Value::Array(Vec::new()),
                names => names.clone(),
            }
        );
        assert_eq!(
            (&data["releases"], &data["date"]),
            (&types["releases"], &types["date"])
        );
    }
}

/// `instanceTypeScheme` of `pkg/providers/instancetype/types.go`, which cuts category and generation out of a type's name.
#[test]
fn the_names_of_all_types_on_aws_that_run_linux_have_a_category_and_a_generation() {
    let scheme = Regex::new(r"(^[a-z]+)(\-[0-9]+tb)?([0-9]+).*\.").expect("a pattern");
    let names = instance_types(&providers()[0]);
    assert!(names.len() > 1400, "{}", names.len());
    let without: Vec<_> = names.iter().filter(|name| !scheme.is_match(name)).collect();
    // The provider asks for the architectures arm64 and x86_64 alone, and those of macOS have names of their own.
    assert!(without.iter().all(|name| name.starts_with("mac")), "{without:?}");
}
