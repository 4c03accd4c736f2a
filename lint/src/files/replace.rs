//! Replaces the text of a file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Replaces a file's text atomically, and keeps its permissions.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.poolgate-{}", std::process::id()));
    let rights = fs::metadata(&path)?.permissions();
    let mut file = private().write(true).create_new(true).open(&temporary)?;
    let written = (|| {
        file.write_all(text.as_bytes())?;
        file.set_permissions(rights)?;
        file.sync_all()?;
        fs::rename(&temporary, &path)
    })();
    match written {
        // Until this is done, a crash of the machine may bring back the old text.
        Ok(()) => File::open(folder)?.sync_all(),
        Err(error) => {
            // The temporary file is useless; if it cannot be removed, that changes nothing.
            let _ = fs::remove_file(&temporary);
            Err(error)
        }
    }
}

/// How to create a file that only its owner may read: the old one may be private.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}
