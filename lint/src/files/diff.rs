//! The changes that would be made to a file.

use diffy::DiffOptions;

/// The difference between an old and a new text, in the format of `patch -p0`.
pub fn diff(name: &str, with: &str, before: &str, after: &str) -> String {
    DiffOptions::new()
        .set_original_filename(name.to_owned())
        .set_modified_filename(format!("{name} with {with}"))
        .create_patch(before, after)
        .to_string()
}
