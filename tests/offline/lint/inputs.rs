//! Which files are read, which are skipped, and the exit code.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;

use super::{ASSUMED, lint_in};
use crate::support::files::directory;
use crate::support::nodepool::SOUND;
use crate::support::program::poolgate;

/// A pool with one error, the only finding in its text.
fn wrong() -> String {
    SOUND.replace("100Gi", "-1Gi")
}

/// A pool with one warning.
fn doubtful() -> String {
    SOUND.replace("\"100\"", "\"0\"")
}

fn names(stdout: &str) -> Vec<&str> {
    stdout.lines().filter_map(|line| line.split(':').next()).collect()
}

#[test]
fn a_sound_file_is_one_line_on_the_other_stream() {
    let directory = directory(&[("pool.yaml", SOUND)]);
    let outcome = lint_in(directory.path(), &["pool.yaml"], "");
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    assert_eq!(outcome.stdout, "");
    assert_eq!(
        outcome.stderr,
        format!("1 NodePool in 1 file, checked for Karpenter {ASSUMED}: nothing found\n")
    );
}

#[test]
fn directories_are_gone_through_in_the_order_of_names() {
    let wrong = wrong();
    let chart = "templates/pool.yaml";
    let directory = directory(&[
        ("b/pool.yml", &wrong),
        ("a/deep/er/pool.json", &wrong),
        ("a/pool.yaml", &wrong),
        ("a/pool.txt", &wrong),
        (".hidden/pool.yaml", &wrong),
        (".gitignore", "generated/\n*.tmp.yaml\n"),
        ("generated/pool.yaml", &wrong),
        ("a/pool.tmp.yaml", &wrong),
        ("chart/Chart.yaml", "name: x\n"),
        (&format!("chart/{chart}"), "{{ if }}karpenter.sh"),
        (chart, &wrong),
        ("other.yaml", "kind: ConfigMap\napiVersion: v1\n"),
    ]);
    let outcome = lint_in(directory.path(), &["--output", "concise", "."], "");
    assert_eq!(
        names(&outcome.stdout),
        [
            "a/deep/er/pool.json",
            "a/deep/er/pool.json",
            "a/pool.yaml",
            "b/pool.yml",
            "templates/pool.yaml"
        ],
        "the first one is a finding, too, because it is not JSON"
    );
    assert_eq!(outcome.status.code(), Some(1));
    assert_eq!(
        outcome.stderr,
        format!(
            "4 NodePools in 6 files, checked for Karpenter {ASSUMED}: 4 errors, 1 warning; 1 Helm template folder skipped\n\
             more about a rule: poolgate explain limit-amount\n"
        )
    );
    let again = lint_in(
        directory.path(),
        &["--output", "concise", "a/pool.yaml", ".", "./a/pool.txt"],
        "",
    );
    assert_eq!(
        names(&again.stdout).len(),
        6,
        "a file is looked at once: {again:?}"
    );
}

#[cfg(unix)]
#[test]
fn a_loop_of_links_ends() {
    let directory = directory(&[("a/pool.yaml", &wrong())]);
    std::os::unix::fs::symlink("..", directory.path().join("a/up")).expect("a link");
    let outcome = lint_in(directory.path(), &["--output", "concise", "."], "");
    assert_eq!(names(&outcome.stdout), ["a/pool.yaml"], "{outcome:?}");
}

#[test]
fn the_current_directory_is_read_if_nothing_is_named() {
    let directory = directory(&[("pools/a.yaml", &wrong())]);
    let outcome = lint_in(directory.path(), &["--output", "concise"], "");
    assert_eq!(names(&outcome.stdout), ["pools/a.yaml"], "{outcome:?}");
}

#[test]
fn a_template_that_is_found_is_a_note_and_one_that_is_named_an_error() {
    let template = SOUND.replace("  limits:", "  {{- if .Values.limits }}\n  limits:");
    let directory = directory(&[("a.yaml", &template), ("b.yaml", SOUND)]);
    for (path, said, code) in [(".", "note", 0), ("a.yaml", "error", 1)] {
        let outcome = lint_in(directory.path(), &["--output", "concise", path], "");
        let reported = format!("{said}[manifest-template]");
        assert!(outcome.stdout.contains(&reported), "{path}: {outcome:?}");
        assert_eq!(outcome.status.code(), Some(code), "{path}: {outcome:?}");
    }
}

#[test]
fn a_file_in_the_place_of_a_format_is_answered_with_the_format() {
    let outcome = lint_in(Path::new("."), &["-o", "report.json", "-"], "");
    assert_eq!(outcome.status.code(), Some(2), "{outcome:?}");
    let said = "did you mean json=report.json?";
    assert!(outcome.stderr.contains(said), "{outcome:?}");
}

