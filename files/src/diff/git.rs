//! The manifests of a revision, as `git` hands them out.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, ensure};

use crate::sources::{ReadError, read_finite};
use crate::terminal;

/// How many links are followed, one to the other.
const MAX_LINKS: usize = 8;

/// How long git may take for all files.
const DEADLINE: Duration = Duration::from_mins(1);

/// The files at a path in a revision that would be read if they stood there now: where each stands below the path, and its
/// text. The path must exist now.
pub fn files(revision: &str, path: &Path) -> anyhow::Result<Vec<(String, String)>> {
    check_revision(revision)?;
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

/// Fails for a text that git could take for a flag.
pub fn check_revision(revision: &str) -> anyhow::Result<()> {
    ensure!(
        !revision.starts_with('-') && !revision.is_empty(),
        "--git: {} is not a revision",
        revision.escape_debug()
    );
    Ok(())
}

fn read(revision: &str, folder: &Path, file: Option<&OsStr>) -> anyhow::Result<Vec<(String, String)>> {
    let place = file.map_or_else(|| OsString::from("."), OsStr::to_owned);
    let list = ["ls-tree", "-r", "-z", revision, "--"].map(OsString::from);
    let listed = git(folder, list.into_iter().chain([place]));
    let listed = listed.with_context(|| format!("--git {}", revision.escape_debug()))?;
    let entries: Vec<Entry<'_>> = listed.split('\0').filter_map(Entry::parse).collect();
    let charts = entries
        .iter()
        .filter_map(|entry| entry.path.strip_suffix("Chart.yaml"));
    let charts: Vec<&str> = charts.collect();
    let is_wanted = |path: &str| file.is_some() || is_manifest(path, &charts);
    let (files, links): (Vec<&Entry<'_>>, Vec<&Entry<'_>>) = entries
        .iter()
        .filter(|entry| is_wanted(entry.path))
        .partition(|entry| !entry.is_link);
    let mut seen: HashSet<String> = files.iter().map(|entry| entry.path.to_owned()).collect();
    let mut objects = Objects::of(folder)?;
    let mut texts = Vec::new();
    let mut add = |objects: &mut Objects, id: &str, path: &str| {
        let name = || path.escape_debug().to_string();
        match objects.text(id).with_context(name)? {
            Err(error) if error.is_unrelated() && file.is_none() => {}
            text => {
                let path = if file.is_some() { "" } else { path };
                texts.push((path.to_owned(), text.with_context(name)?));
            }
        }
        anyhow::Ok(())
    };
    for entry in files {
        add(&mut objects, entry.id, entry.path)?;
    }
    for link in links {
        // A file that is reached twice is read once.
        if let Some((target, id)) = followed(&mut objects, folder, revision, link)?
            && seen.insert(target)
        {
            add(&mut objects, &id, link.path)?;
        }
    }
    objects.end()?;
    Ok(texts)
}

/// The path and the object of the file that a link leads to, if the revision has it.
fn followed(
    objects: &mut Objects,
    folder: &Path,
    revision: &str,
    link: &Entry<'_>,
) -> anyhow::Result<Option<(String, String)>> {
    let (mut path, mut id) = (link.path.to_owned(), link.id.to_owned());
    for _ in 0..MAX_LINKS {
        let target = objects.text(&id)?;
        let target = target.with_context(|| link.path.escape_debug().to_string())?;
        let Some(next) = beside(&path, &target) else { break };
        let list = ["ls-tree", "-z", revision, "--", &next].map(OsString::from);
        let listed = git(folder, list)?;
        let Some(entry) = listed.split('\0').find_map(Entry::parse) else {
            break;
        };
        if !entry.is_link {
            return Ok(Some((next, entry.id.to_owned())));
        }
        (path, id) = (next, entry.id.to_owned());
    }
    Ok(None)
}

/// Where a link at a path leads to, without `.` and with `..` only at the beginning; `None` outside of the repository.
fn beside(path: &str, target: &str) -> Option<String> {
    if target.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match (part, parts.last()) {
            ("" | ".", _) => {}
            ("..", Some(last)) if *last != ".." => drop(parts.pop()),
            (part, _) => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// `git cat-file --batch`. One process for each file would take minutes for a large repository.
struct Objects {
    git: Child,
    asked: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Objects {
    fn of(folder: &Path) -> anyhow::Result<Self> {
        let mut git = command(folder, ["cat-file", "--batch"].map(OsString::from))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context(NO_GIT)?;
        let (asked, answers) = (git.stdin.take(), git.stdout.take());
        Ok(Self {
            asked: asked.context(NO_GIT)?,
            answers: BufReader::new(answers.context(NO_GIT)?),
            git,
        })
    }

    /// The text of an object, or why it has none. Its answer is `ID blob SIZE`, the bytes and a line end. It is read to its
    /// end before the next question: neither side ever waits for the other to empty a pipe.
    fn text(&mut self, id: &str) -> anyhow::Result<Result<String, ReadError>> {
        writeln!(self.asked, "{id}").context(FAILED)?;
        let mut head = String::new();
        self.answers.read_line(&mut head).context(FAILED)?;
        let size = head.trim_end().strip_prefix(id);
        let size = size.and_then(|about| about.strip_prefix(" blob ")?.parse().ok());
        let size: u64 = size.with_context(|| format!("{FAILED}: {}", terminal::clean(head.trim_end())))?;
        let mut bytes = (&mut self.answers).take(size);
        let text = read_finite(&mut bytes);
        // It is not read to its end if that is known to be too much.
        io::copy(&mut bytes, &mut io::sink()).context(FAILED)?;
        let is_whole = bytes.limit() == 0;
        let mut end = [0];
        self.answers.read_exact(&mut end).context(FAILED)?;
        ensure!(is_whole && end == *b"\n", FAILED);
        Ok(text)
    }

    /// Closes the standard input of git, which then exits.
    fn end(mut self) -> anyhow::Result<()> {
        drop(self.asked);
        let status = self.git.wait().context(FAILED)?;
        ensure!(status.success(), FAILED);
        Ok(())
    }
}

const NO_GIT: &str = "git cannot be run";
const FAILED: &str = "git cat-file has failed";

/// What a git command prints.
fn git(folder: &Path, arguments: impl IntoIterator<Item = OsString>) -> anyhow::Result<String> {
    let output = command(folder, arguments)
        .stdin(Stdio::null())
        .output()
        .context(NO_GIT)?;
    let why = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}", terminal::clean(why.trim()));
    String::from_utf8(output.stdout).context("is not UTF-8")
}

pub fn command(folder: &Path, arguments: impl IntoIterator<Item = OsString>) -> Command {
    let mut git = Command::new("git");
    git.current_dir(folder).args(arguments);
    git.env("GIT_TERMINAL_PROMPT", "0");
    git
}

/// A regular file of a revision, or a symbolic link.
struct Entry<'l> {
    id: &'l str,
    path: &'l str,
    is_link: bool,
}

impl<'l> Entry<'l> {
    /// From `MODE TYPE OBJECT\tPATH`.
    fn parse(line: &'l str) -> Option<Self> {
        let (about, path) = line.split_once('\t')?;
        let mut about = about.split_whitespace();
        let mode = about.next()?;
        let is_link = mode == "120000";
        let id = about.nth(1)?;
        (is_link || mode.starts_with("100")).then_some(Self { id, path, is_link })
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
    fn regular_files_and_links_are_entries() {
        let path = |line| Entry::parse(line).map(|entry| (entry.id, entry.path, entry.is_link));
        assert_eq!(
            path("100644 blob abc\ta b.yaml"),
            Some(("abc", "a b.yaml", false))
        );
        assert_eq!(
            path("120000 blob abc\tlink.yaml"),
            Some(("abc", "link.yaml", true))
        );
        assert_eq!(path("160000 commit abc\tmodule"), None);
        assert_eq!(path(""), None);
    }

    #[test]
    fn a_link_leads_to_a_path_beside_it_or_above_the_folder() {
        for (path, target, expected) in [
            ("a.yaml", "b.yaml", Some("b.yaml")),
            ("a/b.yaml", "./c/d.yaml", Some("a/c/d.yaml")),
            ("a/b.yaml", "../c.yaml", Some("c.yaml")),
            ("a.yaml", "../../b/../c.yaml", Some("../../c.yaml")),
            ("a.yaml", "/etc/passwd", None),
        ] {
            assert_eq!(beside(path, target).as_deref(), expected, "{path} {target}");
        }
    }
}
