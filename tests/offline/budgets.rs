//! `poolgate budgets` as a user runs it: real files, the real program, and the examples of the documentation.

mod inputs;
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
fn the_week_names_its_reasons_and_has_a_row_for_repair_where_that_differs() {
    let rows = |pool: &str, flags: &[&str]| {
        let (_, said, _) = budgets(&[&["--week", MONDAY], flags].concat(), pool);
        assert!(!said.contains("every reason"), "{said}");
        let rows = said
            .lines()
            .filter(|line| line.ends_with(&"0".repeat(24)) || line.ends_with(&"*".repeat(24)));
        let rows = rows.filter_map(|line| Some(line.get(10..)?.rsplit_once(' ')?.0.trim().to_owned()));
        let mut rows: Vec<String> = rows.collect();
        rows.sort();
        rows.dedup();
        rows
    };
    let usual = "Underutilized, Empty, Drifted";
    let all = pool(r#"[{nodes: "0"}]"#);
    assert_eq!(rows(&all, &[]), [usual]);
    let named = pool(r#"[{nodes: "0", reasons: [Underutilized, Empty, Drifted]}]"#);
    assert_eq!(rows(&named, &[]), [usual, "Unhealthy"]);
    assert_eq!(rows(&named, &["--karpenter-version=1.14.1"]), [usual]);
}

#[test]
fn an_assumed_release_is_said_to_be_assumed() {
    let file = pool(r#"[{nodes: "1"}]"#);
    let assumed = ", Karpenter 1.15 (assumed; set with --karpenter-version)\n";
    for flags in [&[MONDAY][..], &[MONDAY, "--week"]] {
        let (_, said, _) = budgets(flags, &file);
        assert!(said.contains(assumed), "{said}");
        let (_, said, _) = budgets(&[flags, &["--karpenter-version=1.15.0"]].concat(), &file);
        assert!(!said.contains("Karpenter 1.15"), "{said}");
    }
}

/// Half an hour occurs twice on Lord Howe Island when its summer time ends, and hours in Kathmandu begin at a
/// quarter.
#[test]
fn hours_in_which_the_number_changes_show_both_also_if_they_come_twice_or_begin_at_a_quarter() {
    let closed = pool(r#"[{nodes: "3"}, {nodes: "0", schedule: "0 15 * * *", duration: 15m}]"#);
    let cells = |day: &str, zone: &str| {
        let (_, said, _) = budgets(
            &[&format!("--at={day}"), "--week", &format!("--tz={zone}")],
            &closed,
        );
        let row = said
            .lines()
            .find(|line| line.starts_with(|letter: char| "MTWFS".contains(letter)));
        let row = row.expect("a row").split_whitespace().skip(5);
        row.collect::<Vec<_>>().join(" ")
    };
    let mixed_at = |hour: usize| {
        let mut hours = ["3"; 24];
        hours[hour] = "0-3";
        hours.join(" ")
    };
    // 15:00 UTC is 01:30 local time after the clock was set back.
    assert_eq!(cells("2026-04-05", "Australia/Lord_Howe"), mixed_at(1));
    assert_eq!(cells("2026-01-05", "Asia/Kathmandu"), mixed_at(20));
    let partly = pool(r#"[{nodes: 80%, schedule: "0 * * * *", duration: 15m}]"#);
    let (_, said, _) = budgets(&["--at=2026-01-05", "--week"], &partly);
    assert!(said.contains(&["8-*"; 24].join(" ")), "{said}");
    let (_, said, _) = budgets(&["--at=2026-01-05", "--output=json"], &partly);
    let said: Value = serde_json::from_str(&said).expect("JSON");
    let week = &said["pools"][0]["week"];
    assert_eq!(
        (&week["hours"]["Empty"][0], &week["highest"]["Empty"][0]),
        (&8.into(), &Value::Null)
    );
}

#[test]
fn a_moment_may_be_written_by_the_clock_of_the_zone() {
    let closed = pool(r#"[{nodes: "0", schedule: "0 9 * * *", duration: 1h}]"#);
    let at = |arguments: &[&str]| {
        let (_, said, _) = budgets(arguments, &closed);
        said.lines()
            .find(|line| line.starts_with("at "))
            .expect("a line")
            .to_owned()
    };
    let berlin = "at Mon 2026-07-06 09:00 UTC (Mon 11:00 CEST), Karpenter 1.15 (assumed; set with --karpenter-version)";
    assert_eq!(at(&["--at=2026-07-06T11:00", "--tz=Europe/Berlin"]), berlin);
    assert_eq!(at(&["--at=2026-07-06 11:00", "--tz=Europe/Berlin"]), berlin);
    assert_eq!(at(&["--at=2026-07-06T09:00:00Z", "--tz=Europe/Berlin"]), berlin);
    let named = ["--at=2026-07-06T09:00", "--karpenter-version=1.15.0"];
    assert_eq!(at(&named), "at Mon 2026-07-06 09:00 UTC");
}

#[test]
fn a_pool_that_lets_nodes_go_in_a_window_only_is_not_reported_that_nothing_limits() {
    let deny = pool(
        r#"[{nodes: "0", schedule: "0 6 * * *", duration: 20h}, {nodes: "1", schedule: "0 2 * * *", duration: 4h}]"#,
    );
    let (code, said, _) = budgets(&[MONDAY], &deny);
    assert_eq!(code, Some(0));
    assert!(
        said.contains("every reason") && !said.contains("Budgets only restrict"),
        "{said}"
    );
    assert!(
        said.contains("no node may be disrupted (budgets[0])\n  from Tue 2026-01-06 02:00 UTC: 1 node may be disrupted at a time (budgets[1])"),
        "{said}"
    );
    let gap = deny.replace("20h", "19h");
    let (_, said, _) = budgets(&[MONDAY], &gap);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("Underutilized, Empty, Drifted from Tue 2026-01-06 01:00 UTC."),
        "{said}"
    );
}

#[test]
fn what_never_happens_in_a_pool_is_said_instead_of_a_number() {
    for (fields, never, happens) in [
        (
            "disruption: {consolidationPolicy: WhenEmpty}",
            &["Underutilized: never happens, because consolidationPolicy is WhenEmpty"][..],
            &["Empty", "Drifted"][..],
        ),
        (
            "disruption: {consolidateAfter: Never}",
            &["Underutilized, Empty: never happens, because consolidateAfter is Never"],
            &["Drifted"],
        ),
        (
            "replicas: 3",
            &["Underutilized, Empty: never happens, because the pool has replicas"],
            &["Drifted"],
        ),
        (
            "disruption: {consolidateAfter: 1m}",
            &[],
            &["Underutilized, Empty, Drifted"],
        ),
    ] {
        let pool = format!(
            "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: a}}\nspec: {{{fields}}}\n"
        );
        let (code, said, _) = budgets(&[MONDAY], &pool);
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(said.matches("never happens").count(), never.len(), "{said}");
        for line in never {
            assert!(said.contains(line), "{said}");
        }
        let (_, week, _) = budgets(&[MONDAY, "--week"], &pool);
        for reason in happens {
            assert!(
                week.contains(
                    &format!(
                        "Mon 01-05 {}",
                        if happens.len() == 3 { "every reason" } else { "" }
                    )
                    .trim_end()
                    .to_owned()
                ),
                "{week}"
            );
            assert!(said.contains(reason), "{said}");
        }
        let (_, json, _) = budgets(&[MONDAY, "--output=json"], &pool);
        let json: Value = serde_json::from_str(&json).expect("JSON");
        let is_never = |reason: &str| json["pools"][0]["reasons"][reason]["never"].is_string();
        let expected = ["Underutilized", "Empty", "Drifted"].map(|reason| {
            never
                .iter()
                .any(|line| line.split(':').next().is_some_and(|names| names.contains(reason)))
        });
        assert_eq!(["Underutilized", "Empty", "Drifted"].map(is_never), expected);
    }
}

#[test]
fn a_static_pool_without_room_is_reported_that_drifted_nodes_stay_and_a_freeze_that_expiry_goes_on() {
    let pool = |spec: &str| {
        format!("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: a}}\nspec: {spec}\n")
    };
    let says = |spec: &str, words: &str| {
        let (_, said, _) = budgets(&[MONDAY], &pool(spec));
        said.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .contains(words)
    };
    let stay = "Drifted nodes therefore stay, whatever the budgets allow";
    assert!(says(r#"{replicas: 3, limits: {nodes: "3"}}"#, stay));
    assert!(!says(r#"{replicas: 3, limits: {nodes: "4"}}"#, stay));
    assert!(says(
        r#"{replicas: 3, limits: {nodes: "4"}}"#,
        "NodePool a, 3 nodes"
    ));
    let freeze = r#"disruption: {budgets: [{nodes: "0"}]}"#;
    let expiry =
        "A budget of 0 does not stop expiration. Karpenter removes nodes of NodePool a at the age of";
    assert!(says(
        &format!("{{{freeze}}}"),
        &format!("{expiry} 720h, Karpenter's default")
    ));
    assert!(says(
        &format!("{{{freeze}, template: {{spec: {{expireAfter: 24h}}}}}}"),
        &format!("{expiry} 24h, even")
    ));
    assert!(!says(
        &format!("{{{freeze}, template: {{spec: {{expireAfter: Never}}}}}}"),
        expiry
    ));
}

#[test]
fn a_pool_without_budgets_has_those_of_the_definition_before_the_policy_writes_its_own() {
    let directory = tempfile::tempdir().expect("a directory");
    let policy = directory.path().join("policy.yaml");
    let text = "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\ndefaults:\n  budgets:\n  - nodes: \"2\"\n";
    std::fs::write(&policy, text).expect("a policy");
    let policy = format!("--policy={}", policy.display());
    let bare = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {}\n";
    let (code, said, complaints) = budgets(&[MONDAY, &policy], bare);
    assert_eq!(code, Some(0), "{complaints}");
    assert!(
        said.contains("1 node may be disrupted at a time (the default)"),
        "{said}"
    );
    let (_, said, _) = budgets(&[MONDAY, &policy], &pool(r#"[{nodes: "3"}]"#));
    assert!(
        said.contains("3 nodes may be disrupted at a time (budgets[0])"),
        "{said}"
    );
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

#[test]
fn one_reason_can_be_asked_for() {
    let only_empty = pool(r#"[{nodes: "2", reasons: [Empty]}]"#);
    let (_, said, _) = budgets(&[MONDAY, "--reason=drifted"], &only_empty);
    assert!(
        said.contains("Drifted: all nodes may be disrupted simultaneously (no budget is active)"),
        "{said}"
    );
    assert!(!said.contains("Underutilized"), "{said}");
}

/// A name, a path and a schedule may come from anyone, and end up on a terminal.
#[test]
fn control_characters_of_the_object_are_escaped() {
    let text = r#"{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "a\u001b[2J"},
        "spec": {"disruption": {"budgets": [{"schedule": "\u001b[2J 9 * * *", "duration": "8h"}]}}}"#;
    let (code, said, _) = budgets(&[MONDAY], text);
    assert_eq!(code, Some(0));
    assert!(!said.contains('\u{1b}') && said.contains(r"\u{1b}[2J"), "{said}");
}
