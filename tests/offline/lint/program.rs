//! Runs the program in a directory of its own.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::support::process::{self, Outcome};

/// Longest that any run may take; far above what an unoptimised build on a shared machine needs.
const DEADLINE: Duration = Duration::from_mins(1);

/// A NodePool without a fault.
pub(super) const SOUND: &str = "\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: general
spec:
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized
    consolidateAfter: 1m
    budgets:
    - nodes: 10%
  limits:
    cpu: \"100\"
    memory: 100Gi
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: kubernetes.io/arch, operator: In, values: [amd64]}
";

/// Runs `poolgate lint` in `directory`.
pub(super) fn lint_in(directory: &Path, arguments: &[&str], stdin: &str) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_poolgate"));
    command.arg("lint").args(arguments).current_dir(directory);
    for variable in [
        "POOLGATE_POLICY",
        "POOLGATE_KARPENTER_VERSION",
        "FORCE_COLOR",
        "CLICOLOR_FORCE",
    ] {
        command.env_remove(variable);
    }
    process::run(&mut command, stdin, DEADLINE)
}

/// A directory with these files.
pub(super) fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, text).expect("a file");
    }
    directory
}

/// What is printed for one file of this text, a line for each finding.
pub(super) fn concise(text: &str) -> Outcome {
    let directory = directory(&[("pool.yaml", text)]);
    lint_in(directory.path(), &["--format", "concise", "pool.yaml"], "")
}
