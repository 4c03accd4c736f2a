//! Files that results are written to: never one that is read, and not before all is well.

use std::fs::{self, File};
use std::path::Path;

use super::lint_in;
use crate::support::files::directory;
use crate::support::program;

/// Its one finding is a warning.
const POOL: &str = "\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a}
spec:
  limits: {CPU: \"1000\"}
  disruption: {consolidateAfter: 1m}
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements: []
";

fn text(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).expect("a file")
}

#[test]
fn the_report_of_an_earlier_run_is_not_checked_while_it_is_written() {
    let many = format!("---\n{POOL}").repeat(200);
    let folder = directory(&[("a.yaml", &many)]);
    for _ in 0..2 {
        let outcome = lint_in(folder.path(), &["--output=json=report.json", "."], "");
        assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
        let report = text(folder.path(), "report.json");
        assert!(!report.contains("manifest-syntax"), "{report}");
    }
    // The same where the shell opens the file.
    let redirected = File::create(folder.path().join("results.json")).expect("a file");
    let mut command = program::poolgate(&["lint", "--output=json", "."]);
    let status = command.current_dir(folder.path()).stdout(redirected).status();
    assert!(status.expect("an end").success());
    assert!(!text(folder.path(), "results.json").contains("manifest-syntax"));
}
