//! Files that are skipped although they, or a directory above them, were given.

use std::env;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Patterns like those of a `.gitignore` in the current folder.
#[derive(Debug, Clone)]
pub struct Excluded(Gitignore);

impl Excluded {
    /// No patterns: every file is read.
    pub fn nothing() -> Self {
        Self(Gitignore::empty())
    }

    /// Skips what any of the patterns matches, with everything below it.
    pub fn matching(patterns: &[String]) -> Result<Self, ignore::Error> {
        let mut builder = GitignoreBuilder::new(env::current_dir().unwrap_or_default());
        for pattern in patterns {
            builder.add_line(None, pattern)?;
        }
        builder.build().map(Self)
    }

    /// Whether an entry of a walk is skipped.
    pub fn entry(&self, path: &Path, is_folder: bool) -> bool {
        self.0.matched(path, is_folder).is_ignore()
    }

    /// Whether a given path is skipped, or a folder that it is in.
    pub fn named(&self, path: &Path, is_folder: bool) -> bool {
        let mut above = path.ancestors().skip(1);
        self.entry(path, is_folder) || above.any(|folder| self.entry(folder, true))
    }
}
