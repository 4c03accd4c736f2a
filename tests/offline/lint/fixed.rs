//! `--fix`: what it changes, what it leaves, and that nothing is lost.

use std::fs;

use super::lint_in;
use crate::support::files::directory;
use crate::support::nodepool::SOUND;
use crate::support::process;

/// Mistakes of every kind that can certainly be fixed, in several notations, with comments.
const BROKEN: &str = "\
# the pool 池
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  Weight: \"10\"   # case of a field
  disruption:
    consolidationPolicy: WhenUnderutilized # v1beta1 called it that
    consolidateAfter: '1d'
    budgets:
    - nodes: 5 # a number
      reasons: [ drifted ,\"Empty\"]
      schedule: 0 9 * * sat-sun
      duration: 1d
  limits: {cpu: 100, memory: \"1000 Gi\"}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: kubernetes.io/arch, operator: in, values: [amd64]}
      taints:
      - key: example.com/team
        effect: noSchedule
";

const FIXED: &str = "\
# the pool 池
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  weight: 10   # case of a field
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized # v1beta1 called it that
    consolidateAfter: '24h'
    budgets:
    - nodes: \"5\" # a number
      reasons: [ Drifted ,\"Empty\"]
      schedule: \"0 9 * * sat,sun\"
      duration: 24h
  limits: {cpu: 100, memory: \"1000Gi\"}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: kubernetes.io/arch, operator: In, values: [amd64]}
      taints:
      - key: example.com/team
        effect: NoSchedule
";

#[test]
fn certain_fixes_are_written_and_all_else_stays() {
    let crlf = |text: &str| text.replace('\n', "\r\n");
    let directory = directory(&[
        ("a.yaml", BROKEN),
        ("b.yaml", &format!("\u{feff}{}", crlf(BROKEN))),
    ]);
    let read = |name: &str| fs::read_to_string(directory.path().join(name)).expect("a file");
    let outcome = lint_in(directory.path(), &["--fix", "."], "");
    assert!(outcome.stderr.contains("; 20 places fixed"), "{outcome:?}");
    assert_eq!(read("a.yaml"), FIXED);
    assert_eq!(read("b.yaml"), format!("\u{feff}{}", crlf(FIXED)));
    let again = lint_in(directory.path(), &["--fix", "."], "");
    assert!(!again.stderr.contains("fixed"), "{again:?}");
}

#[test]
fn fixes_of_the_template_say_that_they_replace_nodes() {
    let template = SOUND.replace("    spec:\n", "    spec:\n      expireafter: 24h\n");
    let directory = directory(&[("a.yaml", &template)]);
    let cost = "1 change in spec.template. Karpenter then replaces all nodes of the pool";
    for how in [&["--fix", "--diff", "a.yaml"][..], &["--fix", "a.yaml"]] {
        let outcome = lint_in(directory.path(), how, "");
        assert!(outcome.stderr.contains(cost), "{outcome:?}");
    }
    let again = lint_in(directory.path(), &["--fix", "a.yaml"], "");
    assert!(!again.stderr.contains("replace"), "{again:?}");
}

#[test]
fn a_fix_of_a_value_that_cannot_be_stored_replaces_nothing() {
    for (from, to) in [
        (
            "  template:\n",
            "  template:\n    metadata: {labels: {a: true}}\n",
        ),
        ("    spec:\n", "    spec:\n      expireAfter: 30d\n"),
    ] {
        let directory = directory(&[("a.yaml", &SOUND.replace(from, to))]);
        let outcome = lint_in(directory.path(), &["--fix", "a.yaml"], "");
        assert!(outcome.stderr.contains("; 1 place fixed"), "{outcome:?}");
        assert!(!outcome.stderr.contains("replaces"), "{outcome:?}");
    }
}

#[test]
fn what_is_not_certain_is_reported_and_left() {
    let text = SOUND.replace("100Gi", "-1Gi").replace("limits:", "limit:");
    let directory = directory(&[("a.yaml", &text)]);
    let outcome = lint_in(directory.path(), &["--fix", "a.yaml"], "");
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    let left = fs::read_to_string(directory.path().join("a.yaml")).expect("a file");
    assert_eq!(left, text);
}

#[test]
fn json_stays_json() {
    let json =
        "{\"apiVersion\": \"karpenter.sh/v1\", \"kind\": \"NodePool\", \"spec\": {\"weight\": \"7\"}}\n";
    let directory = directory(&[("a.json", json)]);
    lint_in(directory.path(), &["--fix", "a.json"], "");
    let fixed = fs::read_to_string(directory.path().join("a.json")).expect("a file");
    assert_eq!(fixed, json.replace("\"7\"", "7"));
}

/// A pool whose values are correct once they are in quotes, some of them, and others not even then.
const UNQUOTED: &str = "\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a}
spec:
  disruption:
    consolidateAfter: 30
    budgets:
    - nodes: -1
      schedule: 0 9 * * *
      duration: 8
    - nodes: 3
  limits: {cpu: 012, memory: 0x10, nvidia.com/gpu: 5}
  template:
    spec:
      expireAfter: 720
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: example.com/a, operator: In, values: [012, 1.0, 0x1F, 1.10, on, yes, true, 1_0]}
";

#[test]
fn a_fix_that_is_denied_again_is_not_written() {
    let directory = directory(&[("a.yaml", UNQUOTED)]);
    let outcome = lint_in(directory.path(), &["--fix", "--output", "github", "a.yaml"], "");
    let expected = UNQUOTED.replace("nodes: 3", "nodes: \"3\"").replace(
        "[012, 1.0, 0x1F, 1.10, on, yes, true, 1_0]",
        r#"[012, "1.0", "0x1F", "1.10", "on", "yes", "true", "1_0"]"#,
    );
    let fixed = fs::read_to_string(directory.path().join("a.yaml")).expect("a file");
    assert_eq!(fixed, expected);
    assert!(
        outcome.stderr.contains("5 errors, 1 warning; 8 places fixed"),
        "{}",
        outcome.stderr
    );
    for field in [
        "consolidateAfter",
        "budgets[0].nodes",
        "budgets[0].duration",
        "expireAfter",
    ] {
        let mut lines = outcome.stdout.lines();
        assert!(
            lines.any(|line| line.contains(field) && line.contains("uotes are not enough")),
            "{field}: {}",
            outcome.stdout
        );
    }
    let again = lint_in(directory.path(), &["--fix", "a.yaml"], "");
    assert!(!again.stderr.contains("fixed"), "{again:?}");
}

#[test]
fn the_author_reads_what_stands_in_the_file() {
    let directory = directory(&[("a.yaml", UNQUOTED)]);
    let printed = lint_in(directory.path(), &["--output", "github", "a.yaml"], "").stdout;
    assert!(
        printed.contains("rite it in quotes: \"10\", or \"012\""),
        "{printed}"
    );
    for written in ["1.0", "0x1F", "1.10", "on", "yes", "1_0"] {
        let suggestion = format!("rite it in quotes: \"{written}\"");
        assert!(printed.contains(&suggestion), "{written}: {printed}");
    }
}

#[test]
fn a_number_with_a_leading_zero_is_written_as_kubectl_reads_it() {
    let pool = |cpus: [&str; 4], nodes: [&str; 2]| {
        let [listed, exact, more, fewer] = cpus;
        let [octal, plain] = nodes;
        format!(
            "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: general}}\nspec:\n  disruption:\n    \
             consolidateAfter: 1m\n    budgets: [{{nodes: {octal}}}, {{nodes: {plain}, reasons: [Drifted]}}]\n  template:\n    \
             spec:\n      expireAfter: 720h\n      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}\n      \
             requirements:\n      - {{key: karpenter.k8s.aws/instance-cpu, operator: In, values: [{listed}, {exact}]}}\n      \
             - {{key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: [{more}]}}\n      \
             - {{key: example.com/shard, operator: In, values: [{fewer}]}}\n"
        )
    };
    let before = pool(["08", "\"16\"", "010", "07"], ["017", "010"]);
    let after = pool(["\"8\"", "\"16\"", "\"8\"", "07"], ["\"15\"", "\"8\""]);
    let directory = directory(&[("a.yaml", &before)]);
    lint_in(directory.path(), &["--fix", "a.yaml"], "");
    let fixed = fs::read_to_string(directory.path().join("a.yaml")).expect("a file");
    assert_eq!(fixed, after);
}

#[test]
fn an_unknown_field_that_is_null_is_removed() {
    let text = SOUND.replacen("\nspec:\n", "\nspec:\n  foo: null\n", 1);
    let directory = directory(&[("a.yaml", &text)]);
    let outcome = lint_in(directory.path(), &["--output", "concise", "a.yaml"], "");
    assert!(outcome.stdout.contains("error[field-unknown]"), "{outcome:?}");
    lint_in(directory.path(), &["--fix", "a.yaml"], "");
    let fixed = fs::read_to_string(directory.path().join("a.yaml")).expect("a file");
    assert_eq!(fixed, SOUND);
}

#[test]
fn where_a_policy_denies_nothing_a_fix_must_still_pass() {
    let directory = directory(&[
        ("a.yaml", UNQUOTED),
        (
            "policy.yaml",
            "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\nenforcement: warn\n",
        ),
    ]);
    lint_in(
        directory.path(),
        &["--fix", "--policy", "policy.yaml", "a.yaml"],
        "",
    );
    let fixed = fs::read_to_string(directory.path().join("a.yaml")).expect("a file");
    assert!(fixed.contains("consolidateAfter: 30\n"), "{fixed}");
    assert!(fixed.contains("nodes: \"3\""), "{fixed}");
}

#[test]
fn a_name_is_not_put_right_where_that_shows_another_mistake() {
    for (spec, right) in [
        ("Weight: \"10\"", Some("weight: 10")),
        ("Weight: heavy", None),
        ("Weight: 1000", None),
        ("Limits: {cpu: abc}", None),
        ("Limits: {cpu: \"5\"}", Some("limits: {cpu: \"5\"}")),
    ] {
        let limits = "  limits:\n    cpu: \"100\"\n    memory: 100Gi\n";
        let text = SOUND.replace(limits, &format!("  {spec}\n"));
        let directory = directory(&[("a.yaml", &text)]);
        lint_in(directory.path(), &["--fix", "a.yaml"], "");
        let fixed = fs::read_to_string(directory.path().join("a.yaml")).expect("a file");
        let expected = text.replace(spec, right.unwrap_or(spec));
        assert_eq!(fixed, expected);
    }
}

#[test]
fn a_fix_is_written_where_it_only_shows_a_mistake_that_it_had_hidden() {
    let requirement = "{key: kubernetes.io/arch, operator: In, values: [amd64]}";
    let other = "{key: kubernetes.io/arch, operator: In, values: [arm64]}";
    for (wrong, right, rule) in [
        // The values of a requirement are not checked while its operator cannot be read.
        (
            "{key: kubernetes.io/arch, operator: in, values: [x86_64]}".to_owned(),
            "{key: kubernetes.io/arch, operator: In, values: [x86_64]}".to_owned(),
            "requirement-no-value",
        ),
        (
            "{key: karpenter.sh/capacity-type, operator: in, values: [ondemand, 5]}".to_owned(),
            "{key: karpenter.sh/capacity-type, operator: In, values: [ondemand, \"5\"]}".to_owned(),
            "requirement-no-value",
        ),
        (
            "{key: kubernetes.io/arch, operator: in, values: []}".to_owned(),
            "{key: kubernetes.io/arch, operator: In, values: []}".to_owned(),
            "requirement-values",
        ),
        // Nor is it compared with the others.
        (
            format!("{}\n      - {other}", requirement.replace("In", "in")),
            format!("{requirement}\n      - {other}"),
            "requirement-contradiction",
        ),
    ] {
        let text = SOUND.replace(requirement, &wrong);
        let directory = directory(&[("a.yaml", &text)]);
        let outcome = lint_in(directory.path(), &["--fix", "--output", "concise", "a.yaml"], "");
        let fixed = fs::read_to_string(directory.path().join("a.yaml")).expect("a file");
        assert_eq!(fixed, SOUND.replace(requirement, &right), "{outcome:?}");
        assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
        assert!(outcome.stdout.contains(&format!("error[{rule}]")), "{outcome:?}");
        assert!(!outcome.stderr.contains("not fixed"), "{outcome:?}");
    }
}

/// A limit on the size of files has the same effect as a full disk: a write that fails half-way.
#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_written_in_full_stays_as_it_is() {
    let text = format!("{}{}", "# a comment\n".repeat(10_000), SOUND.replace("1m", "1d"));
    let small = SOUND.replace("consolidateAfter: 1m", "consolidateAfter: 1d");
    let directory = directory(&[("pools/a.yaml", &text)]);
    let folder = directory.path().join("pools");
    // A process that ignores the signal gets the error.
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
    for (arguments, reported) in [
        (["lint", "--fix"], "a.yaml cannot be changed: "),
        (["default", "--write"], "error: a.yaml cannot be written: "),
    ] {
        fs::write(folder.join("b.yaml"), &small).expect("a file");
        let mut command = std::process::Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_poolgate")]);
        let outcome = process::run(
            command
                .args(arguments)
                .args(["a.yaml", "b.yaml"])
                .current_dir(&folder),
            "",
        );
        assert_eq!(outcome.status.code(), Some(2), "{outcome:?}");
        assert!(
            [&outcome.stdout, &outcome.stderr]
                .iter()
                .any(|said| said.contains(reported)),
            "{outcome:?}"
        );
        let left = fs::read_to_string(folder.join("a.yaml")).expect("a file");
        assert!(left == text, "the file is as it was");
        let other = fs::read_to_string(folder.join("b.yaml")).expect("a file");
        assert_ne!(other, small, "the other file is written all the same");
        assert_eq!(
            fs::read_dir(&folder).expect("a folder").count(),
            2,
            "nothing is left over"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_file_keeps_its_rights_and_its_link() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = directory(&[("real/a.yaml", BROKEN)]);
    let path = directory.path().join("real/a.yaml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("rights");
    std::os::unix::fs::symlink("real/a.yaml", directory.path().join("link.yaml")).expect("a link");
    lint_in(directory.path(), &["--fix", "link.yaml"], "");
    assert!(
        fs::symlink_metadata(directory.path().join("link.yaml"))
            .expect("a link")
            .is_symlink()
    );
    assert_eq!(
        fs::metadata(&path).expect("a file").permissions().mode() & 0o777,
        0o640
    );
    assert_ne!(fs::read_to_string(&path).expect("a file"), BROKEN);
    let files = fs::read_dir(directory.path().join("real"))
        .expect("a folder")
        .count();
    assert_eq!(files, 1, "nothing is left over");
}

#[test]
fn standard_input_is_not_a_file() {
    let outcome = lint_in(std::path::Path::new("."), &["--fix", "-"], BROKEN);
    assert_eq!(outcome.status.code(), Some(2), "{outcome:?}");
}

/// What becomes of the lines below `spec.template.spec` and `spec` of a sound pool, which are these, after `--fix`.
fn fixed_lines(reference: &str, limits: &str) -> String {
    let text = format!(
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: general\nspec:\n  disruption:\n    consolidateAfter: 1m\n{limits}  template:\n    spec:\n{reference}      requirements: []\n"
    );
    let directory = directory(&[("pool.yaml", &text)]);
    let path = directory.path().join("pool.yaml");
    let outcome = lint_in(directory.path(), &["--fix", "pool.yaml"], "");
    let fixed = fs::read_to_string(&path).expect("a file");
    let (_, lines) = fixed.split_once("consolidateAfter: 1m\n").expect("a pool");
    let lines = lines
        .replace("      requirements: []\n", "")
        .replace("  template:\n    spec:\n", "");
    assert!(!outcome.stdout.contains("field-"), "{outcome:?}");
    lines
}

#[test]
fn a_left_over_api_version_of_a_node_class_goes_or_becomes_its_group() {
    let fixed = |text: &str| fixed_lines(text, "");
    let reference = "      nodeClassRef:\n        group: karpenter.k8s.aws\n        kind: EC2NodeClass\n        name: default\n";
    for text in [
        "      nodeClassRef:\n        apiVersion: karpenter.k8s.aws/v1\n        group: karpenter.k8s.aws\n        kind: EC2NodeClass\n        name: default\n",
        "      nodeClassRef:\n        group: karpenter.k8s.aws\n        kind: EC2NodeClass\n        name: default\n        apiVersion: karpenter.k8s.aws/v1beta1\n",
        "      nodeClassRef:\n        apiVersion: karpenter.k8s.aws/v1beta1\n        kind: EC2NodeClass\n        name: default\n",
    ] {
        assert_eq!(fixed(text), reference, "{text}");
    }
    let flow = |inner: &str| format!("      nodeClassRef: {{{inner}}}\n");
    let rest = "group: karpenter.k8s.aws, kind: EC2NodeClass, name: default";
    assert_eq!(
        fixed(&flow(&format!("apiVersion: karpenter.k8s.aws/v1, {rest}"))),
        flow(rest)
    );
    assert_eq!(
        fixed(&flow(&format!("{rest}, apiVersion: karpenter.k8s.aws/v1"))),
        flow(rest)
    );
}

#[test]
fn limits_of_a_provisioner_lose_the_field_around_them() {
    let reference = "      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}\n";
    let fixed = |limits: &str| fixed_lines(reference, limits).replace(reference, "");
    assert_eq!(
        fixed(
            "  limits:\n    resources:\n      cpu: 20\n      # for the team\n      memory: 10Gi\n    nodes: \"5\"\n"
        ),
        "  limits:\n    cpu: 20\n    # for the team\n    memory: 10Gi\n    nodes: \"5\"\n"
    );
    assert_eq!(
        fixed("  limits:\n    resources: {cpu: 20}\n"),
        "  limits:\n    cpu: 20\n"
    );
    assert_eq!(
        fixed("  limits: {resources: {cpu: 20, memory: 10Gi}}\n"),
        "  limits: {cpu: 20, memory: 10Gi}\n"
    );
}

/// Every container that mounts a repository runs as another user.
#[cfg(unix)]
#[test]
fn a_fixed_file_keeps_its_owner_its_mode_and_its_other_names() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
    let directory = directory(&[("a.yaml", BROKEN), ("b.yaml", BROKEN)]);
    let [a, b, other] = ["a.yaml", "b.yaml", "other"].map(|name| directory.path().join(name));
    fs::hard_link(&a, &other).expect("a link");
    fs::set_permissions(&b, fs::Permissions::from_mode(0o604)).expect("a mode");
    // Only root gives a file away.
    let _ = chown(&b, Some(65534), Some(65534));
    let about = |path: &std::path::Path| {
        let data = fs::metadata(path).expect("a file");
        (data.uid(), data.gid(), data.mode(), data.nlink())
    };
    let before = [about(&a), about(&b)];
    let outcome = lint_in(directory.path(), &["--fix", "."], "");
    assert!(outcome.stderr.contains("; 20 places fixed"), "{outcome:?}");
    assert_eq!([about(&a), about(&b)], before);
    for path in [&a, &b, &other] {
        assert_eq!(fs::read_to_string(path).expect("a file"), FIXED);
    }
    assert_eq!(fs::read_dir(directory.path()).expect("a folder").count(), 3);
}

#[test]
fn patch_takes_the_difference_of_a_file_with_a_blank_in_its_name() {
    let directory = directory(&[("my pool.yaml", BROKEN), ("b.yaml", BROKEN)]);
    let outcome = lint_in(directory.path(), &["--fix", "--diff", "."], "");
    fs::write(directory.path().join("all.patch"), &outcome.stdout).expect("a patch");
    let mut patch = std::process::Command::new("patch");
    patch
        .args(["-p0", "-s", "-i", "all.patch"])
        .current_dir(directory.path());
    let patched = process::run(&mut patch, "");
    assert!(patched.status.success(), "{patched:?}\n{}", outcome.stdout);
    for name in ["my pool.yaml", "b.yaml"] {
        assert_eq!(
            fs::read_to_string(directory.path().join(name)).expect("a file"),
            FIXED
        );
    }
}

/// The next key would get the comment.
#[test]
fn a_field_below_a_comment_is_left_to_its_author() {
    let class = "nodeClassRef:\n        # of the old API\n        apiVersion: karpenter.k8s.aws/v1beta1\n        group: \
                 karpenter.k8s.aws\n        kind: EC2NodeClass\n        name: default\n      ";
    let (before, rest) = SOUND.split_once("nodeClassRef:").expect("a class");
    let (_, after) = rest.split_once("requirements:").expect("requirements");
    let text = [before, class, "requirements:", after].concat();
    let bare = text.replace("        # of the old API\n", "");
    let directory = directory(&[("a.yaml", &text), ("b.yaml", &bare)]);
    let outcome = lint_in(directory.path(), &["--fix", "."], "");
    let read = |name: &str| fs::read_to_string(directory.path().join(name)).expect("a file");
    assert_eq!(read("a.yaml"), text);
    assert!(outcome.stderr.contains("a.yaml:"), "{outcome:?}");
    assert!(
        !read("b.yaml").contains("apiVersion: karpenter.k8s.aws"),
        "{}",
        read("b.yaml")
    );
    assert!(
        !outcome.stderr.contains("replaces all nodes"),
        "no cluster has stored the field: {outcome:?}"
    );
}
