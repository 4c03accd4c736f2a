//! Processes that the tests start end with them.

use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, Stdio};

use crate::support::process::{WATCHED, run};
use crate::support::wait::wait_for;

#[test]
fn a_program_that_ignores_the_end_of_its_group_ends_with_the_test_that_started_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let is_up = directory.path().join("up");
    let mut child = Command::new("sh")
        .args(["-c", WATCHED, "sh"])
        .arg(directory.path())
        .args([
            "sh",
            "-c",
            r#"trap '' TERM; : >"$0"; for _ in $(seq 100); do sleep 1; done"#,
        ])
        .arg(&is_up)
        .process_group(0)
        .stdin(Stdio::piped())
        .spawn()
        .expect("a shell starts");
    wait_for("the program", || is_up.exists().then_some(()));
    let mut terminate = Command::new("sh");
    terminate.args(["-c", r#"kill -s TERM -- "-$1""#, "sh", &child.id().to_string()]);
    assert!(run(&mut terminate, "").status.success());
    drop(child.stdin.take());
    let status = wait_for("the program to end", || child.try_wait().expect("a child"));
    assert_eq!(status.signal(), Some(9), "{status}");
}
