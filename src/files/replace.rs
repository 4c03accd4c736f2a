//! A new text in the place of a file.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

/// Puts a new text in a file's place, whole or not at all, with the rights of the old one.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.poolgate-{}", std::process::id()));
    let written = (|| {
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.set_permissions(fs::metadata(&path)?.permissions())?;
        file.sync_all()?;
        fs::rename(&temporary, &path)
    })();
    if written.is_err() {
        // What is left over is of no use; that it cannot be removed changes nothing.
        let _ = fs::remove_file(&temporary);
    }
    written
}
