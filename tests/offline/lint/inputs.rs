//! Which files are read, which are skipped, and the exit code.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use super::lint_in;
use crate::support::files::directory;
use crate::support::nodepool::SOUND;
use crate::support::program::poolgate;

/// A pool with one error, the only finding in its text.
fn wrong() -> String {
    SOUND.replace("100Gi", "-1Gi")
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
