//! `poolgate budgets` as a user runs it: real files, the real program, and what the documentation shows of it.

use serde_json::Value;

use crate::support::program;
use crate::support::readme::{block, block_of};

const MONDAY: &str = "--at=2026-01-05T10:00:00Z";

/// Runs the command in the root of the repository: exit code, results, complaints.
fn budgets(arguments: &[&str], stdin: &str) -> (Option<i32>, String, String) {
    let outcome = program::run(&[&["budgets"], arguments].concat(), stdin);
    (outcome.status.code(), outcome.stdout, outcome.stderr)
}

fn pool(spec: &str) -> String {
    format!(
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: a}}\nspec: {{disruption: {{budgets: {spec}}}}}\n"
    )
}

#[test]
fn the_page_shows_what_the_program_says() {
    let page = include_str!("../../docs/budgets.md");
    let commands: Vec<_> = page
        .lines()
        .filter_map(|line| line.strip_prefix("$ poolgate budgets "))
        .collect();
    assert_eq!(commands.len(), 2, "{commands:?}");
    for command in commands {
        let arguments: Vec<_> = command.split(' ').collect();
        let (code, said, complaints) = budgets(&arguments, "");
        assert_eq!((code, complaints.as_str()), (Some(0), ""), "{command}");
        let first = format!("$ poolgate budgets {command}\n");
        let shown = block_of(page, "console", &first);
        assert_eq!(format!("{first}{said}").trim_end(), shown.trim_end());
    }
}

#[test]
fn what_users_misunderstand_is_explained() {
    let (code, said, complaints) = budgets(&[MONDAY, "docs/examples/budgets/misunderstood.yaml"], "");
    assert_eq!((code, complaints.as_str()), (Some(0), ""));
    insta::assert_snapshot!("misunderstood", said);
}

#[test]
fn a_week_shows_local_time_beside_utc_with_a_warning() {
    let file = "docs/examples/budgets/business-hours.yaml";
    let (code, said, _) = budgets(
        &["--at=2026-03-27T12:00:00Z", "--week", "--tz=Europe/Berlin", file],
        "",
    );
    assert_eq!(code, Some(0));
    insta::assert_snapshot!("week_in_berlin", said);
}

#[test]
fn the_readme_shows_the_week_that_the_program_draws() {
    let first = "$ poolgate budgets --week ";
    let shown = block("console", first);
    let (command, week) = shown.split_once('\n').expect("a command and its answer");
    let arguments: Vec<_> = command.split(' ').skip(3).collect();
    let (_, said, _) = budgets(&arguments, "");
    let picture = said.split("\nnote:").next().expect("a picture");
    assert_eq!(week.trim_end(), picture.trim_end());
}

#[test]
fn the_week_as_svg_has_the_cells_of_the_week_in_the_terminal() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("week.svg");
    let svg = format!("--svg={}", path.display());
    let file = "docs/examples/budgets/business-hours.yaml";
    let (code, said, _) = budgets(
        &[MONDAY, "--nodes=25", "--week", "--tz=Europe/Berlin", &svg, file],
        "",
    );
    assert_eq!(code, Some(0));
    let drawn = std::fs::read_to_string(path).expect("a picture");
    let drawn = roxmltree::Document::parse(&drawn).expect("XML");
    let count = |class: &str| {
        let is_one = |node: &roxmltree::Node<'_, '_>| node.attribute("class") == Some(class);
        drawn.descendants().filter(is_one).count()
    };
    let rows: Vec<&str> = said.lines().filter_map(|line| line.get(33..57)).collect();
    let rows: Vec<&str> = rows
        .into_iter()
        .filter(|row| row.bytes().all(|cell| cell == b'0' || cell == b'5'))
        .collect();
    assert_eq!(rows.len(), 14, "{said}");
    let cells = |digit: char| rows.iter().map(|row| row.matches(digit).count()).sum::<usize>();
    assert_eq!(
        (count("none"), count("some"), count("all")),
        (cells('0'), cells('5'), 0)
    );
    let text: String = drawn.descendants().filter_map(|node| node.text()).collect();
    assert!(text.contains("00 is Mon 01:00 CET"), "{text}");
}

#[test]
fn a_picture_that_cannot_be_written_is_an_error() {
    let file = "docs/examples/budgets/business-hours.yaml";
    let (code, _, complaints) = budgets(&["--svg=no/such/folder/week.svg", file], "");
    assert_eq!(code, Some(2), "{complaints}");
    assert!(
        complaints.contains("no/such/folder/week.svg cannot be written"),
        "{complaints}"
    );
}

