//! The temporary copy of a case in which its commands run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use poolgate_core::facts::KarpenterVersion;
use poolgate_core::rules::find;
use regex::Regex;
use tempfile::TempDir;

use super::transcript::{Said, visible};
use crate::support::process;
use crate::support::program::root;

/// The name of the transcript, which no command sees.
pub(super) const TRANSCRIPT: &str = "case.txt";

/// What the commands say of a release that nobody named. Here and nowhere else.
const ASSUMED: &str = "(assumed; set with --karpenter-version)";

pub(super) struct Scene {
    directory: TempDir,
    files: BTreeMap<String, Vec<u8>>,
}

impl Scene {
    /// A copy of the case, with what all cases share in the folder above it.
    pub(super) fn new(case: &Path, shared: &[PathBuf]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        for file in shared {
            let name = file.file_name().expect("a name");
            fs::copy(file, directory.path().join(name)).expect("a copy");
        }
        let scene = Self {
            directory,
            files: BTreeMap::new(),
        };
        copy(case, &scene.folder());
        fs::remove_file(scene.folder().join(TRANSCRIPT)).expect("a transcript");
        scene
    }

    fn folder(&self) -> PathBuf {
        self.directory.path().join("case")
    }

    /// Runs a line of the shell. The files that poolgate changed are part of what it says.
    pub(super) fn run(&mut self, line: &str) -> Said {
        self.files = files(&self.folder());
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(self.folder());
        shell.env_clear();
        let program = Path::new(env!("CARGO_BIN_EXE_poolgate"));
        let programs = program.parent().expect("a folder").display();
        let path = env::var("PATH").unwrap_or_default();
        let above = self.directory.path();
        for (name, value) in [
            ("PATH", format!("{programs}:{path}").as_str()),
            ("HOME", &above.join("home").display().to_string()),
            ("REPOSITORY", root().to_str().expect("UTF-8")),
            ("TZ", "UTC"),
            ("GIT_CEILING_DIRECTORIES", above.to_str().expect("UTF-8")),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "a"),
            ("GIT_AUTHOR_EMAIL", "a@example.com"),
            ("GIT_AUTHOR_DATE", "2026-01-05T10:00:00Z"),
            ("GIT_COMMITTER_NAME", "a"),
            ("GIT_COMMITTER_EMAIL", "a@example.com"),
            ("GIT_COMMITTER_DATE", "2026-01-05T10:00:00Z"),
        ] {
            shell.env(name, value);
        }
        let outcome = process::run(&mut shell, "");
        let is_ours = line.contains("poolgate ");
        let changed = if is_ours { self.changed() } else { String::new() };
        let [stdout, stderr] = [outcome.stdout, outcome.stderr].map(|text| self.stable(&text));
        Said::new(outcome.status.code(), &stdout, &stderr, changed)
    }

    /// Without what differs between two runs, two machines, or two releases of Karpenter and poolgate.
    fn stable(&self, text: &str) -> String {
        let newest = KarpenterVersion::NEWEST.to_string();
        let short = newest.rsplit_once('.').expect("a patch release").0;
        let own = env!("CARGO_PKG_VERSION");
        let above = self.directory.path().display().to_string();
        let text = [
            (above, "<above>"),
            (root().display().to_string(), "<repository>"),
            (format!("{short} {ASSUMED}"), "<newest>"),
            (format!("{short} (assumed"), "<newest> (assumed"),
            (format!("as for {newest}"), "as for <newest>"),
            (format!("poolgate {own}"), "poolgate <version>"),
            (format!("ersion\":\"{own}\""), "ersion\":\"<version>\""),
        ]
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
        // The name of a file before it gets that of the one that it replaces.
        let random = Regex::new(r"\.poolgate-\w{6}").expect("a pattern");
        let text = random.replace_all(&text, ".poolgate-<random>");
        text.split('\n').map(without_words).collect::<Vec<_>>().join("\n")
    }

    fn changed(&self) -> String {
        let after = files(&self.folder());
        let mut changed = String::new();
        for name in self.files.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
            let [before, after] = [self.files.get(name), after.get(name)];
            if before == after {
                continue;
            }
            let text = |bytes: Option<&Vec<u8>>| {
                let text = String::from_utf8_lossy(bytes.map_or(&[], Vec::as_slice)).into_owned();
                let lines = visible(&self.stable(&text)).into_iter();
                lines.map(|line| line + "\n").collect::<String>()
            };
            let what = match (before, after) {
                (None, _) => "is new",
                (_, None) => "is gone",
                _ => "changed",
            };
            let _ = writeln!(changed, "> {name} {what}");
            let mut options = diffy::DiffOptions::new();
            let patch = options
                .set_context_len(2)
                .create_patch(&text(before), &text(after))
                .to_string();
            changed.extend(patch.lines().skip(2).map(|line| format!("{line}\n")));
        }
        changed
    }
}

/// A line of the concise format without the words of a rule of core, whose own snapshot has them.
fn without_words(line: &str) -> String {
    let words = || {
        let (place, rest) = line.split_once('[')?;
        let (rule, said) = rest.split_once("]: ")?;
        let is_finding = ["error", "warning", "note"]
            .iter()
            .any(|severity| place.ends_with(&format!(": {severity}")));
        // Those that read the text are pinned by the cases.
        if !is_finding || find(rule).is_none() {
            return None;
        }
        let object = said.starts_with("Node").then(|| said.split_once(": ")).flatten();
        let object = object.map_or_else(String::new, |(object, _)| format!("{object}: "));
        Some(format!("{place}[{rule}]: {object}…"))
    };
    words().unwrap_or_else(|| line.to_owned())
}

/// Copies a folder with what is below it. Links stay links.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_symlink() {
            let target = fs::read_link(&path).expect("a link");
            std::os::unix::fs::symlink(target, to).expect("a link");
        } else if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).expect("a copy");
        }
    }
}

/// What is below a folder, without what belongs to Git.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(folder).expect("a path").display().to_string();
            let kind = fs::symlink_metadata(&path).expect("an entry").file_type();
            if kind.is_symlink() {
                let target = fs::read_link(&path).expect("a link").display().to_string();
                files.insert(name, format!("a link to {target}\n").into_bytes());
            } else if kind.is_dir() {
                left.extend(
                    path.file_name()
                        .is_some_and(|name| name != ".git")
                        .then_some(path),
                );
            } else if kind.is_file() {
                files.insert(name, fs::read(&path).expect("a file"));
            }
        }
    }
    files
}
