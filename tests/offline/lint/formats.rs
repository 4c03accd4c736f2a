//! The output of each format. The words of findings are in the snapshot of the human format alone: the others have `TEXT`
//! in their place.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::{ASSUMED, NEWEST, lint_in};
use crate::schemas::assert_sarif;
use crate::support::files::directory;
use crate::support::nodepool::SOUND;
use crate::support::schemas::assert_described;

/// Two pools with findings of two severities: a value, a missing field, an unknown one, two fields that do not go
/// together, and a document that cannot be read.
fn text() -> String {
    let first = SOUND
        .replace("nodes: 10%", "nodes: 10%\n      schedule: 0 9 * * sat-sun")
        .replace("\"100\"", "100")
        .replace("  limits:", "  limit: {}\n  limits:");
    format!("{first}---\n{SOUND}---\na: 'karpenter.sh\n")
}

fn printed(format: &str, extra: &[&str]) -> String {
    let directory = directory(&[
        ("pools/a.yaml", &text()),
        ("pools/b.yaml", &SOUND.replace("1m", "1x")),
    ]);
    let arguments = [&["--output", format][..], extra, &["pools"]].concat();
    let outcome = lint_in(directory.path(), &arguments, "");
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    outcome.stdout
}

/// The output of a format that is not JSON, with `TEXT` in the place of what its findings say: help and consequence but
/// for their first letters, which begin a sentence.
fn without_texts(output: &str, escaped: impl Fn(&str) -> String) -> String {
    let report: Value = serde_json::from_str(&printed("json", &[])).expect("JSON");
    let results = report["results"].as_array().expect("a list");
    let parts = ["title", "help", "consequence"].into_iter();
    let mut texts: Vec<String> = parts
        .flat_map(|part| {
            results
                .iter()
                .filter_map(move |result| Some((part, result[part].as_str()?)))
        })
        .map(|(part, text)| text.chars().skip(usize::from(part != "title")).collect())
        .collect();
    texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
    texts.iter().fold(output.to_owned(), |output, text| {
        output.replace(&escaped(text), "TEXT")
    })
}

/// The text of a string in JSON.
fn in_json(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    let inner = quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inner.expect("quotes").to_owned()
}

#[test]
fn human() {
    insta::assert_snapshot!(printed("human", &[]));
}

#[test]
fn human_with_colour() {
    let coloured = printed("human", &["--color", "always"]);
    assert!(coloured.contains("\u{1b}["), "{coloured}");
    let mut plain = String::new();
    for (position, part) in coloured.split("\u{1b}[").enumerate() {
        let text = if position == 0 {
            part
        } else {
            part.split_once('m').expect("a colour").1
        };
        plain.push_str(text);
    }
    assert_eq!(plain, printed("human", &[]));
}

#[test]
fn concise() {
    insta::assert_snapshot!(without_texts(&printed("concise", &[]), str::to_owned));
}

#[test]
fn github() {
    insta::assert_snapshot!(without_texts(&printed("github", &[]), |text| text.replace('%', "%25")));
}

#[test]
fn json() {
    let mut report: Value = serde_json::from_str(&printed("json", &[])).expect("JSON");
    assert_described(&report);
    for result in report["results"].as_array_mut().expect("a list") {
        for field in ["title", "help", "consequence"] {
            if result[field].is_string() {
                result[field] = "TEXT".into();
            }
        }
    }
    insta::assert_snapshot!(pretty(&report));
}

fn pretty(report: &Value) -> String {
    serde_json::to_string_pretty(report).expect("JSON")
}

#[test]
fn sarif() {
    let mut report: Value = serde_json::from_str(&printed("sarif", &[])).expect("JSON");
    assert_sarif(&report);
    report["runs"][0]["tool"]["driver"]["semanticVersion"] = "VERSION".into();
    for rule in report["runs"][0]["tool"]["driver"]["rules"]
        .as_array_mut()
        .expect("rules")
    {
        if rule["help"]["text"].as_str().is_some_and(|text| !text.is_empty()) {
            rule["help"] = "HELP".into();
            rule["shortDescription"] = "TITLE".into();
        }
    }
    insta::assert_snapshot!(without_texts(&pretty(&report), in_json));
}

