//! Runs all cases of a command, and compares or writes their transcripts.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::{fs, io};

use super::scene::{Scene, TRANSCRIPT};
use super::transcript::Transcript;

/// The files and the folders in a folder, by name.
fn entries(folder: &Path) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let paths: io::Result<Vec<PathBuf>> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths?;
    paths.sort();
    Ok(paths.into_iter().partition(|path| !path.is_dir()))
}

/// What a case says, and what its commands say now.
struct Run {
    before: Transcript,
    text: String,
    after: Transcript,
}

fn run(case: &Path, shared: &[PathBuf]) -> Result<Run, String> {
    let text = fs::read_to_string(case.join(TRANSCRIPT)).map_err(|error| format!("{TRANSCRIPT}: {error}"))?;
    let before = Transcript::read(&text)?;
    let mut after = before.clone();
    let mut scene = Scene::new(case, shared);
    for step in &mut after.steps {
        step.said = scene.run(&step.command);
    }
    Ok(Run { before, text, after })
}

/// Runs the cases of a command below the folder of all cases. Returns a summary of what was written, or what is wrong.
pub(super) fn check(all: &Path, command: &str, writes: bool) -> Result<String, String> {
    let read = |folder: &Path| entries(folder).map_err(|error| format!("{}: {error}", folder.display()));
    let (mut shared, _) = read(all)?;
    let (more, cases) = read(&all.join(command))?;
    shared.extend(more);
    if cases.is_empty() {
        return Err(format!("{command} has no cases"));
    }
    let next = AtomicUsize::new(0);
    let runs = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let run = run(case, &shared);
                    runs.lock().expect("no thread panics").insert(case, run);
                }
            });
        }
    });
    let mut report = String::new();
    let mut kinds: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let (mut changed, mut is_wrong) = (0, false);
    for (case, run) in runs.into_inner().expect("no thread panics") {
        let name = case.strip_prefix(all).expect("a case").display().to_string();
        let run = match run {
            Ok(run) => run,
            Err(why) => {
                is_wrong = true;
                let _ = writeln!(report, "{name}: {why}");
                continue;
            }
        };
        let text = run.after.text();
        if text == run.text {
            continue;
        }
        changed += 1;
        let mut found = run.before.kinds(&run.after);
        if found.is_empty() {
            found.insert("layout");
        }
        for &kind in &found {
            kinds.entry(kind).or_default().push(name.clone());
        }
        if writes {
            fs::write(case.join(TRANSCRIPT), text).map_err(|error| format!("{name}: {error}"))?;
        } else {
            is_wrong = true;
            let found: Vec<&str> = found.into_iter().collect();
            let patch = diffy::create_patch(&run.text, &text);
            let _ = writeln!(report, "{name}: {}\n{patch}", found.join(", "));
        }
    }
    let mut summary = format!("{command}: {changed} of {} cases differ\n", cases.len());
    for (kind, names) in kinds {
        let _ = writeln!(summary, "  {kind} ({}): {}", names.len(), names.join(", "));
    }
    if is_wrong {
        let accept = "POOLGATE_WRITE=1 accepts the differences. Read them first.\n";
        return Err(format!("{report}{summary}{accept}"));
    }
    Ok(if writes { summary } else { String::new() })
}

mod tests {
    use super::check;
    use crate::support::files::directory;

    /// One case of a command, with these files.
    fn checked(files: &[(&str, &str)], writes: bool) -> (Result<String, String>, String) {
        let paths: Vec<String> = files.iter().map(|(name, _)| format!("lint/one/{name}")).collect();
        let files: Vec<(&str, &str)> = paths
            .iter()
            .zip(files)
            .map(|(path, (_, text))| (path.as_str(), *text))
            .collect();
        let all = directory(&files);
        let result = check(all.path(), "lint", writes);
        let text = std::fs::read_to_string(all.path().join("lint/one/case.txt")).unwrap_or_default();
        (result, text)
    }

    const RIGHT: &str = "\
# The shell prints, warns and fails.

# It prints below a comment.
$ echo '$ x'; echo '# y'; \\
  echo z >&2; exit 3
? 3
\\$ x
# y
! z

$ echo poolgate >new; : poolgate writes
> new is new
@@ -0,0 +1 @@
+poolgate

$ rm new
";

    #[test]
    fn a_right_transcript_passes_and_is_written_again_as_it_is() {
        assert_eq!(checked(&[("case.txt", RIGHT)], false).0, Ok(String::new()));
        let is_written = |line: &&str| *line == "\n" || line.starts_with(['#', '$', ' ']) && *line != "# y\n";
        let bare: String = RIGHT.split_inclusive('\n').filter(is_written).collect();
        let (result, text) = checked(&[("case.txt", &bare)], true);
        assert_eq!(
            result,
            Ok("lint: 1 of 1 cases differ\n  new (1): lint/one\n".into())
        );
        assert_eq!(text, RIGHT);
        let (result, text) = checked(&[("case.txt", RIGHT)], true);
        assert_eq!(result, Ok("lint: 0 of 1 cases differ\n".into()));
        assert_eq!(text, RIGHT);
    }

    #[test]
    fn each_kind_of_difference_fails_and_is_named() {
        for (from, to, kind) in [
            ("? 3", "? 4", "exit code"),
            ("? 3\n", "", "exit code"),
            ("\\$ x", "\\$ y", "stdout"),
            ("# y\n", "# y\nmore\n", "stdout"),
            ("! z", "! y", "stderr"),
            ("! z\n", "", "stderr"),
            ("> new is new\n@@ -0,0 +1 @@\n+poolgate\n", "", "files"),
            ("+poolgate", "+other", "files"),
            ("\n$ rm", "\n\n$ rm", "layout"),
        ] {
            let wrong = RIGHT.replace(from, to);
            assert_ne!(wrong, RIGHT);
            let (result, text) = checked(&[("case.txt", &wrong)], false);
            let report = result.expect_err(kind);
            assert!(report.starts_with(&format!("lint/one: {kind}\n---")), "{report}");
            assert_eq!(text, wrong);
        }
    }

    #[test]
    fn a_folder_without_a_command_or_a_sentence_fails_even_if_it_is_written() {
        for (files, why) in [
            (&[("pool.yaml", "a: 1\n")][..], "case.txt: No such file"),
            (&[("case.txt", "# Only words.\n")], "there is no command"),
            (&[("case.txt", "$ true\n")], "says what the case shows"),
        ] {
            let report = checked(files, true).0.expect_err(why);
            assert!(report.contains(why), "{report}");
        }
        let none = directory(&[("lint/about.txt", "")]);
        assert_eq!(
            check(none.path(), "lint", true),
            Err("lint has no cases".to_owned())
        );
    }
}
