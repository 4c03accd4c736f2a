//! The manifests of a revision, as `git` hands them out.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use poolgate_core::manifest::Limits;

use crate::terminal;

/// How long git may take for all files.
const DEADLINE: Duration = Duration::from_mins(1);

/// The files at a path in a revision that would be read if they stood there now: where each stands below the path, and its
/// text. The path must exist now.
pub fn files(revision: &str, path: &Path) -> anyhow::Result<Vec<(String, String)>> {
    ensure!(
        !revision.starts_with('-') && !revision.is_empty(),
        "--git: {} is not a revision",
        revision.escape_debug()
    );
    let (folder, file) = if path.is_dir() {
        (path, None)
    } else {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        (folder.unwrap_or(Path::new(".")), path.file_name())
    };
    let (folder, file, revision) = (folder.to_owned(), file.map(OsStr::to_owned), revision.to_owned());
    let (sender, answer) = mpsc::channel();
    thread::spawn(move || sender.send(read(&revision, &folder, file.as_deref())));
    let answer = answer.recv_timeout(DEADLINE);
    answer.with_context(|| format!("git has not finished within {} s", DEADLINE.as_secs()))?
}

fn read(revision: &str, folder: &Path, file: Option<&OsStr>) -> anyhow::Result<Vec<(String, String)>> {
    let place = file.map_or_else(|| OsString::from("."), OsStr::to_owned);
    let list = ["ls-tree", "-r", "-l", "-z", revision, "--"].map(OsString::from);
    let listed = git(folder, list.into_iter().chain([place]));
    let listed = listed.with_context(|| format!("--git {}", revision.escape_debug()))?;
    let entries: Vec<Entry<'_>> = listed.split('\0').filter_map(Entry::parse).collect();
    let charts = entries
        .iter()
        .filter_map(|entry| entry.path.strip_suffix("Chart.yaml"));
    let charts: Vec<&str> = charts.collect();
    let wanted = entries
        .iter()
        .filter(|entry| file.is_some() || is_manifest(entry.path, &charts));
    let texts = wanted.map(|entry| {
        let most = Limits::default().bytes;
        let name = || entry.path.escape_debug().to_string();
        ensure!(entry.size <= most, "{} is larger than {most} bytes", name());
        let text = git(folder, ["cat-file", "blob", entry.id].map(OsString::from)).with_context(name)?;
        let path = if file.is_some() { "" } else { entry.path };
        Ok((path.to_owned(), text))
    });
    texts.collect()
}

/// What a git command prints.
fn git(folder: &Path, arguments: impl IntoIterator<Item = OsString>) -> anyhow::Result<String> {
    let mut git = Command::new("git");
    git.current_dir(folder).args(arguments).stdin(Stdio::null());
    let output = git
        .env("GIT_TERMINAL_PROMPT", "0")
        .output()
        .context("git cannot be run")?;
    let why = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}", terminal::clean(why.trim()));
    String::from_utf8(output.stdout).context("is not UTF-8")
}

/// A regular file of a revision.
struct Entry<'l> {
    id: &'l str,
    size: usize,
    path: &'l str,
}

impl<'l> Entry<'l> {
    /// From `MODE TYPE OBJECT SIZE\tPATH`.
    fn parse(line: &'l str) -> Option<Self> {
        let (about, path) = line.split_once('\t')?;
        let mut about = about.split_whitespace();
        about.next().filter(|mode| mode.starts_with("100"))?;
        let id = about.nth(1)?;
        let size = about.next()?.parse().ok()?;
        Some(Self { id, size, path })
    }
}

/// Whether a file below a directory is read, as below those of today: no hidden ones, no templates of a Helm chart.
fn is_manifest(path: &str, charts: &[&str]) -> bool {
    let extension = Path::new(path).extension().and_then(OsStr::to_str);
    let is_template = |chart: &&str| {
        let within = path.strip_prefix(*chart);
        within.is_some_and(|within| within.starts_with("templates/"))
    };
    matches!(extension, Some("yaml" | "yml" | "json"))
        && !path.split('/').any(|part| part.starts_with('.'))
        && !charts.iter().any(is_template)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_revision_are_those_that_are_read_below_a_directory() {
        let read = |path: &str, charts: &[&str]| is_manifest(path, charts);
        for path in [
            "a.yaml",
            "b/c.yml",
            "b/c.json",
            "templates/a.yaml",
            "chart/values.yaml",
        ] {
            assert!(read(path, &["chart/"]), "{path}");
        }
        for path in [
            "a.txt",
            "yaml",
            ".github/a.yaml",
            "b/.a.yaml",
            "chart/templates/a.yaml",
        ] {
            assert!(!read(path, &["chart/"]), "{path}");
        }
        assert!(!read("templates/a.yaml", &[""]), "the directory is a chart");
    }

    #[test]
    fn only_regular_files_are_entries() {
        let path = |line| Entry::parse(line).map(|entry| (entry.id, entry.size, entry.path));
        assert_eq!(
            path("100644 blob abc      17\ta b.yaml"),
            Some(("abc", 17, "a b.yaml"))
        );
        assert_eq!(path("120000 blob abc      17\tlink.yaml"), None);
        assert_eq!(path("160000 commit abc       -\tmodule"), None);
        assert_eq!(path(""), None);
    }
}
