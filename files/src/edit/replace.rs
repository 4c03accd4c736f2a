//! A changed text in the place of the old one: a file is written whole or not at all, or the difference is shown.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use diffy::DiffOptions;
use tempfile::{Builder, NamedTempFile};

/// Writes a text to a file so that no reader sees half of it. A file that exists keeps its owner and permissions, and a link
/// to it stays a link. Where a new file in its place would lose a hard link or the owner, the old one is written over, with
/// a copy beside it until that is done.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let old = fs::metadata(&target).ok();
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!(".{name}.poolgate-");
    let mut builder = Builder::new();
    builder.prefix(&prefix);
    #[cfg(unix)]
    if old.is_none() {
        builder.permissions(of_a_new_file());
    }
    let mut file = builder.tempfile_in(folder)?;
    if let Some(old) = &old
        && !takes_the_place_of(file.as_file(), old)
    {
        return write_over(&target, text, file);
    }
    file.write_all(text.as_bytes())?;
    if let Some(old) = old {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(&target)?;
    // Until this is done, a crash of the machine may bring back the old text. Windows opens no folder.
    #[cfg(unix)]
    fs::File::open(folder)?.sync_all()?;
    Ok(())
}

/// Whether a new file can have all that an old one has: it has no second name, and its owner can be the same.
#[cfg(unix)]
fn takes_the_place_of(new: &fs::File, old: &fs::Metadata) -> bool {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let has_owner = |new: &fs::Metadata| (new.uid(), new.gid()) == (old.uid(), old.gid());
    old.nlink() == 1
        && (new.metadata().is_ok_and(|new| has_owner(&new))
            || fchown(new, Some(old.uid()), Some(old.gid())).is_ok())
}

#[cfg(not(unix))]
const fn takes_the_place_of(_: &fs::File, _: &fs::Metadata) -> bool {
    true
}

/// Writes over an existing file. If that fails, the copy of the old text stays.
fn write_over(target: &Path, text: &str, mut copy: NamedTempFile) -> io::Result<()> {
    io::copy(&mut fs::File::open(target)?, &mut copy)?;
    copy.as_file().sync_all()?;
    let mut file = fs::OpenOptions::new().write(true).open(target)?;
    let written = file
        .set_len(0)
        .and_then(|()| file.write_all(text.as_bytes()))
        .and_then(|()| file.sync_all());
    let Err(error) = written else { return Ok(()) };
    let (_, kept) = copy.keep()?;
    let kept = kept.display();
    Err(io::Error::new(
        error.kind(),
        format!("{error}; the old text is in {kept}"),
    ))
}

/// The permissions of a file that did not exist, as far as the process's umask allows them.
#[cfg(unix)]
fn of_a_new_file() -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}

/// The difference between an old and a new text, in the format of `patch -p0`.
pub fn diff(name: &str, with: &str, before: &str, after: &str) -> String {
    let after_name = format!("{name} with {with}");
    let patch = DiffOptions::new()
        .set_original_filename(name.to_owned())
        .set_modified_filename(after_name.clone())
        .create_patch(before, after)
        .to_string();
    if !name.contains(' ') {
        return patch;
    }
    // `patch` reads a name up to the first blank, unless a tab ends it.
    patch
        .replacen(&format!("--- {name}\n"), &format!("--- {name}\t\n"), 1)
        .replacen(
            &format!("+++ {after_name}\n"),
            &format!("+++ {name}\twith {with}\n"),
            1,
        )
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

    #[cfg(unix)]
    #[test]
    fn a_hard_link_and_another_owner_stay() {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
        let directory = tempfile::tempdir().expect("a directory");
        let [path, other] = ["a.yaml", "b.yaml"].map(|name| directory.path().join(name));
        fs::write(&path, "a longer old text").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("set");
        fs::hard_link(&path, &other).expect("linked");
        replace(&path, "new").expect("replaced");
        let about = |path: &Path| fs::metadata(path).expect("there");
        assert_eq!(fs::read_to_string(&other).expect("read"), "new");
        assert_eq!(about(&path).ino(), about(&other).ino());
        assert_eq!(about(&path).mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(directory.path()).expect("listed").count(), 2);
        fs::remove_file(&other).expect("removed");
        // Only root gives a file to another owner.
        let is_given = chown(&path, Some(65534), Some(65534)).is_ok();
        let before = about(&path);
        replace(&path, "newer").expect("replaced");
        assert_eq!(is_given, before.uid() == 65534);
        assert_eq!(
            (about(&path).uid(), about(&path).gid()),
            (before.uid(), before.gid())
        );
        assert_eq!(about(&path).mode() & 0o777, 0o640);
        assert_eq!(fs::read_to_string(&path).expect("read"), "newer");
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