/// The links of a report to the pages of the rules, each once.
fn links(report: &Value) -> BTreeSet<String> {
    let mut links = BTreeSet::new();
    let mut left = vec![report];
    while let Some(value) = left.pop() {
        match value {
            Value::Object(fields) => left.extend(fields.values()),
            Value::Array(elements) => left.extend(elements),
            Value::String(text) if text.starts_with("https://example.com/") => {
                links.insert(text.clone());
            }
            _ => {}
        }
    }
    links
}

#[test]
fn findings_link_to_the_page_of_their_rule_where_it_is_published() {
    let url = ["--rules-url", "https://example.com/rules.html"];
    let rules = include_str!("../../../docs/reference/rules.md");
    let sarif = |extra: &[&str]| -> Value { serde_json::from_str(&printed("sarif", extra)).expect("JSON") };
    let report = sarif(&url);
    assert_sarif(&report);
    let found = links(&report);
    assert!(found.len() > 3, "{found:?}");
    for link in found {
        let rule = link.strip_prefix("https://example.com/rules.html#").expect(&link);
        assert!(rules.contains(&format!("\n## {rule}\n")), "no section {rule}");
    }
    assert_eq!(links(&sarif(&[])), BTreeSet::new());
    let link = "\u{1b}]8;;https://example.com/rules.html#schedule-syntax\u{1b}\\";
    assert!(printed("human", &[&url[..], &["--color=always"]].concat()).contains(link));
    assert!(
        !printed("human", &url).contains("example.com"),
        "a pipe shows no links"
    );
}

#[test]
fn every_format_for_people_and_reviews_names_the_pool() {
    for format in ["human", "concise", "github", "gitlab", "junit", "sarif"] {
        let report = printed(format, &[]);
        let name = match SOUND.split_once("name: ") {
            Some((_, rest)) => rest.split_whitespace().next().expect("a name"),
            None => panic!("it has a name"),
        };
        assert!(report.contains(&format!("NodePool {name}")), "{format}: {report}");
    }
}

#[test]
fn the_release_that_is_checked_for_is_named() {
    let beta = SOUND.replace("karpenter.sh/v1", "karpenter.sh/v1beta1");
    let directory = directory(&[("a.yaml", SOUND), ("b.yaml", &beta)]);
    let run = |arguments: &[&str]| lint_in(directory.path(), arguments, "");
    let human = run(&["--exit-zero", "a.yaml", "b.yaml"]);
    assert!(
        human
            .stderr
            .contains(&format!("checked for Karpenter 1.0.8 and {ASSUMED}")),
        "{human:?}"
    );
    let named = run(&["--karpenter-version=1.15.0", "a.yaml"]).stderr;
    assert!(
        named.contains("checked for Karpenter 1.15.0: nothing found"),
        "{named}"
    );
    let sarif: Value = serde_json::from_str(&run(&["--output=sarif", "a.yaml"]).stdout).expect("JSON");
    assert_eq!(
        sarif["runs"][0]["properties"]["karpenterVersions"],
        serde_json::json!([NEWEST.to_string()])
    );
    let json = run(&["--output=json", "--karpenter-version=1.9", "a.yaml"]);
    let json: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(json["summary"]["karpenterVersions"], serde_json::json!(["1.9.0"]));
}

/// What GitLab documents for Code Quality reports.
#[test]
fn gitlab() {
    let report: Value = serde_json::from_str(&printed("gitlab", &[])).expect("JSON");
    let issues = report.as_array().expect("a list");
    let mut fingerprints = BTreeSet::new();
    for issue in issues {
        for field in ["description", "check_name", "fingerprint"] {
            assert!(
                issue[field].as_str().is_some_and(|text| !text.is_empty()),
                "{issue}"
            );
        }
        let severities = ["info", "minor", "major", "critical", "blocker"];
        assert!(severities.contains(&issue["severity"].as_str().expect("a severity")));
        let path = issue["location"]["path"].as_str().expect("a path");
        assert!(!path.starts_with("./") && !path.starts_with('/'), "{path}");
        assert!(
            issue["location"]["lines"]["begin"]
                .as_u64()
                .is_some_and(|line| line > 0)
        );
        assert!(
            fingerprints.insert(issue["fingerprint"].to_string()),
            "each issue has its own: {issue}"
        );
    }
    insta::assert_snapshot!(without_texts(&pretty(&report), in_json));
}