#[test]
fn standard_input_is_named_by_a_dash() {
    let here = Path::new(".");
    let outcome = lint_in(
        here,
        &["--output", "concise", "-"],
        &format!("{}---\n{SOUND}", wrong()),
    );
    assert_eq!(names(&outcome.stdout), ["<stdin>"], "{outcome:?}");
    let empty = lint_in(here, &["-"], "");
    assert_eq!(empty.status.code(), Some(0));
    assert_eq!(empty.stderr, "0 NodePools in 1 file\n");
    assert_eq!(
        lint_in(here, &["--fail-if-empty", "-"], "").status.code(),
        Some(1)
    );
}

#[test]
fn the_exit_code_is_that_of_the_severest_finding() {
    let (wrong, doubtful) = (wrong(), doubtful());
    let directory = directory(&[
        ("wrong.yaml", &wrong),
        ("doubtful.yaml", &doubtful),
        ("sound.yaml", SOUND),
    ]);
    for (arguments, code) in [
        (&["sound.yaml"][..], 0),
        (&["doubtful.yaml"], 0),
        (&["--fail-on", "warning", "doubtful.yaml"], 1),
        (&["wrong.yaml"], 1),
        (&["--exit-zero", "wrong.yaml"], 0),
        (&["--exit-zero", "wrong.yaml", "missing.yaml"], 2),
        (&["--policy", "missing.yaml", "sound.yaml"], 2),
        (&["--karpenter-version", "7x", "sound.yaml"], 2),
        (&["--output", "xml", "sound.yaml"], 2),
    ] {
        for format in ["human", "concise", "json", "github"] {
            let mut all = arguments.to_vec();
            if !arguments.contains(&"--output") {
                all.extend(["--output", format]);
            }
            let outcome = lint_in(directory.path(), &all, "");
            assert_eq!(outcome.status.code(), Some(code), "{all:?}: {outcome:?}");
        }
    }
}

#[test]
fn what_cannot_be_read_is_said_and_the_rest_is_still_reported() {
    let directory = directory(&[("wrong.yaml", &wrong())]);
    fs::write(directory.path().join("latin.yaml"), b"# karpenter.sh \xe9\n").expect("a file");
    let outcome = lint_in(
        directory.path(),
        &["--output", "concise", "missing.yaml", "."],
        "",
    );
    assert_eq!(outcome.status.code(), Some(2), "2 wins over 1");
    assert_eq!(
        names(&outcome.stdout),
        ["latin.yaml", "missing.yaml", "wrong.yaml"]
    );
    for reported in [
        "latin.yaml:1:1: error[file-unreadable]: latin.yaml is not UTF-8",
        "missing.yaml:1:1: error[file-unreadable]: missing.yaml cannot be read: No such file",
    ] {
        assert!(outcome.stdout.contains(reported), "{outcome:?}");
    }
    assert!(outcome.stderr.contains("; 2 paths not read\n"), "{outcome:?}");
}

#[test]
fn what_cannot_be_read_is_in_every_report() {
    let directory = directory(&[("sound.yaml", SOUND)]);
    let file = |name: &str| directory.path().join(name);
    fs::write(file("latin.yaml"), b"# karpenter.sh \xe9\n").expect("a file");
    fs::write(file("large.yaml"), "karpenter.sh\n".repeat((16 << 20) / 13 + 1)).expect("a large file");
    fs::create_dir(file("folder.json")).expect("a folder");
    for format in ["concise", "github", "gitlab", "human", "json", "junit", "sarif"] {
        let arguments = ["--output", format, "missing.yaml", "."];
        let outcome = lint_in(directory.path(), &arguments, "");
        assert_eq!(outcome.status.code(), Some(2), "{format}: {outcome:?}");
        for (name, why) in [
            ("latin.yaml", "is not UTF-8"),
            ("large.yaml", "is larger than 16777216 bytes"),
            ("missing.yaml", "cannot be read: No such file"),
        ] {
            assert!(outcome.stdout.contains(name), "{format}: {outcome:?}");
            assert!(outcome.stdout.contains(why), "{format}: {outcome:?}");
            assert!(!outcome.stderr.contains(why), "it is reported once: {outcome:?}");
        }
        if format == "junit" {
            let document = roxmltree::Document::parse(&outcome.stdout).expect("XML");
            let failures = document.descendants().filter(|node| node.has_tag_name("failure"));
            assert_eq!(failures.count(), 3, "{}", outcome.stdout);
        }
    }
}

