//! `--fix`: what it changes, what it leaves, and that nothing is lost.

use std::fs;

use super::lint_in;
use crate::support::files::directory;
use crate::support::nodepool::SOUND;

/// Mistakes of every kind that can be fixed for certain, in several notations, with comments.
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

const MENDED: &str = "\
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
  limits: {cpu: \"100\", memory: \"1000Gi\"}
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
    // A field is read under its right name only once it has that name.
    for _ in 0..2 {
        lint_in(directory.path(), &["--fix", "."], "");
    }
    assert_eq!(read("a.yaml"), MENDED);
    assert_eq!(read("b.yaml"), format!("\u{feff}{}", crlf(MENDED)));
    let again = lint_in(directory.path(), &["--fix", "."], "");
    assert!(!again.stderr.contains("fixed"), "{again:?}");
}

#[test]
fn what_is_not_certain_is_told_and_left() {
    let text = SOUND.replace("100Gi", "-1Gi").replace("limits:", "limit:");
    let directory = directory(&[("a.yaml", &text)]);
    let outcome = lint_in(directory.path(), &["--fix", "a.yaml"], "");
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    let left = fs::read_to_string(directory.path().join("a.yaml")).expect("a file");
    assert_eq!(left, text);
}

#[test]
fn json_stays_json() {
    let json = "{\"apiVersion\": \"karpenter.sh/v1\", \"kind\": \"NodePool\", \"spec\": {\"limits\": {\"cpu\": 7}}}\n";
    let directory = directory(&[("a.json", json)]);
    lint_in(directory.path(), &["--fix", "a.json"], "");
    let fixed = fs::read_to_string(directory.path().join("a.json")).expect("a file");
    assert_eq!(fixed, json.replace('7', "\"7\""));
}

#[test]
fn a_value_that_an_alias_brings_is_left_to_its_author() {
    let text = "x: &d 1d\n---\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a, annotations: {x: &d 1d}}\n\
                spec: {disruption: {consolidateAfter: *d}}\n";
    let directory = directory(&[("a.yaml", text)]);
    lint_in(directory.path(), &["--fix", "a.yaml"], "");
    let left = fs::read_to_string(directory.path().join("a.yaml")).expect("a file");
    assert_eq!(left, text);
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
fn standard_input_is_no_file() {
    let outcome = lint_in(std::path::Path::new("."), &["--fix", "-"], BROKEN);
    assert_eq!(outcome.status.code(), Some(2), "{outcome:?}");
}