#[test]
fn a_fingerprint_stays_while_lines_move() {
    let fingerprints = |text: &str| -> Vec<Value> {
        let directory = directory(&[("a.yaml", text)]);
        let outcome = lint_in(directory.path(), &["--output", "gitlab", "a.yaml"], "");
        let report: Vec<Value> = serde_json::from_str(&outcome.stdout).expect("a list");
        report.iter().map(|issue| issue["fingerprint"].clone()).collect()
    };
    let before = fingerprints(&text());
    assert!(before.len() > 2);
    assert_eq!(before, fingerprints(&format!("# one\n# two\n{}", text())));
}

#[test]
fn junit() {
    let report = printed("junit", &[]);
    let document = roxmltree::Document::parse(&report).expect("XML");
    for suite in document
        .descendants()
        .filter(|node| node.has_tag_name("testsuite"))
    {
        let count = |name: &str| {
            suite
                .descendants()
                .filter(|node| node.has_tag_name(name))
                .count()
                .to_string()
        };
        assert_eq!(suite.attribute("tests"), Some(count("testcase").as_str()));
        assert_eq!(suite.attribute("failures"), Some(count("failure").as_str()));
    }
    let escaped = |text: &str| {
        let marks = [
            ("&", "&amp;"),
            ("<", "&lt;"),
            (">", "&gt;"),
            ("\"", "&quot;"),
            ("'", "&apos;"),
        ];
        marks.iter().fold(text.to_owned(), |text, (mark, escaped)| {
            text.replace(mark, escaped)
        })
    };
    insta::assert_snapshot!(without_texts(&report, escaped));
}

#[test]
fn every_machine_format_is_whole_where_nothing_is_found() {
    let directory = directory(&[("pool.yaml", SOUND)]);
    let clean = |format: &str| {
        let outcome = lint_in(directory.path(), &["--output", format, "pool.yaml"], "");
        assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
        assert_eq!(outcome.stderr, "", "nothing is behind {format}");
        outcome.stdout
    };
    let json = |format: &str| -> Value { serde_json::from_str(&clean(format)).expect("JSON") };
    let sarif = json("sarif");
    assert_sarif(&sarif);
    assert_eq!(sarif["runs"][0]["results"], serde_json::json!([]));
    assert_eq!(json("gitlab"), serde_json::json!([]));
    let junit = clean("junit");
    let document = roxmltree::Document::parse(&junit).expect("XML");
    assert!(document.descendants().any(|node| node.has_tag_name("testcase")));
}

#[test]
fn one_run_writes_several_formats() {
    let directory = directory(&[("a.yaml", &text())]);
    let arguments = [
        "--output=concise",
        "--output=sarif=out.sarif",
        "--output=json=out.json",
        "a.yaml",
    ];
    let outcome = lint_in(directory.path(), &arguments, "");
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    assert!(outcome.stdout.starts_with("a.yaml:"), "{}", outcome.stdout);
    let written = |name: &str| -> Value {
        let text = fs::read_to_string(directory.path().join(name)).expect("a report");
        serde_json::from_str(&text).expect("JSON")
    };
    let count = |list: &Value| list.as_array().expect("a list").len();
    assert_eq!(
        count(&written("out.sarif")["runs"][0]["results"]),
        outcome.stdout.lines().count()
    );
    assert_eq!(
        count(&written("out.json")["results"]),
        outcome.stdout.lines().count()
    );

    let human = lint_in(directory.path(), &["--output=json=again.json", "a.yaml"], "");
    assert!(
        human.stdout.contains("--> a.yaml:"),
        "people still read it: {}",
        human.stdout
    );
    let two = lint_in(
        directory.path(),
        &["--output=json", "--output=sarif", "a.yaml"],
        "",
    );
    assert_eq!(two.status.code(), Some(2), "{two:?}");
    let nowhere = lint_in(directory.path(), &["--output=json=no/such/folder", "a.yaml"], "");
    assert_eq!(nowhere.status.code(), Some(2), "{nowhere:?}");
    assert!(
        nowhere.stderr.contains("no/such/folder cannot be written"),
        "{nowhere:?}"
    );
}

