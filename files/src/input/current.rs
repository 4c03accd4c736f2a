//! What one file is read and checked by, for a program that runs on while the files behind it change.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{Manifests, ProjectArgs};
use crate::sources::is_template_folder;

/// What a file is read and checked by.
pub(crate) struct Current {
    /// `None` if runs over its folder leave it out; an error if its project cannot be read.
    pub(crate) manifests: anyhow::Result<Option<Manifests>>,
    /// The files that this depends on, as they were; also those that do not exist.
    files: Vec<(PathBuf, Stamp)>,
}

/// What changes with a file; `None` if there is none.
type Stamp = Option<(Option<SystemTime>, u64)>;

impl Current {
    /// Reads it for the file at a path, whether that exists or not.
    pub(crate) fn of(flags: &ProjectArgs, path: &Path) -> Self {
        let read = flags.of_file(path);
        let files = read.as_ref().map(|manifests| flags.behind(path, manifests));
        let stamped = files.into_iter().flatten().map(|file| {
            let stamp = stamp(&file);
            (file, stamp)
        });
        Self {
            files: stamped.collect(),
            manifests: read.map(|mut manifests| {
                let mut folders = path.ancestors().skip(1);
                let is_left_out = manifests.excludes(path) || folders.any(is_template_folder);
                (!is_left_out).then_some(manifests)
            }),
        }
    }

    /// Whether nothing has changed. What could not be read has.
    pub(crate) fn is_current(&self) -> bool {
        self.manifests.is_ok() && self.files.iter().all(|(file, then)| stamp(file) == *then)
    }
}

fn stamp(file: &Path) -> Stamp {
    let data = fs::metadata(file).ok()?;
    Some((data.modified().ok(), data.len()))
}
