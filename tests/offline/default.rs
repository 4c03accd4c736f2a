//! What no case shows of `poolgate default`: many files and layouts.

use std::fs;
use std::path::Path;

use crate::support::process::Outcome;
use crate::support::program;

fn default_in(directory: &Path, arguments: &[&str], stdin: &str) -> Outcome {
    program::run_in(directory, &[&["default"], arguments].concat(), stdin)
}

fn completed(text: &str, arguments: &[&str]) -> String {
    default_in(Path::new("."), arguments, text).success()
}

/// The objects completed in the text are complete for a review, too.
#[test]
fn the_corpus_is_completed_and_then_complete() {
    let mut files = Vec::new();
    let mut folders = vec![program::root().join("tests/corpus")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "yaml") {
                files.push(path);
            }
        }
    }
    assert!(files.len() > 50, "{}", files.len());
    let copy = tempfile::tempdir().expect("a directory");
    for (number, path) in files.iter().enumerate() {
        fs::copy(path, copy.path().join(format!("{number}.yaml"))).expect("a copy");
    }
    let first = default_in(copy.path(), &["--write", "."], "");
    let second = default_in(copy.path(), &["--diff", "."], "");
    assert_eq!(second.stdout, "", "{first:?}");
}

/// A pool as people write it, with lists indented or not and comments below them.
fn laid_out(step: usize, list: usize) -> String {
    let (s, l) = (" ".repeat(step), " ".repeat(list));
    format!(
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n{s}name: a\nspec:\n{s}template:\n{s}{s}spec:\n\
         {s}{s}{s}nodeClassRef:\n{s}{s}{s}{s}group: karpenter.k8s.aws\n{s}{s}{s}{s}kind: EC2NodeClass\n{s}{s}{s}{s}name: a\n\
         {s}{s}{s}requirements:\n{s}{s}{s}{l}- key: kubernetes.io/arch\n{s}{s}{s}{l}  operator: In\n\
         {s}{s}{s}{l}  values: [amd64]\n{s}{s}{s}{l}# last comment of the list\n\n{s}# about the pool\n---\n# next\nkind: X\n"
    )
}

#[test]
fn new_keys_stand_below_the_comments_of_the_old_ones_and_are_indented_as_these() {
    for (step, list) in [(2, 0), (2, 2), (4, 0), (4, 2), (4, 4)] {
        let text = laid_out(step, list);
        let (s, l) = (" ".repeat(step), " ".repeat(list));
        let expected = text
            .replace(
                "# last comment of the list\n",
                &format!("# last comment of the list\n{s}{s}{s}expireAfter: 720h\n"),
            )
            .replace(
                "# about the pool\n",
                &format!(
                    "# about the pool\n{s}disruption:\n{s}{s}budgets:\n{s}{s}{l}- nodes: \"10%\"\n{s}{s}consolidateAfter: \
                     0s\n{s}{s}consolidationPolicy: WhenEmptyOrUnderutilized\n"
                ),
            );
        assert_eq!(completed(&text, &["-"]), expected, "{step} {list}");
    }
}
