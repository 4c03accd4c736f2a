//! The manifests of a revision, as `git` hands them out.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use poolgate_core::manifest::Limits;

/// How long git may take.
const DEADLINE: Duration = Duration::from_secs(60);

/// The files below a path in a revision that would be read if they stood there now: each path below it, with its text.
/// The path itself must exist.
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
    answer.with_context(|| format!("git has not answered within {} s", DEADLINE.as_secs()))?
}

fn read(revision: &str, folder: &Path, file: Option<&OsStr>) -> anyhow::Result<Vec<(String, String)>> {
    let mut list = git(folder);
    list.args(["ls-tree", "-r", "-z", revision, "--"]);
    // Without a wildcard: a name is taken as it is.
    list.arg(file.map_or_else(|| OsString::from("."), OsStr::to_owned));
    let listed = list.stdin(Stdio::null()).output().context("git cannot be run")?;
    if !listed.status.success() {
        let why = String::from_utf8_lossy(&listed.stderr);
        bail!("--git {}: {}", revision.escape_debug(), why.trim().escape_debug());
    }
    let listed = String::from_utf8(listed.stdout).context("git ls-tree: a name is not UTF-8")?;
    let entries: Vec<(&str, &str)> = listed.split('\0').filter_map(entry).collect();
    let charts: Vec<&str> = entries
        .iter()
        .filter_map(|(_, path)| path.strip_suffix("Chart.yaml"))
        .collect();
    let mut blobs = Blobs::open(folder)?;
    let mut files = Vec::new();
    for (id, path) in entries {
        let is_wanted = file.is_some() || is_manifest(path, &charts);
        if is_wanted {
            let text = blobs
                .text(id)
                .with_context(|| format!("{}:{}", revision, path.escape_debug()))?;
            let path = if file.is_some() { "" } else { path };
            files.push((path.to_owned(), text));
        }
    }
    Ok(files)
}

fn git(folder: &Path) -> Command {
    let mut git = Command::new("git");
    git.current_dir(folder).env("GIT_TERMINAL_PROMPT", "0");
    git
}

/// The object and the path of a regular file, from `MODE TYPE OBJECT\tPATH`.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (about, path) = line.split_once('\t')?;
    let mut about = about.split(' ');
    let is_file = about.next()?.starts_with("100");
    Some((about.nth(1)?, path)).filter(|_| is_file)
}

/// Whether a file below a directory is read, as for directories of today: no hidden ones, no templates of a Helm chart.
fn is_manifest(path: &str, charts: &[&str]) -> bool {
    let extension = Path::new(path).extension().and_then(OsStr::to_str);
    let is_template = |chart: &&str| {
        path.strip_prefix(*chart)
            .is_some_and(|within| within.starts_with("templates/"))
    };
    matches!(extension, Some("yaml" | "yml" | "json"))
        && !path.split('/').any(|part| part.starts_with('.'))
        && !charts.iter().any(is_template)
}

/// A git that prints one object after the other.
struct Blobs {
    git: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Blobs {
    fn open(folder: &Path) -> anyhow::Result<Self> {
        let mut all = git(folder);
        all.args(["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut git = all.spawn().context("git cannot be run")?;
        let output = git.stdout.take().context("git prints nothing")?;
        Ok(Self {
            git,
            output: BufReader::new(output),
        })
    }

    fn text(&mut self, id: &str) -> anyhow::Result<String> {
        let input = self.git.stdin.as_mut().context("git takes nothing")?;
        writeln!(input, "{id}")?;
        input.flush()?;
        let mut head = String::new();
        self.output.read_line(&mut head)?;
        let size = head
            .trim_end()
            .rsplit(' ')
            .next()
            .and_then(|size| size.parse::<usize>().ok());
        let size = size.with_context(|| format!("git cat-file: {}", head.escape_debug()))?;
        let most = Limits::default().bytes;
        ensure!(size <= most, "is larger than {most} bytes");
        let mut bytes = vec![0; size + 1];
        self.output.read_exact(&mut bytes)?;
        bytes.pop();
        String::from_utf8(bytes).context("is not UTF-8")
    }
}

impl Drop for Blobs {
    fn drop(&mut self) {
        drop(self.git.stdin.take());
        let _ = self.git.wait();
    }
}
