//! Numbers in the documents are those that a benchmark has recorded, or that can be counted here.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use poolgate_core::rules::CATALOGUE;
use regex::Regex;
use serde_json::Value;

use crate::commands::tests;

/// The document with the tables of the benchmarks.
const TABLES: &str = "bench/README.md";
/// A table is enclosed in `<!-- bench: RECORD/TABLE -->` and this.
const END: &str = "<!-- end -->";
/// Set by `tests/generated-files --write`.
pub(crate) const WRITE: &str = "POOLGATE_WRITE";

pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

pub(crate) fn read(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What `bench/record` wrote, if the benchmark was ever recorded.
pub(crate) fn record(name: &str) -> Option<Value> {
    let text = std::fs::read_to_string(path(&format!("bench/results/{name}.json"))).ok()?;
    Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}")))
}

/// A number as documents write it: 1,234,567.
fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    String::from_utf8(groups.join(&b',')).expect("digits")
}

fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        number => {
            let text = number.to_string();
            let whole = text.strip_suffix(".0").unwrap_or(&text).parse();
            whole.map_or(text, with_commas)
        }
    }
}

fn line(cells: &Value) -> String {
    let cells: Vec<String> = cells
        .as_array()
        .expect("a list of cells")
        .iter()
        .map(cell)
        .collect();
    format!("| {} |\n", cells.join(" | "))
}

/// A table and how it was measured, as Markdown.
fn markdown(name: &str) -> String {
    let (file, table) = name.split_once('/').expect("RECORD/TABLE");
    let Some(record) = record(file) else {
        return format!("Not measured yet: `bench/record {file}`.\n");
    };
    let content = &record["tables"][table];
    let columns = content["columns"].as_array().expect(name).len();
    let mut text = line(&content["columns"]) + &format!("|{}\n", " --- |".repeat(columns));
    for row in content["rows"].as_array().expect(name) {
        assert_eq!(row.as_array().map(Vec::len), Some(columns), "{name}: {row}");
        text += &line(row);
    }
    let said = |field: &str| cell(&record[field]);
    let _ = writeln!(
        text,
        "\n`{}`, {}, commit {}, rustc {}, {}; {}.",
        said("command"),
        said("date"),
        said("commit"),
        said("rustc"),
        said("machine"),
        said("beside"),
    );
    text
}

/// The names of the tables in a text, and the text with the current tables.
fn with_tables(text: &str) -> (BTreeSet<String>, String) {
    let mut names = BTreeSet::new();
    let mut pieces = text.split("<!-- bench: ");
    let mut made = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once(" -->").expect("the end of a comment");
        let (_, rest) = rest.split_once(END).expect("the end of a table");
        let _ = write!(made, "<!-- bench: {name} -->\n\n{}\n{END}{rest}", markdown(name));
        assert!(names.insert(name.to_owned()), "{name} is twice");
    }
    (names, made)
}

#[test]
fn the_tables_of_the_benchmarks_are_those_that_were_recorded() {
    let (_, made) = with_tables(&read(TABLES));
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(path(TABLES), &made).expect(TABLES);
    }
    let text = read(TABLES);
    let differing = text
        .lines()
        .zip(made.lines())
        .find(|(stated, recorded)| stated != recorded);
    assert_eq!(
        differing, None,
        "{TABLES}: tests/generated-files --write fixes it"
    );
    assert_eq!(
        text.len(),
        made.len(),
        "{TABLES}: tests/generated-files --write fixes it"
    );
}

#[test]
fn every_recorded_table_stands_in_a_document() {
    let (shown, _) = with_tables(&read(TABLES));
    for entry in std::fs::read_dir(path("bench/results")).expect("records") {
        let file = entry.expect("a record").path();
        if file.extension().is_some_and(|extension| extension == "svg") {
            continue;
        }
        let name = file.file_stem().and_then(|name| name.to_str()).expect("a name");
        let record = record(name).expect("it was just listed");
        for table in record["tables"].as_object().expect(name).keys() {
            assert!(shown.contains(&format!("{name}/{table}")), "{name}/{table}");
        }
    }
}

/// Fails unless a document gives this number with the thing that it counts, on one line or several. The words around
/// them are free.
fn assert_gives(document: &str, number: &str) {
    let text = read(document);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let pattern = format!(r"(^|[^\d.,]){}($|[^\d])", regex::escape(number));
    let pattern = Regex::new(&pattern).expect("a pattern");
    assert!(pattern.is_match(&text), "{document} does not give {number}");
}

fn recorded_lines(name: &str) -> u64 {
    read(&format!("core/tests/data/{name}")).lines().count() as u64
}

