//! A mounted ConfigMap or Secret: links to files in a directory that is replaced as a whole by moving one link.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;

pub(crate) struct Mount {
    directory: TempDir,
    generation: u32,
}

impl Mount {
    /// One with these names, behind which there is nothing yet.
    pub(crate) fn of(names: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        for name in names {
            symlink(Path::new("..data").join(name), directory.path().join(name)).expect("a link");
        }
        Self {
            directory,
            generation: 0,
        }
    }

    pub(crate) fn path(&self, name: &str) -> String {
        let path = self.directory.path().join(name);
        path.to_str().expect("a path in UTF-8").to_owned()
    }

    /// Replaces the contents as a kubelet does.
    pub(crate) fn swap(&mut self, files: &[(&str, &str)]) {
        let directory = self.directory.path();
        let old = directory.join(format!("..{}", self.generation));
        self.generation += 1;
        let name = format!("..{}", self.generation);
        fs::create_dir(directory.join(&name)).expect("a directory");
        for (file, text) in files {
            fs::write(directory.join(&name).join(file), text).expect("written");
        }
        symlink(&name, directory.join("..data_tmp")).expect("a link");
        fs::rename(directory.join("..data_tmp"), directory.join("..data")).expect("moved");
        if old.exists() {
            fs::remove_dir_all(old).expect("removed");
        }
    }
}
