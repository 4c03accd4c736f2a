//! Which names mean the same file.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// A regular file, by whatever name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// The regular file of this name; `None` if there is none.
    pub fn of(path: &Path) -> Option<Self> {
        Self::of_regular(&path.metadata().ok()?)
    }

    /// The regular file that standard output was redirected to; `None` for a terminal or a pipe.
    pub fn of_stdout() -> Option<Self> {
        let stdout = io::stdout().as_fd().try_clone_to_owned().ok()?;
        Self::of_regular(&File::from(stdout).metadata().ok()?)
    }

    fn of_regular(metadata: &Metadata) -> Option<Self> {
        metadata.is_file().then(|| Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }
}