#[test]
fn numbers_in_the_text_are_those_that_are_counted() {
    assert!(
        CATALOGUE.len() > 100,
        "README.md speaks of more than a hundred rules"
    );
    let data = "core/tests/data/README.md";
    let releases: BTreeSet<String> = read("core/tests/data/karpenter-crds.jsonl")
        .lines()
        .flat_map(|line| {
            let line: Value = serde_json::from_str(line).expect("a line of JSON");
            line["releases"].as_array().cloned().unwrap_or_default()
        })
        .map(|release| release.to_string())
        .collect();
    let releases = releases.len();
    for document in ["docs/explanation/what-holds.md", data] {
        assert_gives(document, &format!("{releases} releases"));
    }
    assert_gives("docs/install.md", &format!("{} other releases", releases - 3));
    let modules = read("tests/programs/go.mod");
    for (name, module) in [
        ("Kubernetes", "k8s.io/kubernetes v"),
        ("Karpenter", "sigs.k8s.io/karpenter v"),
    ] {
        let (_, version) = modules.split_once(module).expect(module);
        let version = version.split_whitespace().next().expect("a version");
        assert_gives("docs/install.md", &format!("{name} {version}"));
    }
    let builder = read("tests/programs/build");
    let oldest = builder.lines().find_map(|line| line.strip_prefix("oldest="));
    let oldest = oldest.expect("the oldest Kubernetes");
    assert_gives("docs/install.md", &format!("Kubernetes {oldest}"));
    assert_gives(".ci/nightly", &format!("POOLGATE_TEST_KUBERNETES={oldest}"));
    let (minor, _) = oldest.rsplit_once('.').expect("a release");
    assert_gives(
        "manifests/helm/Chart.yaml",
        &format!("kubeVersion: \">={minor}.0-0\""),
    );
    for document in ["README.md", "docs/install.md"] {
        assert_gives(document, &format!("Kubernetes {minor} or newer"));
    }
    for what in ["cron", "quantity", "duration", "requirement"] {
        let file = format!("{what}-oracle.jsonl");
        let lines = with_commas(recorded_lines(&file));
        assert_gives(data, &format!("| `{file}` | {lines}"));
    }
    let oracle = read("tests/oracle/nodepools.rs");
    let (_, wanted) = oracle.split_once("Effort::wanted(").expect("the effort");
    let (wanted, _) = wanted.split_once(',').expect("two numbers");
    let pools = with_commas(wanted.replace('_', "").parse().expect("a number"));
    for document in ["README.md", "docs/explanation/what-holds.md"] {
        assert_gives(document, &pools);
    }
    let schedules = with_commas(recorded_lines("cron-oracle.jsonl"));
    assert_gives("docs/explanation/what-holds.md", &schedules);
}

#[test]
fn every_test_that_the_documentation_names_is_there() {
    let page = read("docs/explanation/what-holds.md");
    let words = page.split('`').skip(1).step_by(2);
    let named: Vec<&str> = words.filter(|word| word.matches('_').count() > 2).collect();
    assert!(named.len() > 20, "{named:?}");
    let tests = tests();
    for name in named {
        assert!(tests.contains_key(name), "there is no test {name}");
    }
}

#[test]
fn the_reconcilers_manifest_says_what_was_measured() {
    let record = record("reconcile").expect("bench/results/reconcile.json");
    let table = &record["tables"]["cluster"];
    let of = |column: &str| {
        let columns = table["columns"].as_array().expect("columns");
        let number = columns.iter().position(|name| name == column).expect(column);
        let largest = table["rows"].as_array().and_then(|rows| rows.last());
        cell(&largest.expect("a row")[number])
    };
    for (column, unit) in [
        ("claims and nodes", "nodes"),
        ("pods", "pods"),
        ("at most MiB", "MiB"),
    ] {
        let measured = format!("{} {unit}", of(column));
        assert_gives("manifests/helm/values.yaml", &measured);
    }
}

#[test]
fn the_alerts_of_the_page_are_those_that_are_shipped() {
    let shipped = read("manifests/helm/files/alerts.yaml");
    let shipped: BTreeSet<_> = shipped
        .lines()
        .filter_map(|line| line.trim().strip_prefix("expr: "))
        .collect();
    let page = read("docs/reference/metrics.md");
    let blocks = page.split("```promql\n").skip(1);
    let reported: BTreeSet<_> = blocks
        .flat_map(|block| block.lines().take_while(|line| *line != "```"))
        .collect();
    assert!(shipped.len() > 10, "{shipped:?}");
    assert_eq!(reported, shipped);
}