#[test]
fn json_is_whole_where_nothing_is_found() {
    let directory = directory(&[("pool.yaml", SOUND)]);
    let outcome = lint_in(directory.path(), &["--output", "json", "pool.yaml"], "");
    let report: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    assert_described(&report);
    assert_eq!(report["results"], serde_json::json!([]));
    assert_eq!(report["summary"]["objects"], 1);
    assert_eq!(outcome.stderr, "", "nothing is behind JSON");
}

/// A pool of the old API: a note on the release is reported once for all of them, at the first.
fn beta() -> String {
    SOUND.replace("karpenter.sh/v1", "karpenter.sh/v1beta1").replacen(
        "\nspec:\n",
        "\nspec:\n  weight: 500\n",
        1,
    )
}

#[test]
fn a_note_that_is_reported_once_stands_in_its_place() {
    let beta = beta();
    let directory = directory(&[
        ("a.yaml", SOUND),
        ("b.yaml", &beta),
        ("c.yaml", &format!("{beta}---\n{beta}")),
    ]);
    let run = |format: &str| lint_in(directory.path(), &["--output", format, "."], "").stdout;
    let concise = run("concise");
    let place = |line: &str| -> (String, usize, usize) {
        let mut parts = line.split(':');
        let mut next = || parts.next().unwrap_or_default().to_owned();
        let (file, line, column) = (next(), next(), next());
        (
            file,
            line.parse().expect("a line"),
            column.parse().expect("a column"),
        )
    };
    let places: Vec<_> = concise.lines().map(place).collect();
    assert!(places.is_sorted(), "{concise}");
    assert_eq!(concise.matches("note[manifest-release]").count(), 1, "{concise}");
    assert!(concise.starts_with("b.yaml:1:"), "{concise}");
    let junit = run("junit");
    let suites: Vec<&str> = junit
        .lines()
        .filter(|line| line.contains("<testsuite "))
        .collect();
    assert_eq!(suites.len(), 3, "{junit}");
    let found = concise.lines().filter(|line| line.starts_with("b.yaml")).count();
    assert!(
        junit.contains(&format!("<testsuite name=\"b.yaml\" tests=\"{found}\"")),
        "{junit}"
    );
    let json: Value = serde_json::from_str(&run("json")).expect("JSON");
    assert_eq!(json["results"].as_array().map(Vec::len), Some(places.len()));
    assert_eq!(json["summary"]["notes"], 1);
}

/// Jenkins fails a report without a test.
#[test]
fn junit_has_a_suite_with_a_test_where_there_is_no_nodepool() {
    let directory = directory(&[("a.yaml", "a: 1\n"), ("pool.yaml", SOUND)]);
    for (arguments, name) in [(&["a.yaml"][..], "no NodePool found"), (&["."], "1 object")] {
        let arguments = [&["--output=junit"], arguments].concat();
        let report = lint_in(directory.path(), &arguments, "").stdout;
        let document = roxmltree::Document::parse(&report).expect("XML");
        let named = |tag: &str| {
            document
                .descendants()
                .filter(|node| node.has_tag_name(tag))
                .collect::<Vec<_>>()
        };
        assert_eq!(named("testsuite").len(), 1, "{report}");
        let tests = named("testcase");
        assert_eq!(
            tests.first().and_then(|test| test.attribute("name")),
            Some(name),
            "{report}"
        );
    }
}

/// What GitHub documents: without these fields, code scanning shows no description, and knows no finding again.
#[test]
fn sarif_has_what_code_scanning_reads() {
    let results = |text: &str| -> Vec<(Value, Value)> {
        let directory = directory(&[("a.yaml", text)]);
        let outcome = lint_in(directory.path(), &["--output", "sarif", "a.yaml"], "");
        let report: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
        let run = &report["runs"][0];
        for rule in run["tool"]["driver"]["rules"].as_array().expect("rules") {
            let full = rule["fullDescription"]["text"].as_str().expect("a description");
            assert!(full.len() > 40, "{rule}");
        }
        let results = run["results"].as_array().expect("results");
        results
            .iter()
            .map(|result| {
                (
                    result["ruleId"].clone(),
                    result["partialFingerprints"]["primaryLocationLineHash"].clone(),
                )
            })
            .collect()
    };
    let before = results(&text());
    assert!(
        before.len() > 2 && before.iter().all(|(_, hash)| hash.is_string()),
        "{before:?}"
    );
    assert_eq!(
        before,
        results(&format!("# one\n# two\n{}", text())),
        "lines move"
    );
}
