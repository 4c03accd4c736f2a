//! A revision in a folder of its own, which is gone with the value. Nothing is written into the repository.

use std::ffi::OsString;
use std::fs;
use std::path::{self, MAIN_SEPARATOR, Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use tempfile::TempDir;

use super::git;
use crate::sources::child;
use crate::terminal;

/// What one command of git may take. All files of the revision are written: a base may be anywhere.
const LIMITS: child::Limits = child::Limits {
    time: Duration::from_mins(2),
    bytes: 1 << 20,
};

/// The files of a revision.
pub struct Checkout {
    folder: TempDir,
    /// The root of the working tree, without links.
    top: PathBuf,
}

impl Checkout {
    /// Checks a revision out of the working tree that has this file or folder.
    pub fn of(revision: &str, place: &Path) -> anyhow::Result<Self> {
        git::check_revision(revision)?;
        let place = if place.is_dir() { place } else { folder_of(place) };
        let folder = tempfile::Builder::new().prefix("poolgate-").tempdir()?;
        let checkout = || -> anyhow::Result<PathBuf> {
            let top = run(place, &["rev-parse", "--show-toplevel"], folder.path())?;
            let top = fs::canonicalize(top.strip_suffix('\n').unwrap_or(&top))?;
            run(&top, &["read-tree", revision], folder.path())?;
            let files = tree(&folder);
            let files = files.to_str().context("the temporary folder is not UTF-8")?;
            let prefix = files.replace(MAIN_SEPARATOR, "/") + "/";
            // Elsewhere, only what is below is meant by all.
            run(
                &top,
                &["checkout-index", "--all", "--prefix", &prefix],
                folder.path(),
            )?;
            Ok(top)
        };
        let top = checkout().with_context(|| format!("--git {}", revision.escape_debug()))?;
        Ok(Self { folder, top })
    }

    /// Where a path of the working tree is in the revision, whether it is there or not. A path elsewhere stays.
    pub fn path(&self, path: &Path) -> anyhow::Result<PathBuf> {
        let absolute = match path.file_name() {
            // A link may lead elsewhere in the revision.
            Some(name) => fs::canonicalize(folder_of(path)).map(|folder| folder.join(name)),
            None => fs::canonicalize(path),
        };
        let absolute = absolute.or_else(|_| path::absolute(path))?;
        Ok(match absolute.strip_prefix(&self.top) {
            Ok(below) => tree(&self.folder).join(below),
            Err(_) => absolute,
        })
    }

    /// A message whose paths in the checkout are named as those of the revision.
    pub fn named(&self, message: &str, revision: &str) -> String {
        let tree = tree(&self.folder).display().to_string() + "/";
        message.replace(&tree, &format!("{revision}:"))
    }

    /// Whether a path is in the revision, and not elsewhere.
    pub fn has(&self, path: &Path) -> bool {
        path.starts_with(self.folder.path())
    }
}

fn tree(folder: &TempDir) -> PathBuf {
    folder.path().join("tree")
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// What git prints. Its index is beside the checkout. No part of it is shared: git cannot share one of a sparse working
/// tree. No monitor of the files is started.
fn run(place: &Path, arguments: &[&str], folder: &Path) -> anyhow::Result<String> {
    let settings = ["core.splitIndex", "core.fsmonitor"];
    let settings = settings.map(|name| [OsString::from("-c"), format!("{name}=false").into()]);
    let arguments = arguments.iter().map(OsString::from);
    let mut command = git::command(place, settings.into_iter().flatten().chain(arguments));
    command.env("GIT_INDEX_FILE", folder.join("index"));
    let printed = child::output(&mut command, LIMITS);
    let printed = printed.map_err(|error| anyhow!("git {}", terminal::clean(&error.to_string())))?;
    String::from_utf8(printed).context("is not UTF-8")
}
