//! A changed text in the place of the old one: a file is written whole or not at all, or the difference is shown.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use diffy::DiffOptions;
use tempfile::Builder;

/// Writes a text to a file so that no reader sees half of it. A file that exists keeps its permissions, and a link to it
/// stays a link.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let permissions = fs::metadata(&target).ok().map(|old| old.permissions());
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!(".{name}.poolgate-");
    let mut builder = Builder::new();
    builder.prefix(&prefix);
    #[cfg(unix)]
    if permissions.is_none() {
        builder.permissions(of_a_new_file());
    }
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_all()?;
    file.persist(&target)?;
    // Until this is done, a crash of the machine may bring back the old text. Windows opens no folder.
    #[cfg(unix)]
    fs::File::open(folder)?.sync_all()?;
    Ok(())
}

/// The permissions of a file that did not exist, as far as the process's umask allows them.
#[cfg(unix)]
fn of_a_new_file() -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}

/// The difference between an old and a new text, in the format of `patch -p0`.
pub fn diff(name: &str, with: &str, before: &str, after: &str) -> String {
    DiffOptions::new()
        .set_original_filename(name.to_owned())
        .set_modified_filename(format!("{name} with {with}"))
        .create_patch(before, after)
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_whole_and_what_an_interrupted_run_left_is_no_obstacle() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("pool.yaml");
        fs::write(&path, "old").expect("written");
        // Process ids repeat: in a container every run has the same one.
        let left = directory
            .path()
            .join(format!(".pool.yaml.poolgate-{}", std::process::id()));
        fs::write(&left, "half").expect("written");
        replace(&path, "new").expect("replaced");
        assert_eq!(fs::read_to_string(&path).expect("read"), "new");
        assert_eq!(fs::read_dir(directory.path()).expect("listed").count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_and_links_stay_and_a_new_file_can_be_read_by_others() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().expect("a directory");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        let (path, link, new) = ("a.yaml", "link.yaml", "new.yaml");
        let [path, link, new] = [path, link, new].map(|name| directory.path().join(name));
        fs::write(&path, "old").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("set");
        std::os::unix::fs::symlink(&path, &link).expect("linked");
        replace(&link, "new").expect("replaced");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        assert_eq!(fs::read_to_string(&path).expect("read"), "new");
        assert_eq!(mode(&path), 0o640);
        replace(&new, "text").expect("created");
        fs::write(directory.path().join("plain"), "text").expect("written");
        assert_eq!(mode(&new), mode(&directory.path().join("plain")));
    }

    #[test]
    fn a_failure_leaves_nothing_behind() {
        let directory = tempfile::tempdir().expect("a directory");
        replace(&directory.path().join("no/pool.yaml"), "text").expect_err("no such folder");
        let taken = directory.path().join("taken");
        fs::create_dir(&taken).expect("created");
        replace(&taken, "text").expect_err("a folder");
        assert_eq!(fs::read_dir(directory.path()).expect("listed").count(), 1);
    }
}
