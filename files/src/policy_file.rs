//! A policy file on disk.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use poolgate_core::policy_file::{self, MAX_BYTES, Mistakes, PolicyMistake, Project, ReadPolicy};

use crate::sources::read_bytes;

/// Why a file gives no policy.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// There is no file.
    #[error("policy file {} does not exist", .0.display())]
    Missing(PathBuf),
    /// It cannot be read.
    #[error("cannot read the policy file {}: {cause}", path.display())]
    Read {
        /// The file as the user or the search named it.
        path: PathBuf,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// It can be read, and is wrong. One line for each mistake.
    #[error("{mistakes}{}", lines(path, mistakes))]
    Wrong {
        /// The file as the user or the search named it.
        path: PathBuf,
        /// The mistakes, with their lines and columns.
        mistakes: Mistakes,
    },
}

impl LoadError {
    /// The error on one line: of several mistakes the first.
    pub fn brief(&self) -> String {
        match self {
            Self::Wrong { path, mistakes } => {
                let first = mistakes.shown.first().map(|mistake| placed(path, mistake));
                format!("{mistakes}: {}", first.unwrap_or_default())
            }
            other => other.to_string(),
        }
    }
}

fn lines(path: &Path, mistakes: &Mistakes) -> String {
    let mut lines = String::new();
    for mistake in &mistakes.shown {
        let _ = write!(lines, "\n{}", placed(path, mistake));
    }
    if mistakes.omitted > 0 {
        let (file, more) = (path.display(), mistakes.omitted);
        let _ = write!(lines, "\n{file}: {more} more mistakes are not shown");
    }
    lines
}

/// A mistake as editors and build tools understand it: `FILE:LINE:COLUMN: message`.
pub fn placed(path: &Path, mistake: &PolicyMistake) -> String {
    format!("{}:{mistake}", path.display())
}

/// Reads the policy of a project's file; the built-in one if it has none.
pub fn load(path: &Path) -> Result<ReadPolicy, LoadError> {
    Ok(load_project(path)?.policy.unwrap_or_default())
}

/// Reads a project's file.
pub fn load_project(path: &Path) -> Result<Project, LoadError> {
    let bytes = read_bytes(path, MAX_BYTES).map_err(|cause| unreadable(path, cause))?;
    parsed(path, &bytes, policy_file::parse_project)
}

/// Why a file could not be read.
pub fn unreadable(path: &Path, cause: io::Error) -> LoadError {
    if cause.kind() == io::ErrorKind::NotFound {
        return LoadError::Missing(path.to_owned());
    }
    LoadError::Read {
        path: path.to_owned(),
        cause,
    }
}

/// The policy in the bytes of a file, which must have nothing else.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<ReadPolicy, LoadError> {
    parsed(path, bytes, policy_file::parse)
}

fn parsed<T>(path: &Path, bytes: &[u8], parse: fn(&str) -> Result<T, Mistakes>) -> Result<T, LoadError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let offset = error.valid_up_to();
        unreadable(
            path,
            io::Error::other(format!("it is not UTF-8: the byte at offset {offset} is invalid")),
        )
    })?;
    parse(text).map_err(|mistakes| LoadError::Wrong {
        path: path.to_owned(),
        mistakes,
    })
}
