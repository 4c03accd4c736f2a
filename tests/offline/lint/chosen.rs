//! How to restrict a run: files, rules, counts, differences.

use std::fs;
use std::process::Command;

use super::lint_in;
use crate::support::files::directory;
use crate::support::nodepool::SOUND;
use crate::support::process;

/// An error, a warning, and one that can be fixed.
fn wrong() -> String {
    SOUND
        .replace("100Gi", "-1Gi")
        .replace("\"100\"", "\"0\"")
        .replace("consolidateAfter: 1m", "consolidateAfter: 1d")
}

fn files(stdout: &str) -> Vec<&str> {
    let mut files: Vec<&str> = stdout.lines().filter_map(|line| line.split(':').next()).collect();
    files.dedup();
    files
}

fn rules(stdout: &str) -> Vec<&str> {
    fn rule(line: &str) -> Option<&str> {
        Some(line.split_once('[')?.1.split_once(']')?.0)
    }
    let mut rules: Vec<&str> = stdout.lines().filter_map(rule).collect();
    rules.sort_unstable();
    rules
}

#[test]
fn excluded_files_are_passed_over_also_if_they_are_named() {
    let wrong = wrong();
    let directory = directory(&[
        ("a.yaml", &wrong),
        ("legacy/b.yaml", &wrong),
        ("deep/legacy/c.yaml", &wrong),
        ("deep/d.gen.yaml", &wrong),
    ]);
    let absolute = directory.path().join("deep");
    let absolute = absolute.to_str().expect("UTF-8");
    for (arguments, reported) in [
        (
            &["."][..],
            &["a.yaml", "deep/d.gen.yaml", "deep/legacy/c.yaml", "legacy/b.yaml"][..],
        ),
        (&["--exclude=legacy", "."], &["a.yaml", "deep/d.gen.yaml"]),
        (
            &["--exclude=/legacy/", "."],
            &["a.yaml", "deep/d.gen.yaml", "deep/legacy/c.yaml"],
        ),
        (&["--exclude=legacy", "--exclude=*.gen.yaml", "."], &["a.yaml"]),
        (&["--exclude=deep/**", "."], &["a.yaml", "legacy/b.yaml"]),
        (
            &["--exclude=legacy", "legacy/b.yaml", "legacy", "a.yaml"],
            &["a.yaml"],
        ),
        (&["--exclude=deep", absolute], &[]),
    ] {
        let outcome = lint_in(directory.path(), &[&["--output=concise"], arguments].concat(), "");
        assert_eq!(files(&outcome.stdout), reported, "{arguments:?}: {outcome:?}");
    }
    let outcome = lint_in(directory.path(), &["--exclude=[b-a]", "."], "");
    assert_eq!(outcome.status.code(), Some(2));
    assert!(
        outcome.stderr.starts_with("error: --exclude: "),
        "{}",
        outcome.stderr
    );
}