#[test]
fn json_says_the_same_and_holds_every_hour_of_the_week() {
    let file = "docs/examples/budgets/business-hours.yaml";
    let (code, said, _) = budgets(&[MONDAY, "--nodes=11", "--json", file], "");
    assert_eq!(code, Some(0));
    let said: Value = serde_json::from_str(&said).expect("JSON");
    let pool = &said["pools"][0];
    assert_eq!(said["version"], 1);
    assert_eq!(pool["reasons"]["Empty"]["nodes"], 3);
    assert_eq!(pool["reasons"]["Empty"]["next"]["never"], true);
    assert_eq!(pool["reasons"]["Drifted"]["budget"], 1);
    assert_eq!(pool["reasons"]["Drifted"]["next"]["at"], "2026-01-05T17:00:00Z");
    let hours = pool["week"]["hours"]["Drifted"].as_array().expect("a list");
    assert_eq!(hours.len(), 168);
    assert_eq!(
        (&hours[8], &hours[9], &hours[17]),
        (&3.into(), &0.into(), &3.into())
    );
}

#[test]
fn lists_and_json_are_read_and_other_objects_passed_over() {
    let list = r#"{"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}},
        {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "kept"}, "status": {"nodes": 40}}
    ]}"#;
    let (code, said, complaints) = budgets(&[MONDAY, "-"], list);
    assert_eq!((code, complaints.as_str()), (Some(0), ""));
    assert!(said.starts_with("NodePool kept, 40 nodes\n"), "{said}");
    assert!(said.contains("4 nodes may go at once, by the default"), "{said}");
    let (code, said, complaints) = budgets(&[MONDAY], "kind: Pod\n");
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert_eq!(complaints, "-: no NodePool among 1 objects\n");
}

#[test]
fn one_reason_can_be_asked_for() {
    let only_empty = pool(r#"[{nodes: "2", reasons: [Empty]}]"#);
    let (_, said, _) = budgets(&[MONDAY, "--reason=drifted"], &only_empty);
    assert!(
        said.contains("Drifted: all nodes may go at once; no budget is active"),
        "{said}"
    );
    assert!(!said.contains("Underutilized"), "{said}");
}

#[test]
fn what_cannot_be_explained_is_named_with_its_place_beside_what_can() {
    let text = [pool("[{nodes: 5}]"), "a: [\n".to_owned(), pool("[]")].join("---\n");
    let (code, said, complaints) = budgets(&[MONDAY], &text);
    assert_eq!(code, Some(1));
    assert!(
        said.contains("all nodes may go at once; no budget is active"),
        "{said}"
    );
    let complaints: Vec<_> = complaints.lines().collect();
    assert_eq!(complaints.len(), 2, "{complaints:?}");
    assert!(complaints[0].starts_with("-:6:"), "{complaints:?}");
    assert_eq!(
        complaints[1],
        "-:1: NodePool a: spec.disruption.budgets[0].nodes: it is of the wrong type"
    );
}

#[test]
fn a_run_that_cannot_be_done_says_why() {
    for (arguments, wanted) in [
        (&["missing.yaml"][..], "error: missing.yaml: cannot be read: "),
        (&["--tz=Mars/Base"], "error: --tz Mars/Base: give a name such as"),
        (
            &["--at=2200-01-01T00:00:00Z"],
            "error: --at 2200-01-01T00:00:00Z: budgets are reckoned",
        ),
        (
            &["--at=tomorrow"],
            "error: invalid value 'tomorrow' for '--at <TIME>'",
        ),
    ] {
        let (code, said, complaints) = budgets(arguments, "");
        assert_eq!((code, said.as_str()), (Some(2), ""), "{complaints}");
        assert!(complaints.starts_with(wanted), "{complaints}");
    }
}

/// A name, a path and a schedule may come from anybody, and end on a terminal.
#[test]
fn control_characters_of_the_object_are_escaped() {
    let text = r#"{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "a\u001b[2J"},
        "spec": {"disruption": {"budgets": [{"schedule": "\u001b[2J 9 * * *", "duration": "8h"}]}}}"#;
    let (code, said, _) = budgets(&[MONDAY], text);
    assert_eq!(code, Some(0));
    assert!(!said.contains('\u{1b}') && said.contains(r"\u{1b}[2J"), "{said}");
}