#[test]
fn the_policy_and_the_release_decide() {
    let directory = directory(&[
        ("pool.yaml", SOUND),
        (
            "policy.yaml",
            "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\nbounds:\n  limits:\n    max:\n      cpu: 50\n",
        ),
    ]);
    let denied = lint_in(
        directory.path(),
        &["--policy", "policy.yaml", "--output", "concise", "pool.yaml"],
        "",
    );
    assert!(
        denied
            .stdout
            .starts_with("pool.yaml:12:10: error[policy-limit-max]: "),
        "{denied:?}"
    );
    let fixed = SOUND.replace("  limits:\n", "  replicas: 3\n  limits:\n");
    for (release, denied) in [("1.7", true), ("1.8", false)] {
        let arguments = ["--karpenter-version", release, "--output", "concise", "-"];
        let outcome = lint_in(directory.path(), &arguments, &fixed);
        assert_eq!(
            outcome.stdout.contains("has no static pools"),
            denied,
            "{outcome:?}"
        );
    }
}

#[test]
fn a_file_that_left_its_defaults_out_is_checked_with_them() {
    let bare = SOUND.replace(
        "  disruption:\n    consolidationPolicy: WhenEmptyOrUnderutilized\n    consolidateAfter: 1m\n    budgets:\n    - \
         nodes: 10%\n",
        "",
    );
    assert!(!bare.contains("disruption"));
    let outcome = lint_in(Path::new("."), &["--output", "concise", "-"], &bare);
    assert_eq!(
        (outcome.status.code(), outcome.stdout.as_str()),
        (Some(0), ""),
        "{outcome:?}"
    );
}

#[test]
fn a_reader_who_leaves_early_is_not_a_failure() {
    let many = vec![wrong(); 1000].join("---\n");
    let directory = directory(&[("pools.yaml", &many), ("more.yaml", &many)]);
    let mut child = poolgate(&["lint", "--output", "concise", "."])
        .current_dir(directory.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process");
    let mut first = [0; 10];
    child
        .stdout
        .take()
        .expect("a pipe")
        .read_exact(&mut first)
        .expect("ten bytes");
    let outcome = child.wait_with_output().expect("an end");
    assert_eq!(&first, b"more.yaml:");
    let said = String::from_utf8_lossy(&outcome.stderr);
    assert_eq!(outcome.status.code(), Some(1), "{said}");
    assert!(
        said.contains("2000 errors") && !said.contains("panicked"),
        "{said}"
    );
}

#[test]
fn a_patch_of_a_kustomization_is_checked_for_what_it_says_and_not_for_what_it_lacks() {
    let patch = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: general}\nspec:\n  $patch: merge\n  \
                 weight: 1000\n";
    let directory = directory(&[
        ("base/pool.yaml", SOUND),
        ("base/kustomization.yaml", "resources: [pool.yaml]\n"),
        (
            "prod/kustomization.yaml",
            "resources: [../base]\npatches:\n- path: ./patches/weight.yaml\n",
        ),
        ("prod/patches/weight.yaml", patch),
        ("loose/weight.yaml", patch),
    ]);
    let rules = |path: &str| -> Vec<String> {
        let outcome = lint_in(directory.path(), &["--output", "concise", path], "");
        let rule = |line: &str| Some(line.split_once('[')?.1.split_once(']')?.0.to_owned());
        outcome.stdout.lines().filter_map(rule).collect()
    };
    assert_eq!(rules("prod"), ["weight"]);
    assert_eq!(rules("prod/patches/weight.yaml"), ["weight"]);
    assert!(rules("loose").contains(&"field-required".to_owned()));
    let outcome = lint_in(directory.path(), &["prod"], "");
    assert!(
        outcome.stderr.contains("1 patch checked on its own"),
        "{}",
        outcome.stderr
    );
    let two = patch.replace("general", "batch");
    let two = format!("{patch}---\n{two}");
    fs::write(directory.path().join("prod/patches/weight.yaml"), two).expect("a file");
    let outcome = lint_in(directory.path(), &["prod"], "");
    assert!(
        outcome.stderr.contains("2 patches checked on their own"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn what_sops_has_encrypted_is_counted_and_left_alone() {
    let text = format!("{}sops:\n  mac: ENC[x]\n", SOUND.replace("100Gi", "ENC[AES256]"));
    let outcome = lint_in(Path::new("."), &["-"], &text);
    assert_eq!(
        (outcome.status.code(), outcome.stdout.as_str()),
        (Some(0), ""),
        "{outcome:?}"
    );
    assert!(
        outcome.stderr.contains("1 encrypted document skipped"),
        "{}",
        outcome.stderr
    );
}