#[test]
fn rules_are_selected_and_ignored_by_name_or_by_how_names_begin() {
    let directory = directory(&[("a.yaml", &wrong())]);
    for (arguments, reported, code) in [
        (
            &[][..],
            &["consolidate-after", "limit-amount", "limit-zero"][..],
            1,
        ),
        (&["--select=limit"], &["limit-amount", "limit-zero"], 1),
        (&["--select=limit-zero,weight"], &["limit-zero"], 0),
        (&["--ignore=limit"], &["consolidate-after"], 1),
        (&["--ignore=limit", "--ignore=consolidate-after"], &[], 0),
        (&["--select=limit", "--ignore=limit-amount"], &["limit-zero"], 0),
    ] {
        let arguments = [&["--output=concise"], arguments, &["a.yaml"]].concat();
        let outcome = lint_in(directory.path(), &arguments, "");
        assert_eq!(rules(&outcome.stdout), reported, "{arguments:?}: {outcome:?}");
        assert_eq!(outcome.status.code(), Some(code), "{arguments:?}");
    }
    let unknown = lint_in(directory.path(), &["--select=limit-zer", "a.yaml"], "");
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        unknown.stderr.contains("Did you mean limit-zero?"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn what_was_not_checked_is_reported_whatever_is_selected() {
    let broken = format!("{SOUND}---\nkind: [karpenter.sh\n");
    let directory = directory(&[("a.yaml", &broken)]);
    let arguments = [
        "--output=concise",
        "--select=weight",
        "--ignore=manifest,file",
        "a.yaml",
        "gone.yaml",
    ];
    let outcome = lint_in(directory.path(), &arguments, "");
    assert_eq!(rules(&outcome.stdout), ["file-unreadable", "manifest-syntax"]);
    assert_eq!(outcome.status.code(), Some(2));
}

#[test]
fn a_fix_of_a_rule_that_is_not_selected_is_not_written() {
    let text = wrong().replace("operator: In", "operator: in");
    let directory = directory(&[("a.yaml", &text)]);
    lint_in(directory.path(), &["--fix", "--select=requirement", "a.yaml"], "");
    let fixed = fs::read_to_string(directory.path().join("a.yaml")).expect("a file");
    assert_eq!(fixed, wrong());
}

#[test]
fn statistics_count_each_rule_and_check_all_the_same() {
    let wrong = wrong();
    let doubtful = SOUND.replace("\"100\"", "\"0\"");
    let directory = directory(&[("a.yaml", &wrong), ("b.yaml", &doubtful)]);
    let outcome = lint_in(directory.path(), &["--statistics", "."], "");
    assert_eq!(
        outcome.stdout,
        "2  limit-zero         A limit leaves room for a node\n\
         1  consolidate-after  consolidateAfter is a duration that Karpenter can read, or Never\n\
         1  limit-amount       A limit is an amount that Karpenter can read and compare\n"
    );
    assert_eq!(outcome.status.code(), Some(1));
    assert!(
        outcome.stderr.contains("2 errors, 2 warnings"),
        "{}",
        outcome.stderr
    );
    let beside = lint_in(
        directory.path(),
        &["--statistics", "--output=concise=out.txt", "."],
        "",
    );
    assert!(beside.stdout.starts_with("2  limit-zero "), "{beside:?}");
    let reported = fs::read_to_string(directory.path().join("out.txt")).expect("a report");
    assert_eq!(reported.lines().count(), 4);
    let both = lint_in(directory.path(), &["--statistics", "--output=json", "."], "");
    assert_eq!(both.status.code(), Some(2), "{both:?}");
}

#[test]
fn a_difference_shows_what_fix_writes_and_changes_nothing() {
    let text = wrong();
    let directory = directory(&[("pools/a.yaml", &text), ("pools/b.yaml", SOUND)]);
    let read = || fs::read_to_string(directory.path().join("pools/a.yaml")).expect("a file");
    let outcome = lint_in(directory.path(), &["--fix", "--diff", "pools"], "");
    assert_eq!(outcome.status.code(), Some(1));
    assert!(
        outcome
            .stdout
            .contains("\n-    consolidateAfter: 1d\n+    consolidateAfter: 24h\n"),
        "{outcome:?}"
    );
    assert!(
        outcome.stderr.contains("; 1 place fixable with --fix\n"),
        "{}",
        outcome.stderr
    );
    assert_eq!(read(), text);
    let piped = lint_in(directory.path(), &["--fix", "--diff", "-"], &text);
    assert!(piped.stdout.contains("+    consolidateAfter: 24h\n"), "{piped:?}");
    let mut patch = Command::new("git");
    patch.args(["apply", "-p0"]).current_dir(directory.path());
    let applied = process::run(&mut patch, &outcome.stdout);
    assert!(applied.status.success(), "{applied:?}");
    let patched = read();
    fs::write(directory.path().join("pools/a.yaml"), &text).expect("a file");
    lint_in(directory.path(), &["--fix", "pools"], "");
    assert_eq!(patched, read());
    let none = lint_in(directory.path(), &["--fix", "--diff", "pools"], "");
    assert_eq!(
        (none.status.code(), none.stdout.as_str()),
        (Some(0), ""),
        "{none:?}"
    );
    let alone = lint_in(directory.path(), &["--diff", "pools"], "");
    assert_eq!(alone.status.code(), Some(2));
}

#[test]
fn other_languages_are_named_and_what_to_give_instead() {
    let terraform = "resource \"kubernetes_manifest\" \"a\" {\n  manifest = {\n    apiVersion = \"karpenter.sh/v1\"\n  }\n}\n";
    let jsonnet = "local k = import 'k.libsonnet';\n{ apiVersion: 'karpenter.sh/v1', kind: 'NodePool' }\n";
    let directory = directory(&[("main.tf", terraform), ("pool.libsonnet", jsonnet)]);
    let outcome = lint_in(
        directory.path(),
        &["--output=concise", "main.tf", "pool.libsonnet"],
        "",
    );
    assert_eq!(outcome.status.code(), Some(2));
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(
        lines,
        [
            "main.tf:1:1: error[file-unreadable]: main.tf is HCL (Terraform), not YAML or JSON",
            "pool.libsonnet:1:1: error[file-unreadable]: pool.libsonnet is jsonnet, not YAML or JSON",
        ]
    );
    for command in ["default", "budgets"] {
        let said = crate::support::program::run_in(directory.path(), &[command, "main.tf"], "");
        assert_eq!(said.status.code(), Some(2), "{said:?}");
        assert!(
            said.stderr.contains("is HCL (Terraform), not YAML or JSON"),
            "{said:?}"
        );
    }
}
