//! `poolgate budgets` as a user runs it: real files, the real program, and the examples of the documentation.

mod notes;

use serde_json::Value;

use crate::support::program;
use crate::support::readme::block_of;

const MONDAY: &str = "--at=2026-01-05T10:00:00Z";

/// Runs the command in the root of the repository: exit code, stdout, stderr.
fn budgets(arguments: &[&str], stdin: &str) -> (Option<i32>, String, String) {
    let outcome = program::run(&[&["budgets"], arguments].concat(), stdin);
    (outcome.status.code(), outcome.stdout, outcome.stderr)
}

/// The words of a command line, some of them in quotes.
fn words(command: &str) -> Vec<&str> {
    let parts = command.split('"').enumerate();
    parts
        .flat_map(|(place, part)| match place % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        })
        .collect()
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
        .filter(|command| !command.starts_with("--cluster"))
        .collect();
    assert_eq!(commands.len(), 2, "{commands:?}");
    for command in commands {
        let (code, said, complaints) = budgets(&words(command), "");
        assert_eq!((code, complaints.as_str()), (Some(0), ""), "{command}");
        let first = format!("$ poolgate budgets {command}\n");
        let shown = block_of(page, "console", &first);
        assert_eq!(format!("{first}{said}").trim_end(), shown.trim_end());
    }
}

#[test]
fn what_users_misunderstand_is_explained() {
    let (code, said, complaints) = budgets(&[MONDAY, "tests/data/budgets/misunderstood.yaml"], "");
    assert_eq!((code, complaints.as_str()), (Some(0), ""));
    insta::assert_snapshot!("misunderstood", said);
}

#[test]
fn a_week_has_the_days_and_hours_of_the_zone_also_where_its_clocks_change() {
    let file = "docs/examples/budgets/business-hours.yaml";
    let (code, said, _) = budgets(&["--at=2026-03-27", "--week", "--tz=Europe/Berlin", file], "");
    assert_eq!(code, Some(0));
    insta::assert_snapshot!("week_in_berlin", said);
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
    let cells = |digit: char| {
        let rows = said.lines().filter_map(|line| line.get(33..57));
        let rows = rows.filter(|row| row.bytes().all(|cell| cell == b'0' || cell == b'5'));
        rows.map(|row| row.matches(digit).count()).sum::<usize>()
    };
    assert_eq!(cells('0') + cells('5'), 14 * 24, "{said}");
    // One more of each explains it, and one a cell with two numbers.
    assert_eq!(
        (count("none"), count("some"), count("all")),
        (cells('0') + 1, cells('5') + 2, 1)
    );
    // Every text fits into the picture, at the width of a character that its sizes are made for.
    let number = |node: &roxmltree::Node<'_, '_>, name: &str| node.attribute(name)?.parse::<usize>().ok();
    let width = number(&drawn.root_element(), "width").expect("a width");
    for node in drawn.descendants().filter(|node| node.has_tag_name("text")) {
        let text = node.text().unwrap_or_default();
        let long = text.chars().count() * 8;
        let long = match node.attribute("class") {
            Some("c" | "n c") => long / 2,
            _ => long,
        };
        assert!(number(&node, "x").expect("a place") + long <= width, "{text}");
    }
    let text: Vec<&str> = drawn.descendants().filter_map(|node| node.text()).collect();
    assert!(
        text.contains(&"Berlin") && text.contains(&"this many simultaneously"),
        "{text:?}"
    );
}

#[test]
fn json_says_the_same_and_holds_every_hour_of_the_week() {
    let file = "docs/examples/budgets/business-hours.yaml";
    let (code, said, _) = budgets(&[MONDAY, "--nodes=11", "--output=json", file], "");
    assert_eq!(code, Some(0));
    let said: Value = serde_json::from_str(&said).expect("JSON");
    let pool = &said["pools"][0];
    assert_eq!(
        (&said["apiVersion"], &said["kind"]),
        (&"poolgate.dev/v1alpha1".into(), &"BudgetReport".into())
    );
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
