//! Directories of a test's own.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::process::run;

/// Writes a script that can be run. Another process writes it: Linux refuses to run a file that is open for writing, and
/// what this process has open is inherited for a moment by each process that another test starts.
pub(crate) fn script(path: &Path, text: &str) {
    let write = "cat >\"$1\" && chmod +x \"$1\"";
    let mut shell = Command::new("sh");
    run(shell.args(["-ec", write, "sh"]).arg(path), text).success();
}

/// A directory with these files. Those that begin with `#!` can be run.
pub(crate) fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        if text.starts_with("#!") {
            script(&path, text);
        } else {
            fs::write(path, text).expect("a file");
        }
    }
    directory
}
